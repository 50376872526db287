// `npm run bench:web-flood`: the event loop while web_fetch reads from servers that send endless framing. Each window
// starts one fetch; the first window starts none, and the second fetches an ordinary page. WINDOW_MS changes its length.

import { fork } from 'node:child_process'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { ToolFailure } from '../../src/core/outcome.ts'
import { compileRules } from '../../src/toolbox/web/fetch-rules.ts'
import { withResponse } from '../../src/toolbox/web/fetch-url.ts'

const windowMs = Number(process.env.WINDOW_MS ?? 10_000)

async function fetchBody(port: number): Promise<string> {
  const rules = compileRules({ ports: [port], allowAddress: () => true })
  const { signal } = new AbortController()
  const url = new URL(`http://127.0.0.1:${port}/`)
  try {
    const { bytes } = await withResponse(url, rules, { method: 'GET', signal }, (response) => response.read())
    return `${bytes.length} bytes`
  } catch (error) {
    return error instanceof ToolFailure ? error.failure.code : String(error)
  }
}

async function measure(name: string, port?: number): Promise<void> {
  const before = performance.eventLoopUtilization()
  const begun = performance.now()
  let end = 'nothing fetched'
  let fetchMs = 0
  const fetching =
    port === undefined
      ? undefined
      : fetchBody(port).then((text) => {
          end = text
          fetchMs = performance.now() - begun
        })
  await wait(windowMs)
  const { utilization, active } = performance.eventLoopUtilization(before)
  await fetching
  const figures = [`${(utilization * 100).toFixed(2)} %`, `${active.toFixed(1)} ms`, `${fetchMs.toFixed(1)} ms`]
  console.log(`| ${[name, end, ...figures].join(' | ')} |`)
}

const child = fork(join(import.meta.dirname, 'flood-server.ts'))
const ports = await new Promise<Record<string, number>>((resolve) => {
  child.once('message', (message) => resolve(message as Record<string, number>))
})
for (const port of Object.values(ports)) await fetchBody(port) // compiles the code before it is measured
console.log(`| in ${windowMs} ms | end | event loop busy | busy | fetch took |\n|---|---|---:|---:|---:|`)
await measure('idle (control)')
for (const [name, port] of Object.entries(ports)) await measure(name, port)
child.kill()
