// Draws requests from the route table: valid ones, ones with mutated fields, and hostile ones. The same seed draws the
// same requests. Used by the fuzz tests of the server.

import type { OperationName } from '../../../src/server/endpoints.ts'
import { endpoints } from '../../../src/server/endpoints.ts'
import { type Fields, requestFor, samples } from '../../kit/server/sample-inputs.ts'
import { missingData, type TenantData } from '../../kit/server/tenant-data.ts'

type Random = () => number

export interface FuzzedRequest {
  readonly operation: OperationName | 'page'
  readonly request: Request
}

/** Fields of every operation about objects of one tenant, and about objects that do not exist. */
export type FieldPool = ReadonlyMap<OperationName, readonly Fields[]>

export const operationNames = Object.keys(endpoints) as OperationName[]

export async function fieldPool(data: TenantData): Promise<FieldPool> {
  const pool = new Map<OperationName, Fields[]>()
  for (const name of operationNames) {
    const each = [await samples[name].fields(data), await samples[name].fields(missingData(data))]
    pool.set(name, each)
  }
  return pool
}

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { a: value }
  return value
}

/** Values that break code which trusts its input. Texts of JSON, so that numbers and keys arrive as they are written. */
const hostileJson: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1e308',
  '1e999',
  '-1e999',
  '9007199254740993',
  '0.1',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u202e\\u2066"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"../../etc/passwd"',
  '"..\\\\..\\\\x"',
  '"/"',
  '"."',
  '".."',
  '"a/../../b"',
  '"%2e%2e%2f"',
  '"\'; DROP TABLE calls; --"',
  '"%"',
  '"_"',
  '"*"',
  '"**/**/**/**/*"',
  '"[[[[[[[[[["',
  '"{a,{b,{c,{d,e}}}}"',
  '"now"',
  '"p0"',
  '"p999999999999999999999"',
  '"-1"',
  '"1e3"',
  '"0x10"',
  '"99999999999999999999"',
  '"10m"',
  '"99999999999d"',
  '"pawl:approval:1"',
  '"pawl:"',
  '"secret:api"',
  '"{\\"$pawl\\":\\"attachment\\"}"',
  '[]',
  '{}',
  '[[[]]]',
  '[null]',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"valueOf":1,"hasOwnProperty":1}',
  '{"then":1}',
  '{"$pawl":"attachment","ref":{"id":"x","mediaType":"y","bytes":1}}',
  '{"$pawl":"date"}',
  '{"$pawl":"unknown thing"}',
  '{"$ref":"#"}',
  '{"type":"object","properties":{"a":{"$ref":"#/nope"}}}',
  '{"toJSON":1}',
  JSON.stringify('x'.repeat(513)),
  JSON.stringify('x'.repeat(5_000)),
  JSON.stringify('x'.repeat(200_000)),
  JSON.stringify('😀'.repeat(257)),
  JSON.stringify(Array.from({ length: 2_000 }, (_, n) => n)),
  JSON.stringify(nested(90)),
  JSON.stringify(nested(101)),
  JSON.stringify(nested(3_000)),
]

