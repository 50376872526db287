// `npm start`: a tool is killed with SIGKILL in the middle of moving money, at the worst moment there is, and started again.
// Then a second act: one message of a model with everything that goes wrong in a day.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { secondAct } from './second-act.ts'
import { paint, type Span, timeline } from './timeline.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-demo-'))
process.env.LEDGER = join(dir, 'outside.ledger')
const { entries } = await import('../outside.ts')

const steps = ['find charge', 'refund', 'send receipt']
const spans: Span[] = []
const begun = performance.now()
const now = (): number => performance.now() - begun
const say = (text: string): void => console.log(`  ${paint('dim', `${String(Math.round(now())).padStart(5)} ms`)}  ${text}`)

interface Message {
  readonly step?: string
  readonly phase?: 'starts' | 'booked' | 'recorded'
  readonly outcome?: { status: string; attempts: number; value: unknown }
}

/** Runs a worker until it is done or, if so told, until the refund is booked outside but not yet recorded. */
async function work(killIt: boolean): Promise<Message['outcome']> {
  const started = now()
  const open = new Map<string, number>()
  const finish = (step: string, end: Span['end']): void => {
    spans.push({ row: step, from: open.get(step) as number, to: now(), end })
    open.delete(step)
  }
  let outcome: Message['outcome']
  const child: ChildProcess = fork(join(import.meta.dirname, 'worker.ts'), {
    execArgv: ['--conditions=@pawl/source'],
    env: { ...process.env, STORE: join(dir, 'agent.db') },
  })
  say(paint('bold', `worker ${child.pid} starts`))
  child.on('message', ({ step, phase, outcome: ended }: Message) => {
    outcome ??= ended
    if (!step) return
    if (phase === 'starts') {
      open.set(step, now())
      say(`  step '${step}' runs`)
    } else if (phase === 'recorded') {
      const ran = open.has(step)
      if (ran) finish(step, 'done')
      say(ran ? `  step '${step}' is recorded` : paint('cyan', `  step '${step}' comes from the record`))
    } else if (killIt && step === 'refund') {
      say(`  ${paint('yellow', 'the provider has moved the money, and nobody here knows it yet')}`)
      child.kill('SIGKILL')
    }
  })
  await new Promise((resolve) => child.once('close', resolve))
  if (killIt) say(paint('red', `  kill -9 ${child.pid}`))
  spans.push({ row: 'worker', from: started, to: now(), end: killIt ? 'killed' : 'done' })
  for (const step of open.keys()) finish(step, 'killed')
  return outcome
}

try {
  console.log(`\n  ${paint('bold', 'A tool call that survives kill -9')}\n`)
  await work(true)
  const outcome = await work(false)
  if (!outcome) throw new Error('The second worker gave no outcome.')
  say(`  ${paint('green', outcome.status)}, ${outcome.attempts} attempts: ${JSON.stringify(outcome.value)}`)
  console.log(`\n${timeline(['worker', ...steps], spans)}\n`)
  const booked = entries()
  const times = (what: string): number => booked.filter((entry) => entry.what === what).length
  console.log(`  What happened outside, by the provider's and the mail server's own books:`)
  console.log(`    money moved   ${times('refund')}×   ${paint('dim', 'asked twice, with the same idempotency key')}`)
  console.log(`    mails sent    ${times('mail')}×`)
  console.log()
  const finds = spans.filter(({ row }) => row === 'find charge').length
  const right = outcome.status === 'success' && times('refund') === 1 && times('mail') === 1 && finds === 1
  if (!right) throw new Error('An effect happened twice or not at all.')
  await secondAct(`sqlite:${join(dir, 'second.db')}`)
  console.log(`  ${paint('dim', 'The code: worker.ts and second-act.ts in examples/survive.')}`)
  console.log(`  ${paint('dim', 'As a program of your own: examples/refund.ts. The guide: docs/guide.')}\n`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
