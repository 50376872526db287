// The requests that methods of the client send: path, query, headers and body.

import { createClient, PawlHttpError } from 'pawl/client'
import { describe, expect, test } from 'vitest'
import { idempotencyFields } from '../../src/client/send-request.ts'
import { endpoints, type OperationName } from '../../src/server/endpoints.ts'
import { matchRoute } from '../../src/server/http/match-route.ts'
import { type Route } from '../../src/server/routes/route.ts'
import { routes } from '../../src/server/routes/routes.ts'
import { fc } from '../kit/seeded-fast-check.ts'
import { failure, fakeServer, json, secretToken } from './fake-server.ts'

type AnyMethod = (input?: object, options?: object) => Promise<unknown>
const methodOf = (client: object, name: string): AnyMethod => {
  const [group, method] = name.split('.') as [string, string]
  return (client as Record<string, Record<string, AnyMethod>>)[group]?.[method] as AnyMethod
}

const table = Object.entries(routes) as [OperationName, Route][]
const parametersOf = (name: OperationName): string[] =>
  [...endpoints[name].matchAll(/[:*](\w+)/g)].map(([, field]) => field as string)
const example = (name: OperationName): Record<string, string> =>
  Object.fromEntries(parametersOf(name).map((field) => [field, `a ${field}`]))

describe('methods', () => {
  test('DOOR-1: the client has exactly the operations of the route table', () => {
    const { client } = fakeServer(() => json(null))
    const names = Object.entries(client).flatMap(([group, methods]) => Object.keys(methods).map((m) => `${group}.${m}`))
    expect(names.toSorted()).toEqual(Object.keys(endpoints).toSorted())
  })

  test('DOOR-1: names that do not exist are undefined, and a client can be awaited', async () => {
    const { client } = fakeServer(() => json(null))
    const loose = client as unknown as Record<string, unknown> & { tools: Record<string, unknown> }
    expect([loose.then, loose.nothing, loose.tools.then, loose.tools.nothing]).toEqual(Array.from({ length: 4 }))
    expect(await Promise.resolve(client)).toBe(client)
    expect(Object.isFrozen(client) && Object.isFrozen(client.tools)).toBe(true)
  })

  test.for(table.filter(([, { kind }]) => kind !== 'events'))(
    'DOOR-1: %s sends its method and path and returns the right kind of result',
    async ([name, { kind }]) => {
      const { client, sent } = fakeServer(() => json({ fine: true }))
      const input = { ...example(name), ...(kind === 'upload' ? { body: 'text' } : {}) }
      const result = await methodOf(client, name)(input)
      const [{ method, url, headers } = expect.unreachable()] = sent
      expect(matchRoute(method, url.pathname.replace('/base', ''))).toEqual({ name, params: example(name) })
      expect(headers.get('authorization')).toBe(`Bearer ${secretToken}`)
      if (kind === 'chat' || kind === 'download') expect(result).toBeInstanceOf(Response)
      else expect(result).toEqual({ fine: true })
    },
  )

  test('DOOR-1: POST requests with an idempotency key are those of the route table', () => {
    const fields = table.flatMap(([name, { idempotencyField }]) => (idempotencyField ? [[name, idempotencyField]] : []))
    expect(idempotencyFields).toEqual(Object.fromEntries(fields))
  })
})

describe('paths', () => {
  const segment = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text !== '.' && text !== '..')

  test('DOOR-1: the server reads from the path exactly what the client was given', async () => {
    const { client, sent } = fakeServer(() => json(null))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...table),
        fc.array(segment, { minLength: 3, maxLength: 3 }),
        async (row, texts) => {
          const [name, { kind }] = row
          if (kind === 'events') return
          const params = Object.fromEntries(parametersOf(name).map((field, at) => [field, texts[at] as string]))
          if (params.path !== undefined) params.path = params.path.replaceAll(/^[/.]+|[/.]+$|[/.]{2,}/g, '_')
          await methodOf(client, name)({ ...params, ...(kind === 'upload' ? { body: '' } : {}) })
          const { method, url } = sent.at(-1) ?? expect.unreachable()
          expect(matchRoute(method, url.pathname.replace('/base', ''))).toEqual({ name, params })
        },
      ),
      { numRuns: 500 },
    )
  })

  test('DOOR-1: the path of a file keeps its slashes', async () => {
    const { client, sent } = fakeServer(() => json(null))
    for (const path of ['a/b c.md', '/a/b c.md', './a//b c.md']) await client.files.read({ session: 's/1', path })
    expect(sent.map(({ url }) => url.pathname)).toEqual(Array(3).fill('/base/v1/sessions/s%2F1/files/a/b%20c.md'))
  })

  test.for([
    [{ session: 's', path: '../values/k' }, "must not contain the segment '..'"],
    [{ session: '..', path: 'a' }, "must not contain the segment '..'"],
    [{ session: 's', path: './' }, 'names no file'],
    [{ session: '', path: 'a' }, '`session` of `files.read` must be a non-empty string'],
    [{ path: 'a' }, '`session` of `files.read` must be a non-empty string'],
    [{ session: '\ud800', path: 'a' }, 'half of a surrogate pair'],
    ['s', 'must be an object'],
    [['s'], 'must be an object'],
    [null, 'must be an object'],
  ] as const)('DOOR-1: refuses the input %j without a request', async ([input, words]) => {
    const { client, sent } = fakeServer(() => json(null))
    const error = await failure(methodOf(client, 'files.read')(input as unknown as object))
    expect(error).toBeInstanceOf(PawlHttpError)
    expect(error).toMatchObject({ code: 'request_invalid', status: 0 })
    expect((error as Error).message).toContain(words)
    expect((error as Error).message).toContain('Nothing was sent.')
    expect(sent).toEqual([])
  })
})

