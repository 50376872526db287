// Child process with one subject. Sends its measurements to the parent and exits when the parent disconnects.

import { type Measure, type Shape, slice, type Subject } from './workload.ts'

/**
 * Each subject gets its own location: a new file, an empty folder or an empty database. Imports are lazy so that no
 * process loads the code of other subjects.
 */
export const openers = {
  'sqlite-full': async (file: string) => (await import('./floor.ts')).bareSqlite(file, 'FULL'),
  'sqlite-normal': async (file: string) => (await import('./floor.ts')).bareSqlite(file, 'NORMAL'),
  'postgres-bare': async (url: string) => (await import('./floor.ts')).barePostgres(url),
  'pawl-sqlite-power': async (file: string) => (await import('./pawl.ts')).pawl(`sqlite:${file}`, 'power'),
  'pawl-sqlite-process': async (file: string) => (await import('./pawl.ts')).pawl(`sqlite:${file}`, 'process'),
  'pawl-postgres': async (url: string) => (await import('./pawl.ts')).pawl(url, 'power'),
  dbos: async (url: string) => (await import('./peers.ts')).dbos(url),
  restate: async (dir: string) => (await import('./peers.ts')).restate(dir),
  'openworkflow-sqlite': async (file: string) => (await import('./peers.ts')).openworkflow('sqlite', file),
  'openworkflow-postgres': async (url: string) => (await import('./peers.ts')).openworkflow('postgres', url),
  'langgraph-sqlite': async (file: string) => (await import('./peers.ts')).langGraph('sqlite', file),
  'langgraph-postgres': async (url: string) => (await import('./peers.ts')).langGraph('postgres', url),
  'workflow-devkit': async (dir: string) => (await import('./workflow-devkit.ts')).workflowDevkit(dir),
} satisfies Record<string, (place: string) => Promise<Subject>>

export type Told = { ready: readonly number[] } | { measure: Measure } | { error: string }
export interface Asked {
  readonly shape: Shape
  readonly ms: number
}

const [opener, place] = process.argv.slice(2) as [keyof typeof openers, string]
const tell = (told: Told): void => void process.send?.(told)
const failed = (error: unknown): void =>
  tell({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
process.on('unhandledRejection', failed)
process.on('disconnect', () => process.exit(0))

try {
  const subject: Subject = await openers[opener](place)
  process.on('message', ({ shape, ms }: Asked) => {
    slice(subject, shape, ms).then((measure) => tell({ measure }), failed)
  })
  tell({ ready: subject.pids ?? [] })
} catch (error) {
  failed(error)
}
