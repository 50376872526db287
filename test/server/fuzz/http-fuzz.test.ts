// Fuzzing of all routes with every role and tenant on the three stores: no 5xx, no byte of another tenant, no effect
// without the right to it. PAWL_SEED=<n> repeats a run; `npm run test:long` sends 10,000 requests to each store.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { matchRoute } from '../../../src/server/http/match-route.ts'
import type { Route } from '../../../src/server/routes/route.ts'
import { routes } from '../../../src/server/routes/routes.ts'
import { long } from '../../kit/long-run.ts'
import { seed } from '../../kit/seeded-fast-check.ts'
import { seeded } from '../../kit/seeded-random.ts'
import {
  badTokens,
  hostCanary,
  openServerApp,
  roleNames,
  type ServerApp,
  type StoreKind,
  tenantNames,
  tokenOf,
} from '../../kit/server/server-app.ts'
import { stableDigest, storeDigest, tenantDigest } from '../../kit/server/store-digest.ts'
import { canaryOf, markOf } from '../../kit/server/tenant-data.ts'
import { serverForFile } from '../../kit/stores/postgres-for-file.ts'
import { fieldPool, type FieldPool, type FuzzedRequest, HttpFuzzer, operationNames } from './http-fuzzer.ts'

console.log(`PAWL_SEED=${seed}`)
const requests = long ? 10_000 : 1_000
/** Sent at the same time. */
const parallel = 8

const server = serverForFile()

interface Sender {
  readonly token: string
  /** Texts that no response to this token may contain. */
  readonly forbidden: readonly string[]
}

const secrets = [canaryOf('acme'), canaryOf('rival'), hostCanary]
const ownTexts = (tenant: 'acme' | 'rival'): string[] => [markOf(tenant), `user:${tenant}-`]
const others = { acme: ownTexts('rival'), rival: ownTexts('acme') } as const
const senderOf = (tenant: 'acme' | 'rival', role: (typeof roleNames)[number]): Sender => ({
  token: tokenOf(tenant, role),
  forbidden: [...secrets, ...others[tenant]],
})

/** The start of an endless stream, or the whole text. */
async function readText(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) return response.text()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const idle = Promise.withResolvers<null>()
  const timer = setTimeout(() => idle.resolve(null), 20)
  let text = ''
  while (text.length < 20_000) {
    const next = await Promise.race([reader.read(), idle.promise])
    if (!next || next.done) break
    text += next.value
  }
  clearTimeout(timer)
  await reader.cancel()
  return text
}

/** Describes a violation; null if there is none. */
async function judge({ request }: FuzzedRequest, response: Response, { forbidden }: Sender) {
  const text = await readText(response)
  const about = `${request.method} ${request.url.slice(0, 300)} → ${response.status} ${text.slice(0, 600)}`
  if (response.status >= 500) return about
  const leaked = forbidden.find((each) => text.includes(each))
  if (leaked !== undefined) return `${leaked} leaked: ${about}`
  if (response.headers.get('content-security-policy') === null) return `no policy: ${about}`
  if (response.headers.get('content-type') !== 'application/json' || text === '') return null
  // The method or path may have been changed to those of another operation.
  const match = matchRoute(request.method, new URL(request.url).pathname)
  if (!match || 'allow' in match) return null
  const route: Route = routes[match.name]
  const parsed = route.output.safeParse(JSON.parse(text))
  return parsed.success ? null : `${match.name}: ${about} ${JSON.stringify(z.treeifyError(parsed.error))}`
}

/** The key of a wait is the right to answer it: only missing ones are left. */
const withoutKeys = (pool: FieldPool): FieldPool =>
  new Map(pool).set('waits.resolve', (pool.get('waits.resolve') ?? []).slice(1))

