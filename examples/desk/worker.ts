// One process of the support desk: it opens the store, asks for the turn (which goes on where it stands, if another process died over it), and tells the
// process above what happens and what a person has to decide.

import { styleText } from 'node:util'
import { createRuntime, type LiveEvent } from 'pawl'
import { deskModel, instructions } from './model.ts'
import { margin } from './screen.ts'
import type { Answer, Told } from './told.ts'
import { exportOrders, lookUp, refund, takes } from './tools.ts'

const begun = Date.now()
const model = await deskModel()
const runtime = await createRuntime({
  store: `sqlite:${process.env.STORE}`,
  tools: [lookUp, refund, exportOrders],
  models: [model],
  lease: '2s',
})
const session = runtime.session('desk-1', { principal: 'user:ada' })
// Whoever started this is gone: so is the terminal.
process.once('disconnect', () => process.exit())

const tell = (told: Told): void => void process.send?.(told)
const noted = (sign: string, text: string): string => `${margin}${sign} ${text}\n`

/** What a model has said so far, word by word, and what is told when it has said it. */
let heard = ''
let beside = ''
function spoken({ type, body }: LiveEvent): void {
  const { type: what, delta = '' } = body as { type?: string; delta?: string }
  if (type === 'turn.delta' && what === 'text') {
    tell({ text: heard === '' ? `${styleText('bold', '  desk  ')}${delta}` : delta })
    heard += delta
  } else if (type === 'turn.retracted' && heard !== '') {
    tell({ text: silence() + noted(styleText('yellow', '↺'), 'the answer broke off, and is asked for again') })
  }
}

function silence(): string {
  const text = (heard === '' ? '' : '\n') + beside
  heard = beside = ''
  return text
}

/** What the process before this one put on record, and had no time to say. */
async function unheard(number: number): Promise<string> {
  const [said] = await session.messages.list({ after: number - 1, limit: 1 })
  const parts = said?.message.role === 'assistant' ? said.message.parts : []
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return text === '' || heard !== '' ? '' : `${styleText('bold', '  desk  ')}${text}\n`
}

/** Each question once. The answer comes when somebody has given it, maybe to the process before this one. */
const asked = new Map<string, string>()
async function ask(): Promise<void> {
  for (const { id, call, preview } of await runtime.inbox({ tenant: 'default', session: 'desk-1' })) {
    if (asked.has(call)) continue
    asked.set(call, id)
    tell({ ask: `${preview.summary} Approve? [y/N]`, call })
  }
}
process.on('message', ({ call, approve, reason }: Answer) => {
  const by = 'user:bea'
  void runtime.decide(asked.get(call) ?? '', approve ? { approve, by } : { deny: true, by, reason })
})

/** The calls that were seen to end. */
const settled = new Set<string>()

async function show(signal: AbortSignal): Promise<void> {
  // From where the process before has read.
  const after = process.env.DESK_AFTER
  for await (const event of session.events({ live: true, narrate: 'en', signal, ...(after ? { after } : {}) })) {
    if (event.live) {
      spoken(event)
      const { current, total } = event.body as { current?: number; total?: number }
      if (event.type === 'call.progress' && current !== undefined && total !== undefined)
        beside += noted(styleText('cyan', '▸'), `export ${'█'.repeat(current)}${'░'.repeat(total - current)} ${current} of ${total}`)
      if (heard === '') tell({ text: silence() })
      continue
    }
    let text = event.type === 'turn.answered' ? (await unheard(event.body.message)) + silence() : ''
    if (event.type === 'call.queued') text += noted(styleText('yellow', '↻'), 'The warehouse is busy: it is asked again')
    if (event.type === 'call.settled' && event.narration !== undefined)
      text += noted(event.outcome?.status === 'success' ? styleText('green', '✓') : styleText('red', '✗'), event.narration)
    // Nobody interrupts the model: what is told beside it waits. If this process dies meanwhile, the next one reads it again.
    if (heard === '') tell({ text: silence() + text, cursor: event.cursor })
    else beside += text
    if (event.type === 'call.settled') settled.add(event.call)
    if (event.type === 'wait.opened' && event.body.asks === 'approval') await ask()
  }
}

const stop = new AbortController()
const showing = show(stop.signal).catch(() => {})
const turn = session.turn({
  id: 'turn-1',
  model,
  instructions,
  message: 'Order A1 arrived broken. Please refund it, and send me my orders.',
})
await ask()
const outcome = await turn.outcome
// A model need not wait for what it started; the desk does not close before it is done.
for (const { id } of await session.tasks.list()) await session.tasks.wait(id)
const calls = await session.calls.list()
// All that ended here has been shown.
const ended = calls.filter(({ settledAt }) => settledAt !== null && settledAt >= begun)
for (let waits = 0; waits < 200 && ended.some(({ uid }) => !settled.has(uid)); waits++) await takes(10)
stop.abort()
await showing
tell({
  outcome: outcome.status,
  said: outcome.status === 'success' ? outcome.value.text : JSON.stringify(outcome),
  done: calls.map(({ uid, name, outcome: end }) => ({
    uid,
    tool: name,
    status: end?.status ?? 'open',
    value: end?.status === 'success' ? end.value : null,
  })),
})
await runtime.close()
process.disconnect?.()
