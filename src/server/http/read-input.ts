// Builds and validates the input of an operation from path, query, headers and body.

import type { z } from 'zod'
import type { Route } from '../routes/route.ts'
import type { RouteMatch } from './match-route.ts'
import { problem, type Problem } from './problem.ts'
import { isProblem, readBytes, readJsonObject } from './read-body.ts'

type Fields = Record<string, unknown>

export interface BodyLimits {
  /** Limit of JSON bodies, in bytes. */
  readonly json: number
  /** Limit of uploaded files, in bytes. */
  readonly upload: number
}

/** Fields that come from the token. A request that names them is refused, so that no client relies on them. */
const fromToken = new Set(['tenant', 'by', 'principal', 'door'])

/** The validated input; for uploads with the bytes in `body`. */
export async function readInput(
  request: Request,
  url: URL,
  { params }: RouteMatch,
  route: Route,
  limits: BodyLimits,
): Promise<{ readonly input: Fields } | Problem> {
  const hasJsonBody = (request.method === 'POST' || request.method === 'PUT') && route.kind !== 'upload'
  const query = readQuery(url)
  if (isProblem(query)) return query
  if (hasJsonBody && Object.keys(query).length > 0)
    return problem('request_invalid', 'Send the fields in the JSON body, not in the query. Nothing was done.')
  const given = hasJsonBody ? await readJsonObject(request, limits.json) : query
  if (isProblem(given)) return given
  const twice = Object.keys(params).find((name) => Object.hasOwn(given, name))
  if (twice !== undefined) return problem('request_invalid', `\`${twice}\` is in the path; leave it out of the body.`)
  const fields: Fields = { ...given, ...params }
  const refused = readHeaders(request, route, fields)
  if (refused) return refused
  const parsed = route.input.safeParse(fields)
  if (!parsed.success) return invalidFields(parsed.error)
  const input = parsed.data as Fields
  if (route.kind !== 'upload') return { input }
  const body = await readBytes(request, limits.upload)
  if (isProblem(body)) return body
  return { input: { ...input, body } }
}

/** Query parameters by name, without `tenant`, which selects the tenant of a token for all tenants. */
function readQuery(url: URL): Fields | Problem {
  const fields: Fields = {}
  for (const [name, value] of url.searchParams) {
    if (name === 'tenant') continue
    if (Object.hasOwn(fields, name)) return problem('request_invalid', `The query has \`${name.slice(0, 80)}\` twice.`)
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return fields
}

/** `"sha256:…"` or a bare value. */
const unquoted = (etag: string): string => etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1')

/** Headers that stand for fields. Returns a problem if a header contradicts a field. */
function readHeaders({ headers }: Request, { idempotencyField }: Route, fields: Fields): Problem | null {
  const set = (name: string, header: string, value: string | null): Problem | null => {
    if (Object.hasOwn(fields, name) && fields[name] !== value)
      return problem('request_invalid', `\`${name}\` and the header \`${header}\` differ; send one of them.`)
    fields[name] = value
    return null
  }
  const key = headers.get('idempotency-key')
  if (key !== null && idempotencyField !== undefined) {
    const refused = set(idempotencyField, 'Idempotency-Key', key)
    if (refused) return refused
  }
  return readPreconditions(headers, fields, set)
}

function readPreconditions(
  headers: Headers,
  fields: Fields,
  set: (name: string, header: string, value: string | null) => Problem | null,
): Problem | null {
  const match = headers.get('if-match')
  const isDecision = Object.hasOwn(fields, 'item')
  const isFile = Object.hasOwn(fields, 'path')
  if (match !== null && isDecision) return set('fingerprint', 'If-Match', unquoted(match))
  if (match !== null && isFile) return set('ifHash', 'If-Match', unquoted(match))
  if (headers.get('if-none-match') === '*' && isFile) return set('ifHash', 'If-None-Match', null)
  return null
}

const maxProblems = 20

function invalidFields(error: z.ZodError): Problem {
  const problems = error.issues.slice(0, maxProblems).map((issue) => {
    const path = issue.path.map(String).join('.').slice(0, 200)
    if (issue.code !== 'unrecognized_keys') return { path, message: issue.message.slice(0, 300) }
    const names = issue.keys.map((name) => `\`${name.slice(0, 80)}\``).join(', ')
    const reason = issue.keys.some((name) => fromToken.has(name)) ? 'it is taken from the token' : 'unknown field'
    return { path, message: `${names}: ${reason}` }
  })
  const [first] = problems
  const where = first === undefined || first.path === '' ? '' : `\`${first.path}\`: `
  const detail = `${where}${first?.message ?? 'The request is malformed'}. Nothing was done.`
  return problem('request_invalid', detail, { facts: { problems } })
}