describe('query and body', () => {
  test('DOOR-1: fields of GET and DELETE become query parameters, without null and undefined', async () => {
    const { client, sent } = fakeServer(() => json([]), { tenant: 'a & b' })
    const input = { session: 's', glob: '*.md', limit: 5, after: undefined, path: null }
    await methodOf(client, 'files.list')(input)
    await client.files.remove({ session: 's', path: 'a', recursive: true })
    expect(sent.map(({ method, url }) => `${method} ${url.search}`)).toEqual([
      'GET ?glob=*.md&limit=5&tenant=a%20%26%20b',
      'DELETE ?recursive=true&tenant=a%20%26%20b',
    ])
    expect(sent[0]?.body).toBeUndefined()
  })

  test('DOOR-1: an object in a query is refused', async () => {
    const { client } = fakeServer(() => json([]))
    const error = await failure(methodOf(client, 'files.list')({ session: 's', glob: { any: true } }))
    expect((error as Error).message).toContain('`glob` of `files.list` must be a string, a number or a boolean')
  })

  test('DOOR-1: fields of POST and PUT become a JSON body, without those of the path', async () => {
    const { client, sent } = fakeServer(() => json({}), { tenant: 't' })
    await client.values.set({ session: 's', key: 'k/1', value: { deep: [1, null] } })
    await client.calls.run({ session: 's', name: 'echo', input: null })
    expect(sent.map(({ url, body }) => [url.search, JSON.parse(body as string)])).toEqual([
      ['?tenant=t', { value: { deep: [1, null] } }],
      ['?tenant=t', { name: 'echo', input: null }],
    ])
    expect(sent[0]?.headers.get('content-type')).toBe('application/json')
  })

  test.for([Number.NaN, new Map([['a', 1]]), new Uint8Array(2), 5n, () => 1])(
    'DOOR-1: a value that JSON would change is refused: %s',
    async (value) => {
      const { client, sent } = fakeServer(() => json({}))
      const error = await failure(methodOf(client, 'values.set')({ session: 's', key: 'k', value: { in: [value] } }))
      expect((error as Error).message).toMatch(/^The input of `values\.set` is not JSON: /)
      expect(sent).toEqual([])
    },
  )

  test('DOOR-1: files.write sends bytes, and a condition where a query has no word for it', async () => {
    const { client, sent } = fakeServer(() => json({}))
    await client.files.write({ session: 's', path: 'a.bin', body: new Uint8Array([0, 255]), ifHash: 'h1' })
    await client.files.write({ session: 's', path: 'a.txt', body: 'ü', mediaType: 'text/plain', ifHash: null })
    expect(
      sent.map(({ method, url, headers, body }) => [method, url.search, headers.get('if-none-match'), body]),
    ).toEqual([
      ['PUT', '?ifHash=h1', null, new Uint8Array([0, 255])],
      ['PUT', '?mediaType=text%2Fplain', '*', new TextEncoder().encode('ü')],
    ])
    expect(sent.map(({ headers }) => headers.get('content-type'))).toEqual([null, 'text/plain'])
  })

  test('DOOR-1: without a token the request carries the cookie of the page', async () => {
    const { client, sent } = fakeServer(() => json([]), { token: undefined } as object)
    await client.tools.list()
    expect(sent[0]?.init.credentials).toBe('same-origin')
    expect(sent[0]?.headers.has('authorization')).toBe(false)
  })
})

describe('options', () => {
  test.for([
    [{}, '`url` is missing; it must be a string.'],
    [{ url: 'nonsense' }, "`url` must be the address of a server, such as 'http://127.0.0.1:7717'."],
    [{ url: 'ftp://a' }, "`url` must be the address of a server, such as 'http://127.0.0.1:7717'."],
    [{ url: 'http://u:p@a' }, '`url` must not contain a user name or a password. Pass the `token` instead.'],
    [{ url: 'http://a/?token=x' }, '`url` must not contain a query or a fragment.'],
    [
      { url: 'http://a', token: 'two words' },
      '`token` is invalid; it must be a string of ASCII characters without spaces.',
    ],
    [
      { url: 'http://a', headers: { 'x-a': 'new\nline' } },
      '`headers.x-a` is invalid; it must be a string of printable ASCII characters.',
    ],
    [{ url: 'http://a', tokn: 'x' }, '`createClient()` has no option `tokn`; did you mean `token`?'],
    [{ url: 'http://a', retries: 11 }, '`retries` is 11; it must be a whole number from 0 to 10.'],
    [
      { url: 'http://a', timeout: 0 },
      "`timeout` is 0; it must be a duration above zero: milliseconds, or a string like '500ms', '30s', '5m', '2h' or '3d'.",
    ],
  ] as const)('DOOR-1: refuses the options %j', ([options, message]) => {
    expect(() => createClient(options as { url: string })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message }),
    )
  })

  test('DOOR-1: in a browser the address may be relative to the page', async () => {
    const page = globalThis as { location?: unknown }
    page.location = { href: 'https://app.test/desk/page.html' }
    try {
      const { client, sent } = fakeServer(() => json([]), { url: '/' })
      await client.tools.list()
      expect(sent[0]?.url.href).toBe('https://app.test/v1/tools')
    } finally {
      delete page.location
    }
  })
})
