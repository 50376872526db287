// `pawl demo`: a support desk in the terminal. A model answers a customer: it looks up an order (the warehouse is busy
// at first), starts an export in the background, and requests approval for a refund. Its process is killed with SIGKILL
// at the worst moments: during the export, and during the refund if it is approved. Each time another process takes
// over. At the end the ledger of the external services is checked; the exit code is 1 if an effect is missing or
// happened twice.
//
// `pawl demo --yes` approves without asking. `--chaos 20` goes on until 20 worker processes were killed, at random
// moments, one customer after the other. With OPENAI_API_KEY a real model answers (OPENAI_BASE_URL, OPENAI_MODEL).

import { fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { styleText } from 'node:util'
import { systemClock } from '../../core/clock.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-codes.ts'
import { safeLine } from '../output/terminal-safe.ts'
import { problems } from './check-ledger.ts'
import { deaths, type Moment } from './kill-points.ts'
import { deskModel } from './model.ts'
import { margin, Screen } from './screen.ts'
import type { Answer, WorkerMessage } from './messages.ts'
import { entries, repeats } from './services.ts'

type End = Extract<WorkerMessage, { outcome: string }>

/** TypeScript in the repository, JavaScript in the package. */
const workerFile = join(import.meta.dirname, `worker${extname(import.meta.filename)}`)

const moments: Record<Moment, string> = {
  export: 'a page is fetched and paid for, but not recorded',
  refund: 'the money has moved, but this is not recorded',
}

/** Random moments of `--chaos`, after the start of a worker process. Most of them hit it in the middle of the work. */
const chaosPauseMs = (): number => randomInt(300, 2_500)

interface DemoOptions {
  readonly yes: boolean
  /** Worker processes to kill, most of them at random moments. */
  readonly chaos: number
  readonly signal: AbortSignal
}

export async function runDemo({ yes, chaos, signal }: DemoOptions): Promise<ExitCode> {
  await deskModel() // says what is missing before anything is shown
  const dir = mkdtempSync(join(tmpdir(), 'pawl-desk-'))
  process.env.LEDGER = join(dir, 'outside.ledger')
  const deathsFile = join(dir, 'deaths')
  const screen = new Screen()
  signal.addEventListener('abort', () => screen.close(), { once: true })
  /** Answers by call. A question survives the death of the worker that asked it: the next worker gets the same answer. */
  const answers = new Map<string, Promise<Answer>>()
  const decided = new Map<string, boolean>()
  let last: Promise<unknown> = Promise.resolve()

  function answerOf(call: string, question: string): Promise<Answer> {
    const known = answers.get(call)
    if (known) return known
    const asked = last.then(() => decide(call, question))
    last = asked
    answers.set(call, asked)
    return asked
  }

  async function decide(call: string, question: string): Promise<Answer> {
    if (yes) {
      screen.line(`${margin}${styleText('yellow', '?')} ${question} y`)
      decided.set(call, true)
      return { call, approve: true, reason: 'Approved by --yes' }
    }
    const said = await screen.ask(question)
    const approve = /^y(es)?$/i.test(said?.trim() ?? '')
    decided.set(call, approve)
    if (said === undefined)
      screen.line(`${margin}${styleText('red', '✗')} no answer from the keyboard: the request is denied`)
    return { call, approve, reason: said === undefined ? 'No answer from the keyboard' : 'Denied at the keyboard' }
  }

  /** Runs one worker process until it exits or is killed. */
  let cursor = ''
  let customer = 1
  let randomKills = 0
  const kills = (): number => randomKills + deaths(deathsFile).length
  function work(): Promise<{ end: End | null; killedBy: NodeJS.Signals | null; pid: number | undefined }> {
    const env = { STORE: join(dir, 'agent.db'), DESK_AFTER: cursor, DESK_DEATHS: deathsFile }
    const child = fork(workerFile, [], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...env, DESK_CUSTOMER: String(customer), DESK_POISON_AFTER: String(chaos + 3) },
      signal,
      killSignal: 'SIGKILL',
    })
    const stopKill =
      kills() < chaos
        ? systemClock.timer(chaosPauseMs(), () => void (child.kill('SIGKILL') && randomKills++))
        : (): void => {}
    let end: End | null = null
    child.once('error', () => {}) // the signal ended it; `close` follows
    child.on('message', (message: WorkerMessage) => {
      if ('text' in message) {
        screen.show(message.text)
        cursor = message.cursor ?? cursor
      } else if ('ask' in message) {
        void answerOf(message.call, message.ask).then(
          (answer) => void (child.connected && child.send(answer, () => {})),
        )
      } else end = message
    })
    return new Promise((resolve) =>
      child.once('close', (_, killedBy) => {
        stopKill()
        resolve({ end, killedBy, pid: child.pid })
      }),
    )
  }

  /** Starts one worker process after the other until one of them completes the turn. */
  async function runToEnd(): Promise<End> {
    for (;;) {
      const before = deaths(deathsFile).length
      const killsBefore = kills()
      const { end, killedBy, pid } = await work()
      if (end) return end
      if (killedBy !== 'SIGKILL' || kills() === killsBefore)
        throw new CliError(exitCodes.failed, 'A worker process ended without a result.')
      const moment = deaths(deathsFile)[before]
      const why = moment ? moments[moment] : 'a random moment'
      const count = chaos > 0 ? `, ${kills()} of ${chaos}` : ''
      screen.line(`\n${margin}${styleText('red', `✗ kill -9 ${pid}`)}: ${why}${count}`)
      screen.line(`${margin}${styleText('green', '▶')} another process opens the same store and continues`)
    }
  }

  /** One customer after the other, until enough processes were killed. */
  async function serveCustomers(): Promise<End> {
    let all = await serveCustomer()
    while (kills() < chaos && all.outcome === 'success') {
      customer++
      cursor = ''
      const end = await serveCustomer()
      all = { ...end, done: [...all.done, ...end.done] }
    }
    return all
  }

  function serveCustomer(): Promise<End> {
    screen.line(`${styleText('bold', '  ada   ')}Order A1 arrived broken. Please refund it, and send me my orders.`)
    return runToEnd()
  }

  function show({ outcome, said, done }: End): ExitCode {
    const ledger = entries()
    const again = repeats()
    const row = (what: string, entry: string, note: string): void => {
      const times = ledger.filter((each) => each.what === entry).length
      const known = again.filter((each) => each.what === entry).length
      const more = known === 0 ? note : `requested ${times + known}×, deduplicated by idempotency key`
      screen.line(`    ${what.padEnd(18)} ${times}×   ${styleText('dim', more)}`.trimEnd())
    }
    screen.line(`\n  Effects in the ledger of the external services:`)
    row('refunds paid', 'refund', '')
    row('mails sent', 'mail', '')
    row('warehouse requests', 'asked', 'busy at the first request')
    row('pages exported', 'page', '')
    const killed = kills()
    const wrong = problems({ entries: ledger, done, decided })
    if (outcome !== 'success') wrong.unshift(`The turn ended as ${outcome}: ${safeLine(said)}`)
    for (const each of wrong) screen.line(`    ${styleText('red', '✗')} ${each}`)
    if (wrong.length === 0) {
      const despite =
        [
          'and no process was killed: nothing was started',
          'although a process was killed',
          'although two processes were killed',
        ][killed] ?? `although ${killed} processes were killed`
      const paid = ledger.some(({ what }) => what === 'refund')
      if (!paid) screen.line(`    ${styleText('green', '✓')} no refund without approval`)
      screen.line(
        `    ${styleText('green', '✓')} ${paid ? 'every effect' : 'everything else'} exactly once, ${despite}`,
      )
    }
    screen.line(`\n  ${styleText('dim', 'Next: pawl init writes a first agent into your project.')}\n`)
    return wrong.length === 0 ? exitCodes.ok : exitCodes.failed
  }

  try {
    screen.line(`\n  ${styleText('bold', 'A support desk that survives kill -9')}\n`)
    const end = await serveCustomers()
    screen.close() // closes a question that was not answered in time
    await last
    return show(end)
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted
    throw error
  } finally {
    screen.close()
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  }
}
