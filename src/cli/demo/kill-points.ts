// Kills the worker process with SIGKILL at the worst moment: the external service has acted, and nothing is recorded
// yet. Each moment happens once; a file next to the store remembers them across processes.

import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

export type Moment = 'export' | 'refund'

const file = process.env.DESK_DEATHS ?? ''

/** Makes these moments happen once more, and no other. */
export function armDeaths(of: string, moments: readonly Moment[]): void {
  const rest = (['export', 'refund'] as const).filter((moment) => !moments.includes(moment))
  writeFileSync(of, rest.map((moment) => `${moment}\n`).join(''))
}

export function deaths(of: string = file): Moment[] {
  if (!existsSync(of)) return []
  return readFileSync(of, 'utf8').split('\n').filter(Boolean) as Moment[]
}

export function die(at: Moment): void {
  if (file === '' || deaths().includes(at)) return
  appendFileSync(file, `${at}\n`)
  process.kill(process.pid, 'SIGKILL')
}