const extraFields = [
  'by',
  'tenant',
  'principal',
  'door',
  '__proto__',
  'constructor',
  'prototype',
  'session',
  'limit',
  'after',
  'until',
  'id',
  'toString',
  '',
  'x'.repeat(600),
]
const oddMethods = ['PATCH', 'OPTIONS', 'HEAD', 'PROPFIND', 'DELETE', 'PUT', 'POST', 'GET', 'QUERY', 'get', 'LOCK']
const oddTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
  'application/json; charset=utf-16',
  'APPLICATION/JSON',
  'application/json;',
  '',
  '*/*',
]
const oddHeaders: readonly (readonly [string, readonly string[]])[] = [
  ['if-match', ['*', '""', '"', 'W/"x"', 'sha256:0', '"a", "b"', 'x'.repeat(2_000), '\u00e9']],
  ['if-none-match', ['*', '"x"']],
  ['idempotency-key', ['', ' ', 'x', 'x'.repeat(513), 'x'.repeat(6_000), '\u00e9', '__proto__']],
  ['last-event-id', ['', 'now', 'p1', 'p-1', 'p1e', 'p9999999999999999', '{}', 'x'.repeat(3_000), '__proto__']],
  ['content-length', ['0', '-1', '99999999999', 'abc', '1e3']],
  ['transfer-encoding', ['chunked', 'gzip']],
  ['content-encoding', ['gzip', 'br', 'identity']],
  ['accept', ['text/html', 'text/event-stream', '*/*;q=0']],
  ['x-forwarded-for', ['1.2.3.4', '::1']],
  ['x-http-method-override', ['DELETE']],
  ['x-tenant', ['rival']],
  ['cookie', ['pawl_token=x', 'pawl_token=', '__proto__=x; pawl_token', ';;;=;']],
  ['range', ['bytes=0-1', 'bytes=-1']],
  ['expect', ['100-continue']],
]
const pages = [
  '/',
  '/docs',
  '/openapi.json',
  '/healthz',
  '/readyz',
  '/metrics',
  '/login',
  '/login?code=x',
  '/logout',
  '/decide/',
  '/decide/x.y',
  '/decide/%00',
  '/v1',
  '/v1/',
  '/v2/tools',
  '/v1/sessions/%',
  '/v1/sessions/%ff/calls',
  '/v1/sessions/%00/calls',
  '/v1/sessions//calls',
  '/v1/sessions/a%2fb/calls',
  '/v1/sessions/%2e%2e/files/%2e%2e/x',
  '/v1/sessions/a/files/',
  '/v1/sessions/a/files//',
  '/v1/sessions/a/files/%ud800',
  '/__proto__',
  '/constructor',
  '/v1/toString',
  '//v1/me',
  '/v1/me/',
  '/v1/me?tenant=',
  '/v1/me?tenant=rival',
  '/v1/me?tenant=%00',
  '/v1/me?tenant=__proto__',
  '/v1/me?tenant=a&tenant=b',
  `/${'a/'.repeat(2_000)}`,
  `/v1/sessions/${'x'.repeat(8_000)}`,
  `/v1/tools?${'a=1&'.repeat(2_000)}`,
]

export class HttpFuzzer {
  readonly #random: Random
  readonly #pools: readonly FieldPool[]

  constructor(random: Random, pools: readonly FieldPool[]) {
    this.#random = random
    this.#pools = pools
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T
  }

