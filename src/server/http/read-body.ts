// Reads the body of a request with a limit, and parses JSON from strangers.

import { problem, type Problem } from './problem.ts'

export const isProblem = (value: object): value is Problem => 'detail' in value && 'code' in value && 'status' in value

/** JSON that is nested deeper makes code that walks it overflow the stack. */
const maxDepth = 100

export async function readBytes(request: Request, limit: number): Promise<Uint8Array | Problem> {
  const tooLarge = (): Problem => problem('request_too_large', `The limit is ${limit} bytes.`)
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > limit) return tooLarge()
  if (request.headers.has('content-length') && !request.headers.has('transfer-encoding')) {
    // The HTTP server reads no more than the declared length. Looking at `body` would make it a stream first.
    const bytes = new Uint8Array(await request.arrayBuffer())
    return bytes.byteLength > limit ? tooLarge() : bytes
  }
  if (!request.body) return new Uint8Array()
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.byteLength
    if (size > limit) return tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A JSON object; an empty body is an empty object. */
export async function readJsonObject(request: Request, limit: number): Promise<Record<string, unknown> | Problem> {
  const bytes = await readBytes(request, limit)
  if (isProblem(bytes)) return bytes
  if (bytes.byteLength === 0) return {}
  const type = request.headers.get('content-type') ?? ''
  // Pages of other origins can send forms and plain text without asking, but not JSON.
  if (!/^application\/json\s*(;|$)/i.test(type)) return problem('media_type_unsupported')
  return parseJsonObject(bytes)
}

function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | Problem {
  try {
    const text = decoder.decode(bytes)
    if (depthOf(text) > maxDepth)
      return problem('request_invalid', `The body is nested deeper than ${maxDepth} levels.`)
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    return problem('request_invalid', 'The body must be a JSON object.')
  } catch (error) {
    // The messages of JSON.parse repeat parts of the body.
    const cause = error instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body is not valid UTF-8.'
    return problem('request_invalid', cause)
  }
}

/** Depth of nesting, without parsing: quotes are skipped with their escapes. */
export function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++
    } else if (code === 0x7b || code === 0x5b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}
