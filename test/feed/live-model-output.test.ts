// The live feed of a turn: model output as it is streamed, redacted, and only from the current attempt.

import { type LiveEvent, type Model, type ModelDelta, ModelFailure, type Runtime } from 'pawl'
import { expect, test } from 'vitest'
import { opened, printed, read } from '../kit/secret-leak-search.ts'

const secret = 'sk-live-4f9a71c2-zz'
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const saying = (generate: (told: (delta: ModelDelta) => void) => unknown): Model => ({
  name: 'm',
  async generate({ told }) {
    await generate(told)
    return { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage }
  },
})
const text = (delta: string): ModelDelta => ({ type: 'text', delta })
async function heard(runtime: Runtime, models: readonly Model[]): Promise<{ all: unknown; live: string[] }> {
  const session = runtime.session('s')
  const all = read(
    session.events({ live: true }),
    (_, found) => found.filter(({ type }) => type === 'turn.ended').length === models.length,
  )
  for (const model of models) await session.turn({ model, message: 'Go' }).outcome
  const live = (await all).filter((event): event is LiveEvent => event.live === true)
  return {
    all: await all,
    live: live.map(({ type, body }) => (type === 'turn.retracted' ? 'retracted' : (body as { delta: string }).delta)),
  }
}

test('FEED-1 SESS-2: output sent after an attempt failed is not published', async () => {
  const runtime = await opened()
  let tries = 0
  let late = (): void => {}
  const model = saying((told) => {
    if (tries++ === 0) {
      told(text('first '))
      late = () => told(text('late '))
      throw new ModelFailure('it broke off', { retryable: true, afterMs: 1 })
    }
    late()
    told(text('second'))
  })
  expect((await heard(runtime, [model])).live).toEqual(['first ', 'retracted', 'second'])
})

test('FEED-1: output sent after the model has answered is not published', async () => {
  let late = (): void => {}
  const first = saying((told) => void (late = () => told(text('late '))))
  const second = saying((told) => {
    late()
    told(text('second'))
  })
  expect((await heard(await opened(), [first, second])).live).toEqual(['second'])
})

test('FEED-1 DUR-12: a secret set while the model streams is redacted', async () => {
  const runtime = await opened()
  const model = saying(async (told) => {
    told(text('It is '))
    await runtime.session('s').secrets.set('key', secret)
    told(text(`${secret}!`))
  })
  const { all, live } = await heard(runtime, [model])
  expect(live.join('')).toBe('It is [redacted]!')
  expect(printed(all)).not.toContain(secret)
})

test('FEED-1 DUR-12: a secret split by a reasoning delta is redacted', async () => {
  const runtime = await opened()
  await runtime.session('s').secrets.set('key', secret)
  const model = saying((told) => {
    told(text(`It is ${secret.slice(0, 9)}`))
    told({ type: 'reasoning', delta: 'Hm. ' })
    told(text(`${secret.slice(9)}!`))
  })
  expect((await heard(runtime, [model])).live).toEqual(['It is ', 'Hm. ', '[redacted]!'])
})
