// One worker process of the support desk. It opens the store, requests the turn (which continues where a dead process
// left it), and sends output and approval requests to the parent process.

import { styleText } from 'node:util'
import { systemClock } from '../../core/clock.ts'
import { createRuntime, type LiveEvent } from '../../index.ts'
import { safeBlock, safeLine } from '../output/terminal-safe.ts'
import { deskModel, instructions } from './model.ts'
import { margin } from './screen.ts'
import type { Answer, WorkerMessage } from './messages.ts'
import { exportOrders, lookUp, refund, takes } from './tools.ts'

const startedAt = systemClock.now()
const send = (message: WorkerMessage): void => void process.send?.(message)
const noteLine = (sign: string, text: string): string => `${margin}${sign} ${safeLine(text)}\n`
/** Shows warnings and errors, such as a call that is recovered. */
const logLine = (message: string, { tool }: { tool?: unknown } = {}): void =>
  send({ text: noteLine(styleText('magenta', '↺'), typeof tool === 'string' ? `${message}: ${tool}` : message) })
const model = await deskModel()
const runtime = await createRuntime({
  store: `sqlite:${process.env.STORE}`,
  tools: [lookUp, refund, exportOrders],
  models: [model],
  lease: '2s',
  poisonAfter: Number(process.env.DESK_POISON_AFTER ?? 3),
  logger: { debug() {}, info() {}, warn: logLine, error: logLine },
})
const id = `desk-${process.env.DESK_CUSTOMER ?? 1}`
const session = runtime.session(id, { principal: 'user:ada' })
// Without the parent there is no terminal: exit.
process.once('disconnect', () => process.exit())

/** The streamed text of the current answer, and output that is held back until the answer is complete. */
let streamed = ''
let heldBack = ''
function showDelta({ type, body }: LiveEvent): void {
  const { type: what, delta = '' } = body as { type?: string; delta?: string }
  if (type === 'turn.delta' && what === 'text') {
    send({ text: streamed === '' ? `${styleText('bold', '  desk  ')}${safeBlock(delta)}` : safeBlock(delta) })
    streamed += delta
  } else if (type === 'turn.retracted' && streamed !== '') {
    send({ text: endAnswer() + noteLine(styleText('yellow', '↺'), 'the answer broke off; asking the model again') })
  }
}

function endAnswer(): string {
  const text = (streamed === '' ? '' : '\n') + heldBack
  streamed = heldBack = ''
  return text
}

/** An answer that the previous process recorded but did not show. */
async function unshownAnswer(number: number): Promise<string> {
  const [said] = await session.messages.list({ after: number - 1, limit: 1 })
  const parts = said?.message.role === 'assistant' ? said.message.parts : []
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return text === '' || streamed !== '' ? '' : `${styleText('bold', '  desk  ')}${safeBlock(text)}\n`
}

/** Sends each approval request once. The answer may have been given to the previous process. */
const requestIds = new Map<string, string>()
async function ask(): Promise<void> {
  for (const { id: item, call, preview } of await runtime.inbox({ tenant: 'default', session: id })) {
    if (requestIds.has(call)) continue
    requestIds.set(call, item)
    send({ ask: `${safeLine(preview.summary)} Approve? [y/N]`, call })
  }
}
process.on('message', ({ call, approve, reason }: Answer) => {
  const by = 'user:bea'
  void runtime.decide(requestIds.get(call) ?? '', approve ? { approve, by } : { deny: true, by, reason })
})

/** Calls whose end has been shown. */
const settled = new Set<string>()

async function show(signal: AbortSignal): Promise<void> {
  // Continue after the last event that the previous process has shown.
  const after = process.env.DESK_AFTER
  for await (const event of session.events({ live: true, narrate: 'en', signal, ...(after ? { after } : {}) })) {
    if (event.live) {
      showDelta(event)
      const { current, total } = event.body as { current?: number; total?: number }
      if (event.type === 'call.progress' && current !== undefined && total !== undefined)
        heldBack += noteLine(
          styleText('cyan', '▸'),
          `export ${'█'.repeat(current)}${'░'.repeat(total - current)} ${current} of ${total}`,
        )
      if (streamed === '') send({ text: endAnswer() })
      continue
    }
    let text = event.type === 'turn.answered' ? (await unshownAnswer(event.body.message)) + endAnswer() : ''
    if (event.type === 'call.queued') text += noteLine(styleText('yellow', '↻'), 'The warehouse is busy; retrying')
    if (event.type === 'call.settled' && event.narration !== undefined)
      text += noteLine(
        event.outcome?.status === 'success' ? styleText('green', '✓') : styleText('red', '✗'),
        event.narration,
      )
    // Output does not interrupt a streaming answer: it waits. If this process dies meanwhile, the next one reads the
    // event again.
    if (streamed === '') send({ text: endAnswer() + text, cursor: event.cursor })
    else heldBack += text
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
// A model may answer before its background tasks have ended; the desk waits for them.
for (const { id } of await session.tasks.list()) await session.tasks.wait(id)
const calls = await session.calls.list()
// Wait until the end of every call of this process has been shown.
const ended = calls.filter(({ settledAt }) => settledAt !== null && settledAt >= startedAt)
for (let waits = 0; waits < 200 && ended.some(({ uid }) => !settled.has(uid)); waits++) await takes(10)
stop.abort()
await showing
send({
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
