// `npm start`: a support desk in the terminal. A model answers a customer: it looks an order up (the warehouse is busy at first), starts an export in the
// background, and asks a person for a refund. In the middle of that its process is killed with SIGKILL, at the worst moments there are: whatever the person
// says, over the export, and over the refund if they grant it. Another process goes on each time. In the end: what happened outside, by the books of those
// outside, checked; the exit code is 1 if anything is missing or happened twice.
//
// `npm start -- --yes` asks nobody. With OPENAI_API_KEY a real model answers (OPENAI_BASE_URL, OPENAI_MODEL).

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { problems } from './books.ts'
import { deaths, type Moment } from './dies.ts'
import { margin, Screen } from './screen.ts'
import type { Answer, Told } from './told.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-desk-'))
process.env.LEDGER = join(dir, 'outside.ledger')
const { entries, repeats } = await import('../outside.ts')
const died = join(dir, 'deaths')
const screen = new Screen()

/** By call. A process that dies over a question does not take it along: the next one gets the same answer. */
const answers = new Map<string, Promise<Answer>>()
const decided = new Map<string, boolean>()
let last: Promise<unknown> = Promise.resolve()

function answered(call: string, question: string): Promise<Answer> {
  const known = answers.get(call)
  if (known) return known
  const asked = last.then(() => decide(call, question))
  last = asked
  answers.set(call, asked)
  return asked
}

async function decide(call: string, question: string): Promise<Answer> {
  if (process.argv.includes('--yes')) {
    screen.line(`${margin}${styleText('yellow', '?')} ${question} y`)
    decided.set(call, true)
    return { call, approve: true, reason: 'Asked for with --yes' }
  }
  const said = await screen.ask(question)
  const approve = /^y(es)?$/i.test(said?.trim() ?? '')
  decided.set(call, approve)
  if (said === undefined) screen.line(`${margin}${styleText('red', '✗')} nobody is at the keyboard, and silence is no`)
  return { call, approve, reason: said === undefined ? 'Nobody is at the keyboard' : 'Not today' }
}

/** A process of the desk, until it is over one way or the other. */
let cursor = ''
type End = Extract<Told, { outcome: string }>
function work(): Promise<{ end: End | null; signal: NodeJS.Signals | null; pid: number | undefined }> {
  const child = fork(join(import.meta.dirname, 'worker.ts'), [], {
    execArgv: ['--conditions=@pawl/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, STORE: join(dir, 'agent.db'), DESK_AFTER: cursor, DESK_DEATHS: died },
  })
  let end: End | null = null
  child.on('message', (told: Told) => {
    if ('text' in told) {
      screen.show(told.text)
      cursor = told.cursor ?? cursor
    } else if ('ask' in told) {
      void answered(told.call, told.ask).then((answer) => void (child.connected && child.send(answer, () => {})))
    } else end = told
  })
  return new Promise((resolve) => child.once('close', (_, signal) => resolve({ end, signal, pid: child.pid })))
}

const moments: Record<Moment, string> = {
  export: 'a page is fetched and paid, and not on record here',
  refund: 'the money has moved, and nobody here knows it yet',
}

/** One process after the other, until one of them comes to the end. */
async function story(): Promise<End> {
  for (let before = 0; ; before++) {
    const { end, signal, pid } = await work()
    if (end) return end
    const moment = deaths(died)[before]
    if (signal !== 'SIGKILL' || moment === undefined) throw new Error('A process of the desk ended without an answer.')
    screen.line(`\n${margin}${styleText('red', `✗ kill -9 ${pid}`)}: ${moments[moment]}`)
    screen.line(`${margin}${styleText('green', '▶')} another process opens the same file, and goes on`)
  }
}

function show({ outcome, said, done }: End): void {
  const booked = entries()
  const again = repeats()
  const row = (what: string, entry: string, note: string): void => {
    const times = booked.filter((each) => each.what === entry).length
    const known = again.filter((each) => each.what === entry).length
    const more = known === 0 ? note : `asked for ${times + known}×: an idempotency key is known again`
    screen.line(`    ${what.padEnd(18)} ${times}×   ${styleText('dim', more)}`.trimEnd())
  }
  screen.line(`\n  What happened outside, by the books of those outside:`)
  row('money moved', 'refund', '')
  row('mails sent', 'mail', '')
  row('warehouse asked', 'asked', 'it was busy the first time')
  row('pages exported', 'page', '')
  const killed = deaths(died).length
  const wrong = problems({ entries: booked, done, decided })
  if (outcome !== 'success') wrong.unshift(`The turn ended as ${outcome}: ${said}`)
  for (const each of wrong) screen.line(`    ${styleText('red', '✗')} ${each}`)
  if (wrong.length === 0) {
    const over = ['and no process was killed: the model began nothing', 'over the death of a process', 'over the deaths of two processes'][
      killed
    ]
    screen.line(`    ${styleText('green', '✓')} each exactly once, ${over}`)
  }
  screen.line(`\n  ${styleText('dim', 'The code: examples/desk. The guide: docs/guide.')}\n`)
  process.exitCode = wrong.length === 0 ? 0 : 1
}

process.once('SIGINT', () => {
  rmSync(dir, { recursive: true, force: true })
  process.exit(130) // a process of the desk ends with the one that started it
})

try {
  screen.line(`\n  ${styleText('bold', 'A support desk that survives kill -9')}\n`)
  screen.line(`${styleText('bold', '  ada   ')}Order A1 arrived broken. Please refund it, and send me my orders.`)
  const end = await story()
  screen.close() // a question that nobody answered in time is over
  await last
  show(end)
} finally {
  screen.close()
  rmSync(dir, { recursive: true, force: true })
}
