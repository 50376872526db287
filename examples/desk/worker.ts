// One process of the support desk: it opens the store, asks for the turn (which goes on where it stands, if another process died over it), shows what
// happens, and asks whoever sits at the keyboard.

import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { createRuntime, type LiveEvent } from 'pawl'
import { deskModel, instructions } from './model.ts'
import { exportOrders, lookUp, refund } from './tools.ts'

const model = await deskModel()
const runtime = await createRuntime({
  store: `sqlite:${process.env.STORE}`,
  tools: [lookUp, refund, exportOrders],
  models: [model],
  lease: '2s',
})
const session = runtime.session('desk-1', { principal: 'user:ada' })

const line = (text: string): void => void process.stdout.write(`${text}\n`)
const note = (sign: string, text: string): void => line(`${' '.repeat(8)}${sign} ${text}`)
const asked = new Set<string>()

/** What a model says, word by word. */
let speaking = false
function spoken({ type, body }: LiveEvent): void {
  const { type: what, delta = '' } = body as { type?: string; delta?: string }
  if (type === 'turn.delta' && what === 'text') {
    if (!speaking) process.stdout.write(styleText('bold', '  desk  '))
    speaking = true
    process.stdout.write(delta)
  } else if (type === 'turn.retracted' && speaking) note(styleText('yellow', '↺'), 'the answer broke off, and is asked for again')
}

async function decide(): Promise<void> {
  for (const { id, preview } of await runtime.inbox({ tenant: 'default', session: 'desk-1' })) {
    if (asked.has(id)) continue
    asked.add(id)
    const approve = await answered(`${preview.summary} Approve? [y/N] `)
    const by = 'user:bea'
    await runtime.decide(id, approve ? { approve: true, by } : { deny: true, by, reason: 'Not today' })
  }
}

async function answered(question: string): Promise<boolean> {
  const shown = `${' '.repeat(8)}${styleText('yellow', '?')} ${question}`
  if (process.argv.includes('--yes')) {
    line(`${shown}y`)
    return true
  }
  const keyboard = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await keyboard.question(shown)).trim())
  } catch {
    return false // nobody is there
  } finally {
    keyboard.close()
  }
}

async function show(signal: AbortSignal): Promise<void> {
  // From where the process before has read.
  const after = process.env.DESK_AFTER
  for await (const event of session.events({ live: true, narrate: 'en', signal, ...(after ? { after } : {}) })) {
    if (event.live) {
      spoken(event)
      const { current, total } = event.body as { current?: number; total?: number }
      if (event.type === 'call.progress' && current !== undefined && total !== undefined)
        note(styleText('cyan', '▸'), `export ${'█'.repeat(current)}${'░'.repeat(total - current)} ${current} of ${total}`)
      continue
    }
    process.send?.({ cursor: event.cursor })
    if (speaking) line('')
    speaking = false
    if (event.type === 'call.queued') note(styleText('yellow', '↻'), 'The warehouse is busy: it is asked again')
    if (event.type === 'wait.opened' && event.body.asks === 'approval') void decide().catch(() => {})
    if (event.type === 'call.settled' && event.narration !== undefined)
      note(event.outcome?.status === 'success' ? styleText('green', '✓') : styleText('red', '✗'), event.narration)
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
await decide()
const outcome = await turn.outcome
stop.abort()
await showing
const file = await session.files.stat('/exports/ada.csv')
process.send?.({
  outcome: outcome.status,
  text: outcome.status === 'success' ? outcome.value.text : JSON.stringify(outcome),
  bytes: file?.bytes ?? 0,
})
await runtime.close()
process.disconnect?.()
