// `npm run bench:mcp-hostile`: how long the event loop is blocked at most while a runtime lists the tools of a hostile MCP
// server and calls one, beside the same with an ordinary server. The servers run in processes of their own. Measured in
// CPU time of the main thread, so that other processes of the machine do not count. ROUNDS changes how often each shape
// is measured; the worst round counts.

import { setTimeout as wait } from 'node:timers/promises'
import { createRuntime } from 'pawl'
import { mcpProvider } from 'pawl/mcp'
import { HostileServer, type HostileScript } from '../../test/kit/mcp/hostile-server.ts'

const rounds = Number(process.env.ROUNDS ?? 3)
const goalMs = 50

const named = (name: string, more: object = {}): object => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  ...more,
})
const many = (count: number, make: (n: number) => object): object[] => Array.from({ length: count }, (_, n) => make(n))
const few = many(20, (n) => named(`t${n}`))
const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }

const shapes: Readonly<Record<string, HostileScript>> = {
  'ordinary (control)': { tools: few },
  'list of 5,000 tools': { tools: many(5_000, (n) => named(`t${n}`)) },
  'list whose pages never end': { tools: few, cursor: 'new' },
  '2,000 names that collide': { tools: [...few, ...many(2_000, (n) => named(`${'x'.repeat(60)}.${n}`))] },
  '100 descriptions of 70 KB': {
    tools: [...few, ...many(100, (n) => named(`d${n}`, { description: 'x'.repeat(70_000) }))],
  },
  'one malformed entry in two': {
    tools: [...few, ...many(2_000, (n) => (n % 2 ? {} : named(`m${n}`, { inputSchema: 7 })))],
  },
  'a text of 7 MB': { tools: few, calls: { t0: { repeat: { text: 'A line of text.\n', times: 437_500 } } } },
  '15,000 images': { tools: few, calls: { t0: { parts: { part: image, times: 15_000 } } } },
  '60,000 texts': { tools: few, calls: { t0: { parts: { part: { type: 'text', text: 'a' }, times: 60_000 } } } },
  'an answer of 20 MB (refused)': { tools: few, calls: { t0: { repeat: { text: 'x'.repeat(1_000), times: 20_000 } } } },
  '300,000 values (refused)': { tools: few, calls: { t0: { parts: { part: 7, times: 300_000 } } } },
  '100 MB on stderr': { tools: few, calls: { t0: { stderrBytes: 100_000_000 } } },
  '100,000 notifications': { tools: few, calls: { t0: { notifications: 100_000 } } },
  'it dies in the call': { tools: few, calls: { t0: { die: true } } },
}

/** The longest time on the CPU between two turns of the event loop. */
function watchTurns(): { stop(): number } {
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let longest = 0
  let last = cpuMs()
  const timer = setInterval(() => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }, 2)
  return {
    stop() {
      clearInterval(timer)
      return longest
    },
  }
}

async function measure(script: HostileScript): Promise<{ pause: number; end: string; tools: number }> {
  const server = new HostileServer(script)
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }
  const runtime = await createRuntime({
    store: 'memory:',
    keys: { secret: 'k'.repeat(40) },
    logger: quiet,
    policy: { rules: [{ tool: '*', then: 'allow' }] },
  })
  const watch = watchTurns()
  try {
    await runtime.tools.provide(mcpProvider('h', server.config({ timeout: { idle: '60s' } })))
    const tools = runtime.tools.list().length
    const [outcome] = await runtime.session('s').run([{ id: '1', name: 'h__t0', input: {} }])
    await wait(200)
    return { pause: watch.stop(), end: outcome?.status ?? '', tools }
  } finally {
    watch.stop()
    await runtime.close({ grace: 0 })
    server.remove()
  }
}

const control = shapes['ordinary (control)'] as HostileScript
await measure(control) // compiles the code before it is measured
console.log('| server | tools | call | longest turn, ms | over control, ms |\n|---|---:|---|---:|---:|')
let worst = 0
for (const [name, script] of Object.entries(shapes)) {
  let own = 0
  let ordinary = 0
  let last = { pause: 0, end: '', tools: 0 }
  for (let round = 0; round < rounds; round++) {
    ordinary = Math.max(ordinary, (await measure(control)).pause)
    last = await measure(script)
    own = Math.max(own, last.pause)
  }
  worst = Math.max(worst, own - ordinary)
  console.log(
    `| ${name} | ${last.tools} | ${last.end} | ${own.toFixed(0)} | ${Math.max(0, own - ordinary).toFixed(0)} |`,
  )
}
console.log(`\nThe longest turn over control is ${worst.toFixed(0)} ms; the goal is ${goalMs} ms.`)
