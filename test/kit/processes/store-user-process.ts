// Starts child-store-user.ts with resource limits or as another user, and sends it commands.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Order, Told } from './child-store-user.ts'

export class Unlucky {
  readonly child: ChildProcess
  exited: string | null = null
  #errors = ''
  #hear: ((told: Told) => void) | null = null

  private constructor(child: ChildProcess) {
    this.child = child
    child.stderr?.on('data', (text) => (this.#errors += String(text)))
    child.on('message', (told: Told) => this.#hear?.(told))
    child.once('exit', (code, signal) => {
      this.exited = `${String(signal ?? code)} ${this.#errors}`
      this.#hear?.({ code: 'exited', message: this.exited })
    })
  }

  /**
   * `fileBlocks`: limits the size of files in KiB until `room()`. `uid`: runs as another user with fewer permissions.
   */
  static async start(how: { fileBlocks?: number; uid?: number } = {}): Promise<Unlucky> {
    const file = join(import.meta.dirname, 'child-store-user.ts')
    const node = ['--conditions=@pawl/source', file]
    const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as ('ignore' | 'pipe' | 'ipc')[]
    const child =
      how.fileBlocks === undefined
        ? fork(file, {
            execArgv: node.slice(0, 1),
            stdio,
            ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
          })
        : spawn(
            'bash',
            ['-c', `trap '' XFSZ; ulimit -S -f ${how.fileBlocks}; exec "$0" "$@"`, process.execPath, ...node],
            { stdio },
          )
    const unlucky = new Unlucky(child)
    const born = await unlucky.#answer()
    if (born.code !== undefined) throw new Error(born.message)
    return unlucky
  }

  tell(order: Order): Promise<Told> {
    if (this.exited !== null) return Promise.resolve({ code: 'exited', message: this.exited })
    const answer = this.#answer()
    this.child.send(order)
    return answer
  }

  /** Removes the file size limit. */
  async room(): Promise<void> {
    const raised = spawn('prlimit', ['--pid', String(this.child.pid), '--fsize=unlimited:unlimited'])
    const code = await new Promise((resolve) => raised.once('exit', resolve))
    if (code !== 0) throw new Error('prlimit failed')
  }

  end(): void {
    this.child.kill('SIGKILL')
  }

  #answer(): Promise<Told> {
    return new Promise((resolve) => (this.#hear = (told) => ((this.#hear = null), resolve(told))))
  }
}
