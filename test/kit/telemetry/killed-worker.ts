// Runs a turn whose worker is killed in the middle of a call, and that another process resumes.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { WorkerOrder } from './child-traced-worker.ts'
import type { CollectedSpan, OtlpCollector } from './otlp-collector.ts'

const children = new Set<ChildProcess>()
/** Also after a test that failed. */
afterEach(() => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  children.clear()
})

function start(order: WorkerOrder): ChildProcess {
  const child = fork(join(import.meta.dirname, 'child-traced-worker.ts'), [JSON.stringify(order)], {
    execArgv: ['--conditions=@pawl/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  children.add(child)
  return child
}

/** The message of a child; rejects if it ends without one. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The worker ended with ${String(signal ?? code)}.`)
  })
  exited.catch(() => {})
  const [message] = (await Promise.race([once(child, 'message'), exited])) as [unknown]
  return message
}

/** Returns the status of the turn. */
export async function killAndResume(
  collector: OtlpCollector,
  store: WorkerOrder['store'],
  randomIds = false,
): Promise<unknown> {
  const common = { collector: collector.url, store, randomIds }
  const first = start({ ...common, service: 'first', starts: true })
  let second: ChildProcess | null = null
  try {
    await messageOf(first)
    first.kill('SIGKILL')
    await once(first, 'exit')
    second = start({ ...common, service: 'second', starts: false })
    const status = await messageOf(second)
    await once(second, 'exit')
    return status
  } finally {
    for (const child of [first, second])
      if (child?.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  }
}

/** Each span as `process name < name of its parent`, sorted. How often a turn parks is up to chance, so each once. */
export function shapeOf(spans: readonly CollectedSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  const shown = ({ service, name, parent }: CollectedSpan): string =>
    `${service}: ${name} < ${parent === '' ? '-' : (names.get(parent) ?? 'missing')}`
  return [...new Set(spans.map(shown))].toSorted()
}

/** The names of the spans that a span links to. */
export function linksOf(spans: readonly CollectedSpan[], name: string, at = 0): (string | undefined)[] {
  const names = new Map(spans.map((span) => [span.spanId, span.name]))
  const span = spans.filter((each) => each.name === name)[at]
  return (span?.links ?? []).map((id) => names.get(id))
}

/** The spans of the turn, with stable span ids. */
export const crashedTurn = [
  'first: chat m < invoke_agent',
  'first: pawl.request < -',
  'first: pawl.step first < execute_tool work',
  'second: chat m < invoke_agent',
  'second: execute_tool gate < invoke_agent',
  'second: execute_tool inner < execute_tool work',
  'second: execute_tool report < execute_tool work',
  'second: execute_tool work < invoke_agent',
  'second: invoke_agent < pawl.request',
  'second: pawl.resume < invoke_agent',
  'second: pawl.step second < execute_tool work',
  'second: pawl.step write < execute_tool report',
  'second: pawl.wait approval < invoke_agent',
]
