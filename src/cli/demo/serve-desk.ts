// The support desk behind `pawl serve --demo`: its tools and model on a store of its own, and a customer whose refund
// waits for the approval of a person. The worker is a process of its own, which is killed once while it pays the refund.

import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { InboxItem, Runtime, RuntimeOptions } from '../../index.ts'
import { fileOf } from '../open-store.ts'
import { bold, cyan, dim, green, type Output, red, yellow } from '../output/output.ts'
import { armDeaths, deaths } from './kill-points.ts'
import { type ServeWorkerStart, type Supervisor, superviseWorkers, type WorkerEnd } from './supervise-workers.ts'

/** From a checkout there is no `pawl` on the path. */
const command = import.meta.url.endsWith('.ts') ? 'npm run -s pawl --' : 'pawl'

/** The needs of a process of the desk that runs its calls. */
export async function deskParts(): Promise<Pick<RuntimeOptions, 'tools' | 'models'>> {
  const [{ deskModel }, { exportOrders, lookUp, refund }] = await Promise.all([
    import('./model.ts'),
    import('./tools.ts'),
  ])
  return { tools: [lookUp, refund, exportOrders], models: [await deskModel()] }
}

/** The options of the desk's runtime. Its services keep their ledger beside the store. */
export async function deskOptions(store: string): Promise<Partial<RuntimeOptions>> {
  const file = fileOf(store) ?? 'demo.db'
  mkdirSync(dirname(file), { recursive: true })
  process.env.LEDGER = `${file}.ledger`
  process.env.DESK_DEATHS = `${file}.deaths`
  return { store, ...(await deskParts()) }
}

/** Starts the worker process. The one that is killed in the middle of the refund is replaced. */
export function startDeskWorker(output: Output, start: ServeWorkerStart): Supervisor {
  const onEnd = ({ pid, code, signal }: WorkerEnd): void => {
    output.note()
    if (signal === 'SIGKILL' && deaths(process.env.DESK_DEATHS).includes('refund'))
      output.note(red(`✗ kill -9 ${pid}`), '  The worker died: the money has moved, but this is not recorded.')
    else output.note(red('✗ '), `The worker process ${pid} ended with ${signal ?? `code ${code}`}.`)
  }
  const onReplaced = (pid: number): void => output.note(green('▶ '), `Another worker, process ${pid}, takes over.`)
  return superviseWorkers({ ...start, onEnd, onReplaced })
}

/** A customer writes, unless a request of an earlier start still waits; then what happens is shown until the end. */
export async function runDesk(
  runtime: Runtime,
  output: Output,
  server: DeskServer,
  signal: AbortSignal,
): Promise<void> {
  const after = await runtime.cursor()
  const [waiting] = await runtime.inbox({ limit: 1 })
  if (waiting) {
    output.note('The refund of the last start still waits: nothing was lost.')
    await showRequest(runtime, output, server, waiting)
  } else await writeToDesk(runtime)
  let shown = ''
  for await (const event of runtime.events({ after, signal, narrate: 'en' })) {
    const [item] = event.type === 'wait.opened' && event.body.asks ? await runtime.inbox({ limit: 1 }) : []
    if (item) await showRequest(runtime, output, server, item)
    else if (event.type === 'turn.ended' && event.outcome?.status === 'success')
      output.note(green('  desk  '), textOf(event.outcome.value))
    // A parked call is narrated with its present tense, as if the refund ran without the approval.
    else if (event.type !== 'call.parked' && event.narration !== undefined && event.narration !== shown)
      output.note(dim(`  ${(shown = event.narration)}`))
    if (event.type === 'call.settled' && event.tool === refundName && event.outcome?.status === 'success')
      await showStory(runtime, output, server, event.call)
  }
}

const refundName = 'refund'

/** Prints the address of the call, and after a crash what the payment service did. */
async function showStory(runtime: Runtime, output: Output, { url }: DeskServer, call: string): Promise<void> {
  const { takeovers = 0 } = (await runtime.calls.get(call)) ?? {}
  if (takeovers > 0) output.note('  The payment service was asked twice with the same idempotency key, and paid once.')
  output.note(takeovers > 0 ? '  Its story, with the crash: ' : '  Details: ', cyan(`${url}/calls/${call}`))
}

const textOf = (value: unknown): string => (value as { text?: string } | null)?.text ?? ''

async function writeToDesk(runtime: Runtime): Promise<void> {
  armDeaths(process.env.DESK_DEATHS ?? '', ['refund'])
  const { deskModel, instructions } = await import('./model.ts')
  const session = runtime.session(`desk-${randomUUID().slice(0, 8)}`, { principal: 'user:ada' })
  const message = 'Hi, order A1 arrived broken. Please refund the 42 €, and send me an export of all my orders.'
  const turn = session.turn({ model: await deskModel(), instructions, message, id: 'complaint' })
  await turn.accepted
  turn.outcome.catch(() => {}) // the runtime closed; the turn goes on at the next start
}

interface DeskServer {
  readonly url: string
  readonly token: string | null
}

/** The three ways in which a person can decide. */
async function showRequest(
  runtime: Runtime,
  output: Output,
  { url, token }: DeskServer,
  item: InboxItem,
): Promise<void> {
  const link = await runtime.links.sign({ item: item.id, by: 'user:bea' })
  const auth = token ?? '<token>'
  output.note()
  output.note(yellow('? '), bold(item.preview.summary), '  It waits for a person. Decide it in one of these ways:')
  output.note()
  output.note(dim('  in a terminal  '), `PAWL_URL=${url} PAWL_TOKEN=${auth} ${command} approve ${item.id}`)
  output.note(dim('  in a browser   '), cyan(`${url}/decide/${link}`))
  output.note(
    dim('  with curl      '),
    `curl -H 'Authorization: Bearer ${auth}' -H 'Content-Type: application/json' \\`,
  )
  output.note('                   ', `-d '{"approve":true}' ${url}/v1/inbox/${item.id}/decision`)
  output.note()
}
