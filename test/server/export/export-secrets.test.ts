// Secrets and hidden arguments in an export: wherever they were recorded, and when another process exports.

import { createRuntime, result, type Runtime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { collectExport } from '../../../src/server/export/collect-export.ts'
import type { ExportBundle } from '../../../src/server/export/export-bundle.ts'
import { exportHtml } from '../../../src/server/export/export-html.ts'
import { exportJsonl } from '../../../src/server/export/export-jsonl.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { argumentTool, patient, simpleTool } from '../../kit/simple-tools.ts'
import { freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { keepOpen } from '../../kit/stores/killable-store.ts'

const secret = 'tok-9f8e7d6c5b4a'
const pin = 'pin-4711-8822'
const runtimes = closedAfterEach()

const login = argumentTool(
  'login',
  {
    type: 'object',
    properties: { user: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
  } as const,
  { background: true },
  () => 'in',
)
const tools = [
  login,
  patient,
  simpleTool('echo', (input) => input),
  simpleTool('reveal', { sensitive: true }, () => result({ shown: 'plain words' }, { reveals: true })),
]

async function exportsOf(runtime: Runtime, now: number): Promise<{ bundle: ExportBundle; texts: string[] }> {
  const of = { tenant: 'default', session: 's', now }
  const bundle = (await collectExport(runtime, of)) as ExportBundle
  let lines = ''
  for await (const line of (await exportJsonl(runtime, of)) ?? []) lines += line
  return { bundle, texts: [lines, JSON.stringify(bundle), exportHtml(bundle)] }
}

test('DUR-12 DOOR-4: a secret that is set later is not in what was recorded before', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, tools, logger: quiet })
  runtimes.push(runtime)
  const session = runtime.session('s', { principal: `user:${secret}` })
  await session.run([{ id: secret, name: 'echo', input: { text: `my ${secret}`, [secret]: 1 }, meta: { secret } }])
  await session.run([{ id: 'x', name: `no_${secret}` }])
  await session.tasks.start({ tool: 'patient', title: `Use ${secret}`, id: 't' })
  await session.tasks.message('t', `The token is ${secret}`, { data: { secret } })
  await session.schedules.create({
    id: 'd',
    tool: 'patient',
    cron: '0 7 * * *',
    title: `With ${secret}`,
    input: { secret },
  })
  await session.schedules.create({ id: 'm', message: `Say ${secret}`, cron: '0 7 * * *' })
  await session.messages.send(`I am ${secret}`)
  await session.secrets.set('token', secret)
  const { bundle, texts } = await exportsOf(runtime, clock.now())
  for (const text of texts) {
    expect(text).toContain('[redacted]')
    expect(text.split(secret)).toHaveLength(1)
  }
  expect(bundle.calls).toHaveLength(3)
  expect(bundle.schedules).toHaveLength(2)
})

test('DUR-12 DOOR-4: a result that a tool reveals to the model is not in an export', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, tools, logger: quiet })
  runtimes.push(runtime)
  await runtime.session('s').run([{ id: 'a', name: 'reveal' }])
  const { bundle, texts } = await exportsOf(runtime, clock.now())
  expect(bundle.calls[0]?.outcome).toEqual({ status: 'success', value: '[redacted]' })
  for (const text of texts) expect(text).not.toContain('plain words')
})

test('DUR-12 DOOR-4: a process without the tools exports no hidden argument', async () => {
  const { clock, store } = freshMemory()
  const input = { user: 'ada', pin }
  const model = scriptedModel(
    [
      {
        call: [
          { name: 'login', input },
          { name: 'spawn_background', input: { tool: 'login', args: input, title: 'Log in' } },
          { name: 'echo', input: { open: 'words' } },
        ],
      },
      'Done',
    ],
    { name: 'main' },
  )
  const worker = await createRuntime({ store: keepOpen(store), clock, tools, models: [model], logger: quiet })
  runtimes.push(worker)
  const turn = worker.session('s').turn({ model: 'main', message: 'Go' })
  await clock.advance('5s')
  await turn.outcome
  const door = await createRuntime({ store: keepOpen(store), clock, worker: false, logger: quiet })
  runtimes.push(door)
  for (const runtime of [worker, door]) {
    const { bundle, texts } = await exportsOf(runtime, clock.now())
    expect(bundle.calls.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['login', 'spawn_background', 'echo', 'login']),
    )
    for (const text of texts) expect(text.split(pin)).toHaveLength(1)
    expect(texts[2]).toContain('&quot;open&quot;: &quot;words&quot;')
  }
})
