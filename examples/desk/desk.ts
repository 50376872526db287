// `npm start`: a support desk in the terminal. A model answers a customer: it looks an order up (the warehouse is busy at first), starts an export in the
// background, and asks a person for a refund. In the middle of that the process kills itself with SIGKILL, at the worst moment there is. Another one goes on.
// In the end: what happened outside, by the books of those outside.
//
// `npm start -- --yes` asks nobody. With OPENAI_API_KEY a real model answers (OPENAI_BASE_URL, OPENAI_MODEL).

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'

interface Told {
  readonly outcome: string
  readonly text: string
  readonly bytes: number
}

const dir = mkdtempSync(join(tmpdir(), 'pawl-desk-'))
process.env.LEDGER = join(dir, 'outside.ledger')
const { entries } = await import('../outside.ts')

/** A process of the desk, until it is over one way or the other. */
let cursor = ''
function work(dies: boolean): Promise<{ told: Told | null; signal: NodeJS.Signals | null; pid: number | undefined }> {
  const child = fork(join(import.meta.dirname, 'worker.ts'), process.argv.slice(2), {
    execArgv: ['--conditions=@pawl/source'],
    env: { ...process.env, STORE: join(dir, 'agent.db'), DESK_AFTER: cursor, ...(dies ? { DESK_DIES: '1' } : {}) },
  })
  let told: Told | null = null
  child.on('message', (message: Told | { cursor: string }) => {
    if ('cursor' in message) cursor = message.cursor
    else told = message
  })
  return new Promise((resolve) => child.once('close', (_, signal) => resolve({ told, signal, pid: child.pid })))
}

const times = (what: string, id?: string): number =>
  entries().filter((entry) => entry.what === what && (id === undefined || entry.id === id)).length

try {
  console.log(`\n  ${styleText('bold', 'A support desk that survives kill -9')}\n`)
  console.log(`${styleText('bold', '  ada   ')}Order A1 arrived broken. Please refund it, and send me my orders.`)
  const first = await work(true)
  if (first.signal === 'SIGKILL') {
    console.log(
      `\n        ${styleText('red', '✗')} ${styleText('red', `kill -9 ${first.pid}`)}: the money has moved, and nobody here knows it yet`,
    )
    console.log(`        ${styleText('green', '▶')} another process opens the same file, and goes on\n`)
  }
  const { told } = first.told ? first : await work(false)
  if (!told) throw new Error('The second process gave no answer.')
  console.log(`\n  What happened outside, by the books of those outside:`)
  const pages = new Set(
    entries()
      .filter(({ what }) => what === 'page')
      .map(({ id }) => id),
  ).size
  console.log(`    money moved        ${times('refund')}×   ${styleText('dim', 'one idempotency key, however often it is asked')}`)
  console.log(`    mails sent         ${times('mail')}×`)
  console.log(`    warehouse asked    ${times('asked')}×   ${styleText('dim', 'it was busy the first time')}`)
  console.log(`    pages exported     ${times('page')}×   ${styleText('dim', `${pages} pages`)}`)
  console.log(`\n  ${styleText('dim', 'The code: examples/desk. The guide: docs/guide.')}\n`)
  if (told.outcome !== 'success') throw new Error(`The turn ended as ${told.text}`)
  if (times('refund') > 1 || times('mail') > 1) throw new Error('An effect happened twice.')
} finally {
  rmSync(dir, { recursive: true, force: true })
}
