// The second act of `npm start`: one message of a model, seven calls, everything that goes wrong in a day. Each gets one outcome.

import { type CallOutcome, createRuntime, retry, tool, type ToolContext } from 'pawl'
import { z } from 'zod'
import { paint, type Span, timeline } from './timeline.ts'

const spans: Span[] = []
let begun = 0
const now = (): number => performance.now() - begun
const passes = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Works for a while and notes it as a bar in the row of its call. */
async function works(ctx: ToolContext, ms: number, end: Span['end'] = 'done'): Promise<void> {
  const from = now()
  await passes(ms)
  spans.push({ row: ctx.callId, from, to: now(), end })
}

const count = tool({
  name: 'count',
  description: 'How many of an item are in stock',
  input: z.object({ item: z.string() }),
  hints: { readOnly: true }, // so it runs together with its neighbours
  async execute(_, ctx) {
    await works(ctx, 200)
    return stock
  },
})

let stock = 5
const reserve = tool({
  name: 'reserve',
  description: 'Reserve some of an item',
  input: z.object({ item: z.string(), count: z.number().int().positive() }),
  // Nothing said about it, so it is a barrier: after all before it, before all after it.
  async execute({ count: wanted }, ctx) {
    await works(ctx, 200)
    stock -= wanted
    return `reserved ${wanted}`
  },
})

const rate = tool({
  name: 'rate',
  description: 'The rate of a currency, from a service that is often busy',
  input: z.object({ of: z.string() }),
  hints: { readOnly: true },
  async execute(_, ctx) {
    const busy = ctx.attempt < 3
    await works(ctx, 100, busy ? 'killed' : 'done')
    if (busy) throw retry({ message: 'The service is busy', after: '80ms' })
    return 1.09
  },
})

let ended: Promise<unknown> = Promise.resolve()
const search = tool({
  name: 'search',
  description: 'Search the archive',
  input: z.object({ for: z.string() }),
  hints: { readOnly: true },
  timeout: '350ms',
  execute(_, ctx) {
    const from = now()
    // It goes on as if nothing had been said. Counted from there, so that no busy machine lets it finish in time.
    const givenUp = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    ended = givenUp.then(() => {
      spans.push({ row: ctx.callId, from, to: now(), end: 'killed' })
      return works(ctx, 400, 'unheard')
    })
    return ended.then(() => 'found it, too late')
  },
})

const calls = [
  { id: 'count A1', name: 'count', input: { item: 'A1' } },
  { id: 'count B2', name: 'count', input: { item: 'B2' } },
  { id: 'reserve A1', name: 'reserve', input: { item: 'A1', count: 2 } },
  { id: 'count again', name: 'count', input: { item: 'A1' } },
  { id: 'rate', name: 'rate', input: { of: 'EUR' } },
  { id: 'search', name: 'search', input: { for: 'invoices' } },
  { id: 'reserve B2', name: 'reserve', input: { item: 'B2', count: 'three' } },
]

function words(outcome: CallOutcome): string {
  const tries = outcome.attempts === 1 ? '' : outcome.attempts === 0 ? ', not started' : `, attempt ${outcome.attempts}`
  if (outcome.status === 'success') return `${paint('green', 'success')}${tries}: ${JSON.stringify(outcome.value)}`
  if (outcome.status !== 'failure') return outcome.status
  return `${paint('red', outcome.failure.code)}${tries}${outcome.failure.mayStillRun ? ', may still run' : ''}`
}

/** Reads that ran together, a write between the reads, and the codes that were to come. */
function right(outcomes: readonly CallOutcome[]): boolean {
  const [a, b, write, again] = calls.map(({ id }) => spans.find(({ row }) => row === id)) as [Span, Span, Span, Span]
  const told = outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status)).join(' ')
  const inOrder = a.from < b.to && b.from < a.to && Math.max(a.to, b.to) <= write.from && write.to <= again.from
  return inOrder && told === 'success success success success success attempt_timeout invalid_arguments' && outcomes[4]?.attempts === 3
}

export async function secondAct(store: string): Promise<void> {
  const runtime = await createRuntime({ store, tools: [count, reserve, rate, search] })
  begun = performance.now()
  const outcomes = await runtime.session('demo').run(calls, { batch: 'msg_2' })
  await ended
  await runtime.close()
  console.log(`  ${paint('bold', 'One message of a model, seven calls, one outcome each')}\n`)
  const told = Object.fromEntries(outcomes.map((outcome) => [outcome.callId, words(outcome)]))
  const ids = calls.map(({ id }) => id)
  console.log(`${timeline(ids, spans, told, 28)}\n`)
  console.log(`  The two counts run together; the write waits for them, the rest for the write.`)
  console.log(`  The search does not listen. It is given up ${paint('red', '✗')}; what it returns later ${paint('dim', '···')} is`)
  console.log(`  kept in the record and told to nobody. Of the last call the model reads:\n`)
  const [part] = outcomes.at(-1)?.parts ?? []
  if (part?.type === 'text') for (const line of part.text.split('\n')) console.log(`    ${paint('cyan', line)}`)
  console.log()
  if (!right(outcomes)) throw new Error('The second act did not go as it says.')
}
