// Turns the input of a method into an HTTP request: fields of the path, query parameters or a body. Used by
// build-client.ts.

import { endpoints, type OperationName } from '../server/endpoints.ts'
import { PawlHttpError } from './http-error.ts'

/** A row of the route table in parts. */
export interface Endpoint {
  readonly name: OperationName
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly segments: readonly string[]
}

export interface BuiltRequest {
  readonly endpoint: Endpoint
  /** Encoded path with a leading slash. */
  readonly path: string
  /** Encoded query without the question mark. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

export type Fields = Readonly<Record<string, unknown>>

export const endpointList: readonly Endpoint[] = Object.entries(endpoints).map(([name, text]) => {
  const [method, path] = text.split(' ') as [Endpoint['method'], string]
  return { name: name as OperationName, method, segments: path.slice(1).split('/') }
})

const invalid = (message: string): PawlHttpError =>
  new PawlHttpError(`${message} Nothing was sent.`, { code: 'request_invalid' })

export function buildRequest(endpoint: Endpoint, input: unknown): BuiltRequest {
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input)))
    throw invalid(`The input of \`${endpoint.name}\` must be an object.`)
  const fields: Record<string, unknown> = { ...input }
  const path = buildPath(endpoint, fields)
  if (endpoint.name === 'files.write') return { endpoint, path, ...buildUpload(endpoint.name, fields) }
  if (endpoint.method === 'GET' || endpoint.method === 'DELETE')
    return { endpoint, path, query: buildQuery(endpoint.name, fields), headers: {} }
  const headers = { 'content-type': 'application/json' }
  return { endpoint, path, query: '', headers, body: toJson(endpoint.name, fields) }
}

/** Takes the fields that the path names out of `fields`. */
function buildPath({ name, segments }: Endpoint, fields: Record<string, unknown>): string {
  const parts = segments.map((segment) => {
    if (!/^[:*]/.test(segment)) return segment
    const field = segment.slice(1)
    const value = fields[field]
    delete fields[field]
    if (typeof value !== 'string' || value === '')
      throw invalid(`\`${field}\` of \`${name}\` must be a non-empty string.`)
    return segment.startsWith(':') ? encodeSegment(name, field, value) : encodePath(name, field, value)
  })
  return `/${parts.join('/')}`
}

/** A slash stays a separator. Empty segments and '.' mean the same folder, and URL parsers treat them differently. */
function encodePath(name: string, field: string, value: string): string {
  const segments = value.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.length === 0) throw invalid(`\`${field}\` of \`${name}\` names no file.`)
  return segments.map((segment) => encodeSegment(name, field, segment)).join('/')
}

/** Every URL parser resolves '.' and '..', even if they are encoded, so a request would go to another path. */
function encodeSegment(name: string, field: string, value: string): string {
  if (value === '.' || value === '..')
    throw invalid(`\`${field}\` of \`${name}\` must not contain the segment '${value}'.`)
  if (!value.isWellFormed()) throw invalid(`\`${field}\` of \`${name}\` contains half of a surrogate pair.`)
  return encodeURIComponent(value)
}

/** Null and undefined are left out. */
function buildQuery(name: string, fields: Fields): string {
  const query = new URLSearchParams()
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw invalid(`\`${field}\` of \`${name}\` must be a string, a number or a boolean: it is in the query.`)
    query.set(field, String(value))
  }
  return query.toString()
}

/** `ifHash: null` means that the file must not exist. A query has no null, so a header says it. */
function buildUpload(
  name: string,
  { body, mediaType, ifHash, ...fields }: Fields,
): Omit<BuiltRequest, 'endpoint' | 'path'> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw invalid(`\`body\` of \`${name}\` must be a string or a Uint8Array.`)
  if (mediaType !== undefined && (typeof mediaType !== 'string' || !isHeaderValue(mediaType)))
    throw invalid(`\`mediaType\` of \`${name}\` must be a media type, such as 'text/plain'.`)
  return {
    query: buildQuery(name, { ...fields, mediaType, ifHash }),
    headers: {
      ...(mediaType === undefined ? {} : { 'content-type': mediaType }),
      ...(ifHash === null ? { 'if-none-match': '*' } : {}),
    },
    body: (typeof body === 'string' ? new TextEncoder().encode(body) : body) as Uint8Array<ArrayBuffer>,
  }
}

export const isHeaderValue = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)

/** JSON.stringify would change these values without a word: NaN to null, a Map to {}. */
function refuseLossy(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is not a JSON number`)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`a ${typeof value} is not JSON`)
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw new TypeError(`a ${value.constructor.name} is not JSON`)
  return value
}

function toJson(name: string, fields: Fields): string {
  try {
    return JSON.stringify(fields, refuseLossy)
  } catch (error) {
    throw invalid(`The input of \`${name}\` is not JSON: ${error instanceof Error ? error.message : String(error)}.`)
  }
}
