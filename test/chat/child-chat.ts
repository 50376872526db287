// A process of the chat: `web` serves HTTP and runs nothing, `worker` runs turns. It is killed at random moments.
// Arguments: role, store (JSON), port, file that the effects are appended to.

import { appendFileSync } from 'node:fs'
import { createRuntime, type Model, type ModelDelta, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { scriptedModel } from 'pawl/testing'
import { quiet } from '../kit/stores/fresh-store.ts'
import { serveChat } from './chat-app.ts'
import { script } from './chat-script.ts'

const [role = '', store = '', port = '0', effects = ''] = process.argv.slice(2)
const input = { type: 'object' } as const
const effect = (name: string, key: string): string => {
  appendFileSync(effects, `${name} ${key}\n`)
  return `${name} done`
}
const look = tool({
  name: 'look',
  description: 'd',
  input,
  hints: { readOnly: true },
  execute: (_, ctx) => effect('look', ctx.idempotencyKey),
})
const refund = tool({
  name: 'refund',
  description: 'd',
  input,
  hints: { destructive: true },
  onCrash: 'rerun',
  execute: (_, ctx) => effect('refund', ctx.idempotencyKey),
})

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Streams its answers slowly, so that kills and reloads hit them before the first word and in the middle. */
const scripted = scriptedModel(script, { name: 'm' })
const model: Model = {
  ...scripted,
  async generate(call) {
    const deltas: ModelDelta[] = []
    const answer = await scripted.generate({ ...call, told: (delta) => void deltas.push(delta) })
    await pause(100)
    for (const delta of deltas) {
      await pause(8)
      call.told(delta)
    }
    return answer
  },
}
const where = JSON.parse(store) as string | Parameters<typeof postgresStore>[0]
const runtime = await createRuntime({
  store: typeof where === 'string' ? where : await postgresStore(where),
  keys: { secret: Buffer.alloc(32, 7) },
  tools: [look, refund],
  models: [model],
  logger: quiet,
  lease: '1s',
  poisonAfter: 1_000,
  ...(role === 'web' ? { worker: false as const } : {}),
})
if (role === 'web') await serveChat(runtime, Number(port))
// A runtime without work does not keep its process alive; this listener does, until the test ends.
process.on('disconnect', () => process.exit())
process.send?.('ready')
