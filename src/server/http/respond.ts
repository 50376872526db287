// Turns the result of an operation into a response.

import { encode } from '../../core/tool-value.ts'
import type { OperationName } from '../endpoints.ts'
import type { Download } from '../operations/context.ts'
import { problem, type Problem } from './problem.ts'
import type { Reply } from './reply.ts'

/** The problem for an answer that means "not done". The answer itself is in the member `answer`. */
function refusalOf(answer: Readonly<Record<string, unknown>>): Problem | null {
  const facts = { answer }
  if (answer.accepted === false) return problem('request_conflict', String(answer.why), { facts })
  switch (answer.answer) {
    case 'already_decided':
      return problem('request_conflict', 'Another decision came first. Nothing was changed.', { facts })
    case 'already_resolved':
      return problem('request_conflict', 'The wait was answered before. Nothing was changed.', { facts })
    case 'refused':
      return answer.why === 'fingerprint_mismatch'
        ? problem('precondition_failed', undefined, { facts })
        : problem('forbidden', String(answer.message), { facts })
    case 'unknown':
      return problem('not_found', 'There is no such open inbox item.', { facts })
    case 'unknown_or_revoked':
      return problem('not_found', 'No open wait has this key.', { facts })
    case 'invalid':
      return problem('request_invalid', (answer.problems as readonly string[]).join(' '), { facts })
    default:
      return null
  }
}

/** The id or idempotency key belongs to another call. No call ran, so this is no outcome of one. */
function conflictOf(answer: Readonly<Record<string, unknown>>): Problem | null {
  const { code, message } = (answer.failure ?? {}) as { code?: unknown; message?: unknown }
  return code === 'call_conflict' ? problem('request_conflict', String(message), { facts: { answer } }) : null
}

/** Operations whose result is an answer that may be a refusal. */
const answering: ReadonlySet<OperationName> = new Set<OperationName>([
  'inbox.decide',
  'waits.resolve',
  'clientCalls.answer',
  'tasks.signal',
])

/** 202: accepted, and not finished. */
const isOpen = (result: object): boolean =>
  'status' in result && (result.status === 'waiting' || result.status === 'running' || result.status === 'open')

export function jsonReply(name: OperationName, result: unknown): Reply | Problem {
  const value = result as Readonly<Record<string, unknown>>
  const refusal = answering.has(name) ? refusalOf(value) : name === 'calls.run' ? conflictOf(value) : null
  if (refusal) return refusal
  const etag = name === 'inbox.get' ? { etag: `"${String(value.fingerprint)}"` } : {}
  const status = typeof result === 'object' && result !== null && isOpen(result) && name !== 'turns.get' ? 202 : 200
  return { status, headers: { 'content-type': 'application/json', ...etag }, body: encode(result) }
}

/** For `filename*` (RFC 5987): everything but letters, digits and a few marks is encoded. */
const encodeFileName = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(/['()*!]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)

/** Always as an attachment: a browser must never run what a tool or a model wrote. */
export function downloadResponse({ mediaType, name, etag, body }: Download): Response {
  const headers = {
    'content-type': /^[\w.+-]+\/[\w.+-]+(;\s*charset=[\w-]+)?$/.test(mediaType)
      ? mediaType
      : 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encodeFileName(name)}`,
    'content-security-policy': "sandbox; default-src 'none'",
    ...(etag === undefined ? {} : { etag: `"${etag}"` }),
  }
  return new Response(typeof body === 'string' || body instanceof Uint8Array ? (body as string) : toStream(body), {
    headers,
  })
}

function toStream(lines: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = lines[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
