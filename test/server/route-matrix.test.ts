// Every operation of the route table, with every role, for the own tenant and with ids of another one.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Role } from '../../src/index.ts'
import { endpoints, type OperationName } from '../../src/server/endpoints.ts'
import { permissionsOf } from '../../src/server/permissions.ts'
import type { Route } from '../../src/server/routes/route.ts'
import { routes } from '../../src/server/routes/routes.ts'
import { type Fields, requestFor, samples } from '../kit/server/sample-inputs.ts'
import { badTokens, hostCanary, openServerApp, roleNames, type ServerApp, tokenOf } from '../kit/server/server-app.ts'
import { storeDigest } from '../kit/server/store-digest.ts'
import { canaryOf, markOf, missingData } from '../kit/server/tenant-data.ts'

let app: ServerApp
beforeAll(async () => {
  app = await openServerApp()
})
afterAll(() => app.close())

describe('secrets of a session', () => {
  test('DOOR-1: a tool that returns one shows it in no response', async () => {
    const tell = { name: 'tell', input: {} }
    const { session } = app.data.acme
    const token = tokenOf('acme', 'admin')
    const ran = await send('calls.run', { session, id: 'tell-1', ...tell }, token)
    expect(ran.text).toContain('[redacted]')
    const batch = await send('batches.run', { session, calls: [{ id: 'tell-2', ...tell }] }, token)
    expect(batch.text).toContain('[redacted]')
    const listed = await send('calls.list', { session, limit: 1_000 }, token)
    expect(listed.text).toContain('[redacted]')
    for (const row of JSON.parse(listed.text) as { uid: string; name: string }[])
      if (row.name === 'tell') {
        expect((await send('calls.get', { session, call: row.uid }, token)).text).toContain('[redacted]')
        expect((await send('calls.find', { call: row.uid }, token)).text).toContain('[redacted]')
      }
    await send('values.set', { session, key: 'copy', value: `it is ${canaryOf('acme')}` }, token)
    expect((await send('values.get', { session, key: 'copy' }, token)).text).toContain('[redacted]')
    for (const format of ['jsonl', 'html']) await send('sessions.export', { session, format }, token)
  })
})

interface Answer {
  readonly status: number
  readonly headers: string
  readonly text: string
}

const secrets = [canaryOf('acme'), canaryOf('rival'), hostCanary]

/** Streams of events have no end: the first kilobytes are read. */
async function readText(response: Response, endless: boolean): Promise<string> {
  if (!endless || !response.ok || !response.body) return response.text()
  let text = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  while (text.length < 2_000) {
    const { done, value } = await reader.read()
    if (done) break
    text += value
  }
  await reader.cancel()
  return text
}

async function send(name: OperationName, fields: Fields, token: string, query: Fields = {}): Promise<Answer> {
  const route: Route = routes[name]
  const authorization = app.authorization(token)
  const request = requestFor(name, fields, samples[name].bytes, {
    ...(authorization === undefined ? {} : { headers: { authorization } }),
    query,
  })
  const response = await app.server.fetch(request)
  const text = await readText(response, route.kind === 'events')
  for (const secret of secrets) expect(text, `${name} shows a secret`).not.toContain(secret)
  expect(response.status, text).toBeLessThan(500)
  const headers = [...response.headers].filter(([header]) => header !== 'x-request-id')
  return { status: response.status, headers: JSON.stringify(headers), text }
}

const names = Object.keys(endpoints) as OperationName[]
const mayUse = (role: Role, { needs }: Route): boolean => needs === 'anyone' || permissionsOf[role].includes(needs)

/** Fails if the JSON has a field that the schema does not name. */
function expectToMatch(name: OperationName, { status, text }: Answer): void {
  const route: Route = routes[name]
  if (route.kind !== 'json' && route.kind !== 'upload') return
  if (status !== 200 && status !== 202) return
  const value: unknown = JSON.parse(text)
  const parsed = route.output.safeParse(value)
  expect(parsed.success ? [] : z.treeifyError(parsed.error), `${name}: ${text.slice(0, 2_000)}`).toEqual([])
}

