// SHELL: how many processes a tree has and how much memory they hold, looked at now and then. Processes are known by a mark in their environment, as in
// marked.ts, and by the limit that goes with it; by their group, if a marked one is in it; and by their parent. So one that wiped its environment is counted
// too. Only where there is /proc.

import { readdir, readFile } from 'node:fs/promises'

export interface Counted {
  readonly processes: number
  /** Of their own, in bytes; what they share with files is not counted. */
  readonly memory: number
}

/** So many are looked at together: each takes a file handle. */
const together = 64

export class Census {
  readonly #mark: Buffer
  /** Numbers of processes that were seen to be others', and of those that are ours. */
  #others = new Set<string>()
  #ours = new Set<string>()
  readonly #groups = new Set<string>()
  /** The limit that all of them have; null until one of them was seen, or where there is none. */
  #limit: string | null = null

  constructor(mark: string) {
    this.#mark = Buffer.from(mark)
  }

  async count(): Promise<Counted> {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
    const others = new Set<string>()
    const ours = new Set<string>()
    let memory = 0
    const look = async (pid: string): Promise<void> => {
      if (this.#others.has(pid)) return void others.add(pid)
      const [environment, stat] = await Promise.all([
        readFile(`/proc/${pid}/environ`),
        readFile(`/proc/${pid}/stat`, 'utf8'),
      ]).catch(() => [])
      if (environment === undefined || stat === undefined) return
      // Its name may hold spaces and brackets; what follows the last bracket is plain.
      const [state, parent = '', group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z' || state === 'X') return
      const marked = environment.includes(this.#mark)
      if (marked) {
        this.#groups.add(group)
        this.#limit ??= await this.#limitOnly(pid)
      }
      const related = marked || this.#groups.has(group) || this.#ours.has(parent) || ours.has(parent)
      if (!related && (this.#limit === null || limitOf(await limitsOf(pid)) !== this.#limit)) {
        // One that is just becoming another program shows nothing: it is looked at again.
        if (environment.length > 0) others.add(pid)
        return
      }
      ours.add(pid)
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      for (const [, kilobytes] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm))
        memory += Number(kilobytes) * 1024
    }
    for (let at = 0; at < pids.length; at += together) await Promise.all(pids.slice(at, at + together).map(look))
    this.#others = others
    this.#ours = ours
    return { processes: ours.size, memory }
  }

  /** One that has just begun has no limit yet, or that of whatever tree we ourselves are in. */
  async #limitOnly(pid: string): Promise<string | null> {
    const limit = limitOf(await limitsOf(pid))
    return limit === limitOf(await limitsOf('self')) ? null : limit
  }
}

const limitsOf = (pid: string): Promise<string> => readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '')

/** Of file locks, if there is one. */
const limitOf = (limits: string): string | null => /^Max file locks +\d+ +(\d+)/m.exec(limits)?.[1] ?? null
