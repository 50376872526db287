// `npm run bench:http`: a no-op call through Pawl's server on SQLite `power`, beside the library call and a bare hono
// route in the same process, and 1,000 subscribers of one busy session. The load comes from another process.
//
// BENCH_DIR is the folder of the SQLite file. ROUNDS and SLICE_MS shorten it, SECTION=calls|streams selects a part,
// ONLY=library|pawl|hono a subject, PROFILE=<dir> writes CPU profiles of the server.

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { input } from '../calls/workload.ts'
import { median } from '../kit/statistics.ts'
import { Child } from './child.ts'
import type { ServerReady, Slice } from './protocol.ts'

const connections = 50
const rounds = Number(process.env.ROUNDS ?? 7)
const sliceMs = Number(process.env.SLICE_MS ?? 2_000)
const subscribers = Number(process.env.SUBSCRIBERS ?? 1_000)
const events = Number(process.env.EVENTS ?? 200)
const everyMs = 50
const goals = { ofLibrary: 0.6, megabytes: 150 }

const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
const met = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')
const megabytes = (bytes: number): number => bytes / 1024 / 1024
const portOf = (url: string): number => Number(new URL(url).port)
let stores = 0

async function withChildren<T>(run: (server: Child, load: Child, ready: ServerReady) => Promise<T>): Promise<T> {
  const server = new Child('server-child.ts', join(dir, `http-${++stores}.db`))
  const load = new Child('load-child.ts')
  try {
    const [ready] = await Promise.all([server.next<ServerReady>(), load.next()])
    return await run(server, load, ready)
  } finally {
    await Promise.all([server.end(), load.end()])
  }
}

function callRequest(token: string, connection: number): string {
  const body = JSON.stringify({ name: 'noop', input })
  return [
    `POST /v1/sessions/http-${connection}/calls HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

type Subject = 'library' | 'pawl' | 'hono'
const only = process.env.ONLY as Subject | undefined
const subjects: readonly Subject[] = only ? [only] : ['library', 'pawl', 'hono']
interface Measured extends Slice {
  /** CPU time of the server's process, in µs per call. */
  readonly cpu: number
}

/** A session per connection: the calls of one session wait for each other. */
async function calls(): Promise<void> {
  const found: Record<Subject, Measured[]> = { library: [], pawl: [], hono: [] }
  await withChildren(async (server, load, { url, bareUrl, token }) => {
    const requests = Array.from({ length: connections }, (_, connection) => callRequest(token, connection))
    const run = (subject: Subject, ms: number): Promise<Slice> =>
      subject === 'library'
        ? server.ask({ ask: 'library', callers: connections, ms })
        : load.ask({ ask: 'requests', requests, port: portOf(subject === 'pawl' ? url : bareUrl), ms })
    for (const subject of subjects) await run(subject, sliceMs) // compiles the code before it is measured
    for (let round = 0; round < rounds; round++) {
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        const before = await server.ask({ ask: 'usage' })
        const measured = await run(subject, sliceMs)
        const after = await server.ask({ ask: 'usage' })
        found[subject].push({ ...measured, cpu: ((after.cpuMs - before.cpuMs) * 1_000) / measured.count })
      }
    }
  })
  const rates = (subject: Subject): number[] => found[subject].map(({ perSecond }) => perSecond)
  const spread = (values: readonly number[], digits = 0): string =>
    `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`
  const names = { library: 'the library, `session.run`', pawl: 'through HTTP', hono: 'a bare hono route' }
  console.log(`${connections} connections, ${rounds} rounds of ${sliceMs} ms, medians (lowest to highest)\n`)
  console.log('| | calls/s | p50 ms | p99 ms | CPU µs a call |\n|---|---:|---:|---:|---:|')
  for (const subject of subjects) {
    const each = found[subject]
    const figures = [
      spread(rates(subject)),
      median(each.map(({ p50 }) => p50)).toFixed(1),
      spread(
        each.map(({ p99 }) => p99),
        1,
      ),
      spread(each.map(({ cpu }) => cpu)),
    ]
    console.log(`| ${[names[subject], ...figures].join(' | ')} |`)
  }
  if (only) return
  const ratios = found.pawl.map(({ perSecond }, round) => perSecond / (found.library[round]?.perSecond ?? Number.NaN))
  const ofLibrary = median(ratios)
  const ofCpu = median(found.library.map(({ cpu }) => cpu)) / median(found.pawl.map(({ cpu }) => cpu))
  console.log(
    `\nthrough HTTP, of the library: ${spread(ratios, 2)} ×, at least ${goals.ofLibrary}: ` +
      `${met(ofLibrary >= goals.ofLibrary)}; by CPU time ${ofCpu.toFixed(2)} ×`,
  )
}

async function streams(): Promise<void> {
  await withChildren(async (server, load, { url, token }) => {
    const port = portOf(url)
    const request = (session: string): string =>
      `GET /v1/sessions/${session}/events?live=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`
    // Idle: code that is compiled and a heap that has grown for one subscriber.
    await load.ask({ ask: 'subscribe', request: request('warm-up'), port, count: 1 })
    await server.ask({ ask: 'emit', session: 'warm-up', events: 50, everyMs: 10 })
    await load.ask({ ask: 'received', events: 50, withinMs: 10_000 })
    await load.ask({ ask: 'leave' })
    const idle = await server.ask({ ask: 'usage' })
    await load.ask({ ask: 'subscribe', request: request('busy'), port, count: subscribers })
    const connected = await server.ask({ ask: 'usage' })
    const { seconds } = await server.ask({ ask: 'emit', session: 'busy', events, everyMs })
    const got = await load.ask({ ask: 'received', events, withinMs: 60_000 })
    const after = await server.ask({ ask: 'usage' })
    const busy = (after.cpuMs - connected.cpuMs) / 1_000 / seconds
    const most = megabytes(Math.max(connected.maxRss, after.maxRss) - idle.rss)
    console.log(
      `\n${subscribers} subscribers of one session, ${events} recorded and ${events} live numbers in ${seconds.toFixed(1)} s\n`,
    )
    const rows = [
      [
        'received everything, in order, once',
        `${got.complete} of ${got.subscribers}`,
        met(got.complete === subscribers),
      ],
      ['RSS above idle, at most', `${most.toFixed(0)} MB`, `${goals.megabytes} MB: ${met(most <= goals.megabytes)}`],
      ['of that connected, before the events', `${megabytes(connected.rss - idle.rss).toFixed(0)} MB`, ''],
      ['idle', `${megabytes(idle.rss).toFixed(0)} MB`, ''],
      ['from ctx.emit to a subscriber', `p50 ${got.lagP50.toFixed(0)} ms, p99 ${got.lagP99.toFixed(0)} ms`, ''],
      ['CPU of the server', `${(busy * 100).toFixed(0)} % of a core`, ''],
      ['sent', `${megabytes(got.bytes).toFixed(0)} MB`, ''],
    ]
    for (const row of rows) console.log(`| ${row.join(' | ')} |`)
  })
}

const load = loadavg()[0] as number
console.log(`${cpus().length} cores, Linux ${release()}, Node ${process.version}, load ${load.toFixed(2)}\n`)
const section = process.env.SECTION
try {
  if (section !== 'streams') await calls()
  if (section !== 'calls') await streams()
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
