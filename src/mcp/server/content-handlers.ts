// Resources and prompts, passed through from a ContentSource.

import {
  type CompleteResult,
  type GetPromptResult,
  ProtocolError,
  type ReadResourceResult,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { ContentSource } from '../content-source.ts'
import { escapeLine } from './escape-text.ts'
import { invalidParams } from './tool-list.ts'

type Answer = <T>(ctx: ServerContext, work: () => Promise<T>) => Promise<T>

const maxMessage = 1_000

/** A JSON-RPC error of the source, such as one of a server behind the gateway, is the client's answer. */
async function fromSource<T>(work: Promise<T>, data?: object): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
    if (!Number.isSafeInteger(code) || typeof message !== 'string') throw error
    throw new ProtocolError(code as number, escapeLine(message.slice(0, maxMessage)), data)
  }
}

const pageSize = 500

/** The cursor is the number of items before the page. */
function pageOf<T>(all: readonly T[], cursor: string | undefined): { page: T[]; next: { nextCursor?: string } } {
  const from = cursor === undefined ? 0 : Number(cursor)
  if (!Number.isSafeInteger(from) || from < 0 || from > all.length)
    throw new ProtocolError(invalidParams, 'The cursor is invalid. Use `nextCursor` of the previous page.')
  const end = from + pageSize
  return { page: all.slice(from, end), next: end < all.length ? { nextCursor: String(end) } : {} }
}

export function addContentHandlers(server: Server, content: ContentSource, answered: Answer): void {
  const answer: Answer = (ctx, work) => answered(ctx, () => fromSource(work()))
  if (content.complete)
    server.setRequestHandler('completion/complete', ({ params: { ref, argument, context } }, ctx) =>
      answer(ctx, async () => {
        const params = { ref, argument, ...(context === undefined ? {} : { context }) }
        return (await content.complete?.(params, ctx.mcpReq.signal)) as CompleteResult
      }),
    )
  server.setRequestHandler('resources/list', ({ params }, ctx) =>
    answer(ctx, async () => {
      const { page, next } = pageOf(await content.listResources(), params?.cursor)
      return { resources: page, ...next }
    }),
  )
  server.setRequestHandler('resources/templates/list', ({ params }, ctx) =>
    answer(ctx, async () => {
      const { page, next } = pageOf(await content.listResourceTemplates(), params?.cursor)
      return { resourceTemplates: page, ...next }
    }),
  )
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    answered(ctx, () => {
      const read = content.readResource(params.uri, ctx.mcpReq.signal) as Promise<ReadResourceResult>
      return fromSource(read, { uri: params.uri })
    }),
  )
  server.setRequestHandler('prompts/list', ({ params }, ctx) =>
    answer(ctx, async () => {
      const { page, next } = pageOf(await content.listPrompts(), params?.cursor)
      return { prompts: page, ...next }
    }),
  )
  server.setRequestHandler('prompts/get', ({ params }, ctx) =>
    answer(
      ctx,
      async () => (await content.getPrompt(params.name, params.arguments ?? {}, ctx.mcpReq.signal)) as GetPromptResult,
    ),
  )
}
