// A process with a runtime whose store fails. It runs commands received over IPC, reports the results, and must never
// crash.

import { createRuntime, type Duration, type Runtime, tool } from 'pawl'

export type Order =
  | { readonly do: 'open'; readonly store: string; readonly secret?: string; readonly lease?: Duration }
  | { readonly do: 'run'; readonly ids: readonly string[]; readonly bytes?: number }
  | { readonly do: 'read'; readonly ids: readonly string[] }
  | { readonly do: 'doctor' }
  | { readonly do: 'close' }

export interface Told {
  readonly code?: string
  readonly message?: string
  readonly outcomes?: readonly { id: string; status: string; attempts: number }[]
  readonly findings?: readonly string[]
}

let runtime: Runtime | undefined
const logged: string[] = []
const log = (message: string): void => void logged.push(message)
const logger = { debug: log, info: log, warn: log, error: log }

const works = tool({
  name: 'works',
  description: 'Records what it was given, in a step',
  input: { type: 'object', properties: { text: { type: 'string' } } },
  onCrash: 'rerun',
  concurrency: 'parallel',
  execute: ({ text }, ctx) => ctx.step('s', () => text as string),
})

async function obey(order: Order): Promise<Told> {
  switch (order.do) {
    case 'open': {
      const { store, secret, lease = '2s' } = order
      runtime = await createRuntime({ store, tools: [works], logger, lease, ...(secret ? { keys: { secret } } : {}) })
      return {}
    }
    case 'run': {
      const text = 'x'.repeat(order.bytes ?? 10)
      const outcomes = await (runtime as Runtime)
        .session('s')
        .run(order.ids.map((id) => ({ id, name: 'works', input: { text } })))
      return { outcomes: outcomes.map(({ callId, status, attempts }) => ({ id: callId, status, attempts })) }
    }
    case 'read': {
      const outcomes = []
      for (const id of order.ids) {
        const call = await (runtime as Runtime).session('s').calls.get(id)
        if (call?.outcome) outcomes.push({ id, status: call.outcome.status, attempts: call.attempts })
      }
      return { outcomes }
    }
    case 'doctor':
      return { findings: (await (runtime as Runtime).health()).findings.map(({ kind, says }) => `${kind}: ${says}`) }
    case 'close':
      await runtime?.close({ grace: 0 })
      return {}
  }
}

process.on('message', (order: Order) => {
  obey(order).then(
    (told) => process.send?.(told),
    (error: Error & { code?: string }) =>
      process.send?.({ code: error.code ?? error.name, message: error.message } satisfies Told),
  )
})
process.on('disconnect', () => process.exit())
process.send?.({})