/** Sends this many requests, several at once, and returns what was wrong. */
async function fuzz(
  app: ServerApp,
  fuzzer: HttpFuzzer,
  senders: readonly Sender[],
  random: () => number,
  count: number,
) {
  const wrong: string[] = []
  const statuses = new Map<number, number>()
  let sent = 0
  const one = async (): Promise<void> => {
    while (sent < count && wrong.length < 10) {
      sent++
      const sender = senders[Math.floor(random() * senders.length)] as Sender
      const leave = new AbortController()
      const fuzzed = fuzzer.next(app.authorization(sender.token), leave.signal, operationNames)
      // A client that leaves ends a request that waits; one that is still not answered then hangs.
      const leaving = setTimeout(() => leave.abort(), 150)
      const stuck = Promise.withResolvers<null>()
      const hanging = setTimeout(() => stuck.resolve(null), 30_000)
      const response = await Promise.race([app.server.fetch(fuzzed.request, { address: '127.0.0.1' }), stuck.promise])
      clearTimeout(leaving)
      clearTimeout(hanging)
      if (!response) wrong.push(`no answer: ${fuzzed.request.method} ${fuzzed.request.url.slice(0, 300)}`)
      else {
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        const problem = await judge(fuzzed, response, sender)
        if (problem !== null) wrong.push(problem)
      }
    }
  }
  await Promise.all(Array.from({ length: parallel }, one))
  return { wrong, statuses: Object.fromEntries(statuses) }
}

const kinds: readonly StoreKind[] = ['memory', 'sqlite', 'postgres']

describe.each(kinds)('fuzzed requests on %s', { timeout: long ? 1_200_000 : 120_000 }, (kind) => {
  test('DOOR-1: no 5xx, no byte of another tenant, no effect without right', async () => {
    const app = await openServerApp({ kind, ...(kind === 'postgres' ? { connection: server.connection } : {}) })
    const prototype = Object.getOwnPropertyNames(Object.prototype).toSorted()
    const random = seeded(seed)
    const own = await fieldPool(app.data.acme)
    const foreign = await fieldPool(app.data.rival)
    const strange = withoutKeys(foreign)
    const sum: Record<string, Record<string, number>> = {}

    // Without rights: nothing at all may change.
    const withoutRight: Sender[] = [
      ...badTokens.map((bad) => ({ token: app.tokens[bad], forbidden: [...secrets, ...others.acme, ...others.rival] })),
      ...tenantNames.map((tenant) => senderOf(tenant, 'viewer')),
    ]
    const noKeys = [own, foreign].map(withoutKeys)
    const before = await stableDigest(app.store)
    const runs = app.ledger.length
    const harmless = await fuzz(app, new HttpFuzzer(random, noKeys), withoutRight, random, requests * 0.3)
    expect(harmless.wrong).toEqual([])
    expect(await storeDigest(app.store)).toBe(before)
    expect(app.ledger.length).toBe(runs)
    sum.withoutRight = harmless.statuses

    // With the rights of one tenant: nothing of the other one may change.
    const rival = await tenantDigest(app.store, 'rival')
    const mine = [...roleNames, 'caller', 'admin', 'admin', 'admin'] as const
    const ownRuns = app.ledger.filter(({ tenant }) => tenant === 'rival').length
    const oneTenant = await fuzz(
      app,
      new HttpFuzzer(random, [own, strange]),
      mine.map((role) => senderOf('acme', role)),
      random,
      requests * 0.4,
    )
    expect(oneTenant.wrong).toEqual([])
    expect(await tenantDigest(app.store, 'rival')).toBe(rival)
    expect(app.ledger.filter(({ tenant }) => tenant === 'rival').length).toBe(ownRuns)
    sum.oneTenant = oneTenant.statuses

    const everyone = [
      ...withoutRight,
      ...tenantNames.flatMap((tenant) => roleNames.map((role) => senderOf(tenant, role))),
      ...[...roleNames, 'admin', 'admin', 'admin', 'admin', 'admin'].map((role) => ({
        token: tokenOf('all', role as 'admin'),
        forbidden: secrets,
      })),
    ]
    const all = await fuzz(app, new HttpFuzzer(random, [own, foreign]), everyone, random, requests * 0.3)
    expect(all.wrong).toEqual([])
    sum.everyone = all.statuses

    expect(app.logged).toEqual([])
    expect(Object.getOwnPropertyNames(Object.prototype).toSorted()).toEqual(prototype)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    const alive = await app.server.fetch(new Request('http://localhost/readyz'))
    expect(alive.status).toBe(200)
    console.log(`${kind}: ${requests} requests`, JSON.stringify(sum))
    await app.close()
  })
})