describe('the sample inputs', () => {
  test('DOOR-1: every operation has a sample input, and no sample is of another one', () => {
    expect(Object.keys(samples).toSorted()).toEqual(names.toSorted())
  })
})

describe.each(names)('%s', (name) => {
  const route: Route = routes[name]
  const sample = samples[name]

  test.each(roleNames)('DOOR-1: has the status of the table for role %s', async (role) => {
    const isAllowed = mayUse(role, route) && !route.wholeStore
    const before = isAllowed ? '' : await storeDigest(app.store)
    const fields = isAllowed ? await sample.fields(app.data.acme) : await sample.fields(missingData(app.data.acme))
    const answer = await send(name, fields, tokenOf('acme', role))
    expect(answer.status, answer.text).toBe(isAllowed ? (sample.status ?? 200) : 403)
    expect(answer.text).not.toMatch(/only-rival|user:rival/)
    if (isAllowed) expectToMatch(name, answer)
    else expect(await storeDigest(app.store)).toBe(before)
  })

  test('DOOR-1: a token for all tenants selects one', async () => {
    const fields = await sample.fields(app.data.acme)
    const answer = await send(name, fields, tokenOf('all', 'admin'), { tenant: 'acme' })
    expect(answer.status, answer.text).toBe(sample.status ?? 200)
    expectToMatch(name, answer)
    const refused = await send(name, fields, tokenOf('acme', 'admin'), { tenant: 'rival' })
    if (route.needs !== 'anyone') expect(refused.status).toBe(403)
  })

  test.each(badTokens)('DOOR-1: a token that is %s changes and shows nothing', async (kind) => {
    const before = await storeDigest(app.store)
    const answer = await send(name, await sample.fields(missingData(app.data.acme)), app.tokens[kind])
    expect(answer.status).toBe(route.needs === 'anyone' ? 404 : 401)
    expect(await storeDigest(app.store)).toBe(before)
  })

  test('DOOR-1: an object of another tenant is answered like a missing one', async () => {
    const [theirs, missing] = await Promise.all([
      sample.fields(app.data.rival),
      sample.fields(missingData(app.data.rival)),
    ])
    // A wait key is the right to answer its wait, whichever tenant it belongs to.
    if (name === 'waits.resolve') return
    for (const role of roleNames) {
      const [one, other] = [
        await send(name, theirs, tokenOf('acme', role)),
        await send(name, missing, tokenOf('acme', role)),
      ]
      expect(one.status).toBe(other.status)
      if (mayUse(role, route) && !route.wholeStore)
        expect(one.status, one.text).toBe(sample.missing ?? sample.status ?? 200)
      expect(alike(one, theirs)).toEqual(alike(other, missing))
      expect(one.text).not.toContain(markOf('rival'))
    }
  })
})

/** The answer without what differs between any two requests: given values, times, new ids and request ids. */
function alike({ status, headers, text }: Answer, fields: Fields): object {
  const given = Object.values(fields)
    .filter((value) => typeof value === 'string' && value.length > 7)
    .toSorted((a, b) => (b as string).length - (a as string).length) as string[]
  const plain = (shown: string): string => {
    for (const value of given)
      shown = shown.replaceAll(value, '<given>').replaceAll(encodeURIComponent(value), '<given>')
    return shown
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
      .replaceAll(/pawl_[\w-]{43}/g, '<token>')
      .replaceAll(/0[0-9a-z]{31,40}/g, '<id>')
      .replaceAll(/\b1[78]\d{11}\b/g, '0')
  }
  const isJson = headers.includes('"application/json"') || headers.includes('problem+json')
  const body = isJson ? (JSON.parse(plain(text)) as unknown) : plain(text)
  return { status, headers: plain(headers), body: isList(body) ? body.length : withoutNumbers(body) }
}
const isList = (value: unknown): value is unknown[] => Array.isArray(value)

/** Positions and counts grow with every request. */
const withoutNumbers = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, each: unknown) => (typeof each === 'number' ? 0 : each))
