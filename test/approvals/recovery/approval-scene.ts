// The program of a process that is killed at some point: it makes calls, decides about them and runs them, depending on
// its role. Effects and decision results are appended to a ledger file.

import { appendFileSync } from 'node:fs'
import { createRuntime, type InboxDecision, type Runtime } from 'pawl'
import { argumentTool } from '../../kit/simple-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

export interface Orders {
  readonly db: string
  readonly ledger: string
  /** `all`: asks, decides and runs. `worker`: asks and runs. `decider`: only decides. `asker`: only asks. */
  readonly role: 'all' | 'worker' | 'decider' | 'asker'
}

export interface Ended {
  readonly outcomes: readonly { callId: string; code: string; attempts: number }[]
  readonly inbox: readonly string[]
}

type Note = (what: object) => void

const refund = (note: Note) =>
  argumentTool(
    'refund',
    { type: 'object', properties: { cents: { type: 'number' } }, required: ['cents'] },
    { hints: { destructive: true }, concurrency: 'parallel' },
    (input, ctx) => {
      note({ ran: ctx.callId, cents: input.cents })
      return { refunded: input.cents as number }
    },
  )

/** One call is approved, one denied, one edited, and one needs two approvals. */
const calls = ['yes', 'no', 'edit', 'both'].map((id) => ({ id, name: 'refund', input: { cents: 100 } }))
const decisions: Readonly<Record<string, readonly InboxDecision[]>> = {
  yes: [{ approve: true, by: 'user:bea' }],
  no: [{ deny: true, by: 'user:bea' }],
  edit: [{ edit: { cents: 7 }, by: 'user:bea' }],
  both: [
    { approve: true, by: 'user:bea' },
    { approve: true, by: 'user:cem' },
  ],
}
const policy = { rules: [{ tool: 'refund', session: 'two', then: 'ask' as const, quorum: 2 }] }

async function decideAll(runtime: Runtime, note: Note): Promise<void> {
  for (const item of await runtime.inbox()) {
    for (const decision of decisions[item.callId] ?? []) {
      const { answer, ...told } = await runtime.decide(item.id, decision)
      note({ told: item.callId, by: decision.by, answer, status: 'status' in told ? told.status : null })
    }
  }
}

const sessionOf = (id: string): string => (id === 'both' ? 'two' : 'one')
const runAll = async (runtime: Runtime, until?: 'waiting') =>
  (
    await Promise.all(
      ['one', 'two'].map((of) => {
        const own = calls.filter(({ id }) => sessionOf(id) === of)
        return until ? runtime.session(of).run(own, { until }) : runtime.session(of).run(own)
      }),
    )
  ).flat()

export async function play({ db, ledger, role }: Orders, waits: () => void = () => {}): Promise<Ended | null> {
  const note: Note = (what) => appendFileSync(ledger, `${JSON.stringify(what)}\n`)
  const runtime = await createRuntime({
    store: `sqlite:${db}`,
    tools: [refund(note)],
    policy,
    commit: 'process',
    // The processes are killed on purpose, so no call may count as poisoned.
    poisonAfter: 1_000,
    logger: quiet,
    worker: role !== 'decider',
  })
  let ended: Ended | null = null
  if (role !== 'decider') await runAll(runtime, 'waiting')
  waits()
  if (role === 'all' || role === 'decider') await decideAll(runtime, note)
  if (role === 'all' || role === 'worker') {
    const outcomes = (await runAll(runtime)).map((outcome) => ({
      callId: outcome.callId,
      code: outcome.status === 'failure' ? outcome.failure.code : outcome.status,
      attempts: 'attempts' in outcome ? outcome.attempts : 0,
    }))
    ended = { outcomes, inbox: (await runtime.inbox()).map(({ callId }) => callId) }
  }
  await runtime.close()
  return ended
}
