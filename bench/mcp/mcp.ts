// `npm run bench:mcp`: a tool call through the gateway beside the same call directly on the same stdio server, in one
// run. Latency one call at a time (p50, p99) and throughput with 50 calls at once, with both commit modes.
//
// BENCH_DIR is the folder of the stores. ROUNDS and CALLS shorten it.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { median, quantile } from '../kit/statistics.ts'

const rounds = Number(process.env.ROUNDS ?? 5)
const calls = Number(process.env.CALLS ?? 200)
const parallel = 50
const goalMs = 3

const root = join(import.meta.dirname, '../..')
const everything = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
const met = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')

type Subject = 'direct' | 'process' | 'power'
const subjects: readonly Subject[] = ['direct', 'process', 'power']

/** A client on the server, or on a gateway in front of it that allows everything. */
async function connect(subject: Subject): Promise<{ client: Client; tool: string }> {
  const server = { command: process.execPath, args: [everything] }
  if (subject === 'direct') return { client: await clientOf(server.command, server.args, dir), tool: 'echo' }
  const folder = join(dir, subject)
  mkdirSync(folder, { recursive: true })
  const policy = { rules: [{ tool: '*', then: 'allow' }] }
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: { all: server }, policy }))
  const main = join(root, 'src/cli/main.ts')
  const args = ['--conditions=@pawl/source', main, 'mcp', '--config', 'servers.json', '--commit', subject]
  return { client: await clientOf(process.execPath, args, folder), tool: 'all__echo' }
}

async function clientOf(command: string, args: string[], cwd: string): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command, args, cwd, stderr: 'ignore' }))
  return client
}

interface Latency {
  readonly p50: number
  readonly p99: number
}

let sent = 0
async function call({ client, tool }: Connected): Promise<number> {
  const started = performance.now()
  const message = `message ${++sent}`
  const { content, isError } = await client.callTool({ name: tool, arguments: { message } })
  const [first] = content as { text?: string }[]
  if (isError === true || !first?.text?.includes(message)) throw new Error(JSON.stringify(content))
  return performance.now() - started
}

type Connected = Awaited<ReturnType<typeof connect>>

async function latency(connected: Connected): Promise<Latency> {
  const took: number[] = []
  for (let n = 0; n < calls; n++) took.push(await call(connected))
  return { p50: median(took), p99: quantile(took, 0.99) }
}

/** Calls per second while 50 are always open. */
async function throughput(connected: Connected): Promise<number> {
  const started = performance.now()
  let left = calls * 5
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call(connected)
  }
  await Promise.all(Array.from({ length: parallel }, caller))
  return (calls * 5) / ((performance.now() - started) / 1_000)
}

const found = new Map<Subject, { latency: Latency[]; perSecond: number[] }>()
const connected = new Map<Subject, Connected>()
try {
  for (const subject of subjects) {
    connected.set(subject, await connect(subject))
    found.set(subject, { latency: [], perSecond: [] })
    await latency(connected.get(subject) as Connected) // compiles the code before it is measured
  }
  for (let round = 0; round < rounds; round++)
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const on = connected.get(subject) as Connected
      found.get(subject)?.latency.push(await latency(on))
      found.get(subject)?.perSecond.push(await throughput(on))
    }
} finally {
  await Promise.allSettled([...connected.values()].map(({ client }) => client.close()))
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}

interface Result extends Latency {
  readonly perSecond: number
}
const resultOf = (subject: Subject): Result => {
  const { latency: all, perSecond } = found.get(subject) as { latency: Latency[]; perSecond: number[] }
  return {
    p50: median(all.map(({ p50 }) => p50)),
    p99: median(all.map(({ p99 }) => p99)),
    perSecond: median(perSecond),
  }
}
const direct = resultOf('direct')
console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Linux ${release()}, load ${loadavg()[0]?.toFixed(1)}`)
console.log(`medians of ${rounds} rounds of ${calls} calls of \`echo\` of server-everything\n`)
console.log('| | p50 ms | added | p99 ms | added | calls/s at 50 | of direct |')
console.log('|---|---:|---:|---:|---:|---:|---:|')
for (const subject of subjects) {
  const { p50, p99, perSecond } = resultOf(subject)
  const name = subject === 'direct' ? 'the server directly' : `gateway, \`${subject}\``
  const cells = [
    p50.toFixed(2),
    subject === 'direct' ? '' : `+${(p50 - direct.p50).toFixed(2)}`,
    p99.toFixed(2),
    subject === 'direct' ? '' : `+${(p99 - direct.p99).toFixed(2)}`,
    Math.round(perSecond).toLocaleString('en'),
    subject === 'direct' ? '' : `${Math.round((perSecond / direct.perSecond) * 100)} %`,
  ]
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}
const added = resultOf('process').p50 - direct.p50
console.log(`\nadded p50 on \`process\`: +${added.toFixed(2)} ms; goal +${goalMs} ms: ${met(added <= goalMs)}`)
