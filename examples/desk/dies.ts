// How a process of the desk dies: by kill -9, at the worst moment there is (the outside has done what it was asked, and nothing here knows it yet), and
// once at each such moment. What is remembered of it is a file beside the store, for whoever dies so has no time to tell.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export type Moment = 'export' | 'refund'

const file = process.env.DESK_DEATHS ?? ''

export function deaths(of: string = file): Moment[] {
  if (!existsSync(of)) return []
  return readFileSync(of, 'utf8').split('\n').filter(Boolean) as Moment[]
}

export function die(at: Moment): void {
  if (file === '' || deaths().includes(at)) return
  appendFileSync(file, `${at}\n`)
  process.kill(process.pid, 'SIGKILL')
}