  /** `of`: only these operations. */
  next(authorization: string | undefined, signal: AbortSignal, of: readonly OperationName[] = operationNames) {
    const headers = new Headers(authorization === undefined ? {} : { authorization })
    if (this.#random() < 0.05) return this.#page(headers, signal)
    const operation = this.#pick(of)
    const [real, missing] = this.#pick(this.#pools).get(operation) as readonly Fields[]
    const fields = { ...(missing === undefined || this.#random() < 0.7 ? real : missing) }
    // A request that waits would only make the test slow.
    if (operation === 'turns.start' && 'until' in fields) fields.until = 'accepted'
    const kind = this.#random()
    const shaped = kind < 0.4 ? this.#valid(operation, fields) : this.#mutated(operation, fields, kind > 0.75)
    const [url, init] = shaped
    for (const [name, value] of Object.entries(init.headers ?? {})) headers.set(name, value as string)
    return { operation, request: this.#build(url, { ...init, headers, signal }) } satisfies FuzzedRequest
  }

  #build(url: string, init: RequestInit): Request {
    try {
      return new Request(url, init)
    } catch {
      // Fetch itself refuses some methods, header values and addresses.
      return new Request('http://localhost/v1/me', { headers: init.headers ?? {}, signal: init.signal ?? null })
    }
  }

  #page(headers: Headers, signal: AbortSignal): FuzzedRequest {
    const method = this.#random() < 0.7 ? 'GET' : this.#pick(oddMethods)
    return {
      operation: 'page',
      request: this.#build(`http://localhost${this.#pick(pages)}`, { method, headers, signal }),
    }
  }

  #valid(operation: OperationName, fields: Fields): [string, RequestInit & { headers?: Record<string, string> }] {
    const { url, method } = requestFor(operation, fields)
    const hasBody = method === 'POST' || method === 'PUT'
    const path = endpoints[operation].split(' ')[1] as string
    const rest = Object.entries(fields).filter(([name]) => !new RegExp(`[:*]${name}(/|$)`).test(path))
    if (!hasBody) return [url, { method }]
    return [
      url,
      { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(Object.fromEntries(rest)) },
    ]
  }

  #mutated(
    operation: OperationName,
    fields: Fields,
    hostile: boolean,
  ): [string, RequestInit & { headers?: Record<string, string> }] {
    const [method, path] = endpoints[operation].split(' ') as [string, string]
    const rest = new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
    for (let n = this.#below(3) + (hostile ? 0 : 1); n > 0; n--) this.#mutate(rest, operation)
    let filled = path.replaceAll(/[:*](\w+)/g, (_, name: string) => {
      const json = rest.get(name) ?? '"x"'
      rest.delete(name)
      return this.#segment(json)
    })
    const hasBody = method === 'POST' || method === 'PUT'
    const query = new URLSearchParams()
    if (!hasBody) for (const [name, json] of rest) query.append(name, this.#textOf(json).toWellFormed())
    if (hostile && this.#random() < 0.2) query.append(this.#pick(extraFields), '1')
    if (hostile && query.size > 0 && this.#random() < 0.3) query.append([...query.keys()][0] as string, 'again')
    if (hostile && this.#random() < 0.1)
      filled = filled.replace('/v1/', this.#pick(['/v1//', '/V1/', '/v1/./', '/v1%2f']))
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (hostile)
      for (let n = this.#below(3); n > 0; n--) {
        const [name, values] = this.#pick(oddHeaders)
        headers[name] = this.#pick(values)
      }
    if (hostile && this.#random() < 0.15) headers['content-type'] = this.#pick(oddTypes)
    const url = `http://localhost${filled}${query.size > 0 ? `?${query}` : ''}`
    const used = hostile && this.#random() < 0.1 ? this.#pick(oddMethods) : method
    const mayHaveBody = used !== 'GET' && used !== 'HEAD' && used !== 'get'
    const body = hasBody && mayHaveBody ? this.#body(rest, hostile) : null
    return [url, { method: used, headers, body }]
  }

  #mutate(rest: Map<string, string>, operation: OperationName): void {
    const names = [...rest.keys()]
    const kind = this.#random()
    if (kind < 0.5 && names.length > 0) rest.set(this.#pick(names), this.#pick(hostileJson))
    else if (kind < 0.6 && names.length > 0) rest.delete(this.#pick(names))
    else if (kind < 0.8) rest.set(this.#pick(extraFields), this.#pick(hostileJson))
    else {
      // A field of another operation, or of this one that the sample leaves out.
      const other = this.#pick(this.#pools).get(this.#random() < 0.5 ? operation : this.#pick(operationNames))
      for (const [name, value] of Object.entries(other?.[0] ?? {})) rest.set(name, JSON.stringify(value))
    }
  }

  #textOf(json: string): string {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : json.slice(0, 4_000)
  }

  #segment(json: string): string {
    const text = this.#textOf(json).slice(0, 4_000)
    const kind = this.#random()
    if (kind < 0.05) return text.toWellFormed().replaceAll(/[?#]/g, '')
    if (kind < 0.08) return '%'
    if (kind < 0.1) return '%c0%ae'
    return encodeURIComponent(text.toWellFormed())
  }

  #body(rest: Map<string, string>, hostile: boolean): string | Uint8Array<ArrayBuffer> {
    const text = `{${[...rest].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
    if (!hostile) return text
    const kind = this.#random()
    if (kind < 0.1) return text.slice(0, this.#below(text.length))
    if (kind < 0.15) return new Uint8Array([0xff, 0xfe, 0x7b, 0x7d])
    if (kind < 0.2) return `\ufeff${text}`
    if (kind < 0.25) return this.#pick(hostileJson)
    if (kind < 0.3) return `{"a":${'['.repeat(20_000)}`
    if (kind < 0.33) return ''
    if (kind < 0.36) return text.replace('{', '{"session":"twice","session":"twice",')
    return text
  }
}
