// Tools shared by the adapter tests, and a fake session that knows tools and attachments.

import {
  type Attachment,
  type CallAsk,
  createRuntime,
  fail,
  type RunOptions,
  type Session,
  type Tool,
  tool,
} from 'pawl'
import { z } from 'zod'

export const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])

export function shop() {
  const ran: string[] = []
  const empty = z.object({})
  const tools: Tool[] = [
    tool({
      name: 'add',
      description: 'Adds',
      input: z.object({ a: z.number(), b: z.number().optional() }),
      hints: { readOnly: true },
      execute({ a, b }) {
        ran.push(`add ${a}`)
        return { sum: a + (b ?? 0) }
      },
    }),
    tool({
      name: 'slow',
      description: 'Answers last',
      input: empty,
      hints: { readOnly: true },
      async execute() {
        ran.push('slow')
        await new Promise((resolve) => setImmediate(resolve))
        return 'at last'
      },
    }),
    tool({
      name: 'broke',
      description: 'Fails',
      input: empty,
      hints: { readOnly: true },
      execute(_, ctx) {
        ran.push('broke')
        const shot = ctx.attachments.create(png, { mediaType: 'image/png', name: 'shot.png' })
        throw fail('No such "order"\n', { code: 'not_found', raw: [shot] as never })
      },
    }),
    tool({
      name: 'draw',
      description: 'Draws',
      input: empty,
      hints: { readOnly: true },
      execute: (_, ctx) => ({
        image: ctx.attachments.create(png, { mediaType: 'image/png', name: 'shot.png' }),
        paper: ctx.attachments.create(pdf, { mediaType: 'application/pdf' }),
        table: ctx.attachments.create('a,b', { mediaType: 'text/csv', name: 't.csv' }),
      }),
    }),
    tool({ name: 'quiet', description: 'Says nothing', input: empty, hints: { readOnly: true }, execute: () => '' }),
  ]
  return { tools, ran }
}

export const pdf = Uint8Array.from(Buffer.from('%PDF-1.7'))
export const readFiles = { read: async ({ ref }: Attachment) => (ref.mediaType === 'application/pdf' ? pdf : png) }
export const readNothing = { read: () => Promise.reject(new Error('gone')) }

/** A session that records the calls it was given. */
export async function watched(tools: readonly Tool[], store = 'memory:', id = 's') {
  const runtime = await createRuntime({ store, tools, logger: silent })
  const session = runtime.session(id)
  const asked: { batch: string | undefined; calls: readonly CallAsk[]; signal: AbortSignal | undefined }[] = []
  const watching = {
    id: session.id,
    tenant: session.tenant,
    tools,
    run(calls: readonly CallAsk[], options: RunOptions & { signal?: AbortSignal } = {}) {
      asked.push({ batch: options.batch, calls, signal: options.signal })
      return session.run(calls, options)
    },
  } satisfies Pick<Session, 'id' | 'tenant' | 'tools'> & { run: unknown }
  return { session: watching, asked, runtime }
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
