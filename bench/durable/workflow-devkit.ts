// The Workflow DevKit on its local world: bundles from `workflow build` and a plain HTTP host for them, in one process.
// In its favour: the status of a run is polled every 5 ms, not every second as `run.returnValue` does.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from './peers.ts'
import { step, type Subject } from './workload.ts'

type Route = (request: Request) => Promise<Response>
interface Api {
  start(workflow: { workflowId: string }, args: unknown[]): Promise<{ status: Promise<string> }>
}

const over = new Set(['completed', 'failed', 'cancelled'])

export async function workflowDevkit(dir: string): Promise<Subject> {
  const installed = join(import.meta.dirname, 'node_modules')
  mkdirSync(join(dir, 'workflows'), { recursive: true })
  copyFileSync(join(import.meta.dirname, 'workflow/work.ts'), join(dir, 'workflows/work.ts'))
  writeFileSync(join(dir, 'package.json'), '{"name":"bench-workflow","private":true}')
  symlinkSync(installed, join(dir, 'node_modules'))
  execFileSync(process.execPath, [join(installed, 'workflow/bin/run.js'), 'build'], {
    cwd: dir,
    stdio: 'inherit',
    timeout: 60_000,
  })
  const bundle = createRequire(join(dir, 'package.json'))
  const route = (name: 'flow' | 'step'): Route =>
    (bundle(`./.well-known/workflow/v1/${name}.js`) as { POST: Route }).POST

  const host = createServer()
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
  Object.assign(process.env, {
    WORKFLOW_TARGET_WORLD: 'local',
    WORKFLOW_LOCAL_DATA_DIR: join(dir, 'data'),
    WORKFLOW_LOCAL_BASE_URL: base,
  })
  Object.assign(globalThis, { benchStep: step })
  const routes = new Map([
    ['/.well-known/workflow/v1/flow', route('flow')],
    ['/.well-known/workflow/v1/step', route('step')],
  ])
  host.on('request', (request, response) => void serve(routes, base, request, response))

  const { start } = await load<Api>('workflow/api')
  return {
    async call(steps) {
      const run = await start({ workflowId: 'workflow//./workflows/work//work' }, [steps])
      let status = await run.status
      while (!over.has(status)) {
        await pause(5)
        status = await run.status
      }
      if (status !== 'completed') throw new Error(`The run is ${status}.`)
    },
  }
}

async function serve(
  routes: ReadonlyMap<string, Route>,
  base: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers.set(name, value)
    const answered = await routes.get(request.url ?? '')?.(
      new Request(base + request.url, { method: 'POST', headers, body: Buffer.concat(chunks) }),
    )
    response.writeHead(answered?.status ?? 404, { 'content-type': 'application/json' }).end(await answered?.text())
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}
