// Pawl as an application uses it: one runtime, a session per caller, all fences and guards enabled. The lease is long
// because this process is suspended while others are measured.

import { createRequire } from 'node:module'
import type pg from 'pg'
import { z } from 'zod'
import { createRuntime, type Session, tool } from '../../src/index.ts'
import { countCommits } from '../../test/kit/stores/count-commits.ts'
import { step, type Subject } from './workload.ts'

const work = tool({
  name: 'work',
  description: 'Recorded steps that do nothing',
  input: z.object({ steps: z.number() }),
  onCrash: 'rerun',
  async execute({ steps }, ctx) {
    for (let index = 0; index < steps; index++) await ctx.step(`s${index}`, step)
    return null
  },
})

export async function pawl(store: string, commit: 'power' | 'process'): Promise<Subject> {
  const commits = store.startsWith('postgres') ? countGroups() : countCommits()
  const runtime = await createRuntime({
    store,
    commit,
    tools: [work],
    lease: '1h',
    keys: { secret: 'a secret of the bench, 32 bytes or more' },
  })
  const sessions: Session[] = []
  let calls = 0
  return {
    async call(steps, caller) {
      const session = (sessions[caller] ??= runtime.session(`caller-${caller}`))
      const [outcome] = await session.run([{ id: `c${calls++}`, name: 'work', input: { steps } }])
      if (outcome?.status !== 'success') throw new Error(JSON.stringify(outcome))
    },
    commits: () => commits.take(),
  }
}

/** Counts the write groups that Pawl sends to PostgreSQL: each is one query, one transaction and one sync. */
function countGroups(): { take(): number } {
  // The `pg` of the package, not the one of the peers.
  const { Client } = createRequire(import.meta.resolve('../../src/index.ts'))('pg') as typeof pg
  const query = Client.prototype.query as (...args: unknown[]) => unknown
  let groups = 0
  Client.prototype.query = function (this: pg.Client, ...args: unknown[]): unknown {
    if ((args[0] as { text?: string } | undefined)?.text?.includes('write_group')) groups++
    return query.apply(this, args)
  } as typeof Client.prototype.query
  return {
    take() {
      const taken = groups
      groups = 0
      return taken
    },
  }
}
