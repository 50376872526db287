// Counts the processes of a shell run and their memory; run-shell.ts samples it. A process belongs to the run by the
// mark in its environment or its lock limit (see process-marks.ts), by a process group that contains a marked process,
// or by its parent. So a process that wiped its environment is counted too. Needs /proc.

import { readdir, readFile } from 'node:fs/promises'

export interface ProcessCount {
  readonly processes: number
  /** Anonymous and shared memory in bytes, without file-backed pages. */
  readonly memory: number
}

/** Maximum number of processes inspected concurrently, because each inspection needs file handles. */
const readsAtOnce = 64

export class ProcessStats {
  readonly #mark: Buffer
  /** Pids known not to belong to this run, and pids of this run. */
  #others = new Set<string>()
  #ours = new Set<string>()
  readonly #groups = new Set<string>()
  /** The lock limit of this run; null until a marked process was seen, or if the system sets none. */
  #limit: string | null = null

  constructor(mark: string) {
    this.#mark = Buffer.from(mark)
  }

  async count(): Promise<ProcessCount> {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
    const others = new Set<string>()
    const ours = new Set<string>()
    let memory = 0
    const inspect = async (pid: string): Promise<void> => {
      if (this.#others.has(pid)) return void others.add(pid)
      const [environment, stat] = await Promise.all([
        readFile(`/proc/${pid}/environ`),
        readFile(`/proc/${pid}/stat`, 'utf8'),
      ]).catch(() => [])
      if (environment === undefined || stat === undefined) return
      // The process name may contain spaces and parentheses: read the fields after the last parenthesis.
      const [state, parent = '', group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z' || state === 'X') return
      const marked = environment.includes(this.#mark)
      if (marked) {
        this.#groups.add(group)
        this.#limit ??= await this.#ownLimit(pid)
      }
      const related = marked || this.#groups.has(group) || this.#ours.has(parent) || ours.has(parent)
      if (!related && (this.#limit === null || lockLimit(await readLimits(pid)) !== this.#limit)) {
        // A process in the middle of exec shows no environment: inspect it again next time.
        if (environment.length > 0) others.add(pid)
        return
      }
      ours.add(pid)
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      for (const [, kilobytes] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm))
        memory += Number(kilobytes) * 1024
    }
    for (let at = 0; at < pids.length; at += readsAtOnce)
      await Promise.all(pids.slice(at, at + readsAtOnce).map(inspect))
    this.#others = others
    this.#ours = ours
    return { processes: ours.size, memory }
  }

  /** Null for a process that just started: it has no limit yet, or the one inherited from this process. */
  async #ownLimit(pid: string): Promise<string | null> {
    const limit = lockLimit(await readLimits(pid))
    return limit === lockLimit(await readLimits('self')) ? null : limit
  }
}

const readLimits = (pid: string): Promise<string> => readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '')

/** The limit of file locks, or null if there is none. */
const lockLimit = (limits: string): string | null => /^Max file locks +\d+ +(\d+)/m.exec(limits)?.[1] ?? null
