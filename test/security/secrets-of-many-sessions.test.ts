// Sessions that are busy at the same time do not make this process forget each other's secrets.

import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { rerunTool } from '../kit/simple-tools.ts'
import { disk, logged, opened, printed } from '../kit/secret-leak-search.ts'

const secretOf = (session: number, number: number): string =>
  `secret-${session}-number-${number}-`.padEnd(16_000, `${session}${number}of-session`)

test.each([
  ['before they run', false],
  ['while they run', true],
])('DUR-12 BOX-5: busy sessions show and log none of many secrets set %s', async (_, late) => {
  // More characters than the secrets of idle sessions may have.
  const [sessions, each] = [6, 8]
  const numbers = Array.from({ length: sessions }, (__, number) => number)
  const clock = manualClock()
  const { store } = disk()
  const setAll = async (runtime: Awaited<ReturnType<typeof opened>>): Promise<void> => {
    for (const s of numbers)
      for (let k = late ? 1 : 0; k < each; k++) await runtime.session(`s${s}`).secrets.set(`k${k}`, secretOf(s, k))
  }
  const first = await opened({ store, clock })
  for (const s of numbers) await first.session(`s${s}`).secrets.set('k0', secretOf(s, 0))
  if (!late) await setAll(first)
  await first.close()

  let started = 0
  const { promise: allStarted, resolve: start } = Promise.withResolvers<void>()
  const { promise: mayShow, resolve: letShow } = Promise.withResolvers<void>()
  const show = rerunTool('show', { timeout: '1h' }, async ({ s }, ctx) => {
    if (++started === sessions) start()
    await mayShow
    ctx.log.warn(`logged ${secretOf(Number(s), 0)}`)
    return `token=${secretOf(Number(s), 0)}`
  })
  const next = await opened({ store, clock, tools: [show] })
  const runs = numbers.map((s) => next.session(`s${s}`).run([{ id: 'a', name: 'show', input: { s } }]))
  await allStarted
  if (late) {
    await clock.advance('2m') // not used recently, but a call is running
    await setAll(next)
  }
  letShow()
  const parts = (await Promise.all(runs)).map(([outcome]) => printed(outcome?.parts))
  expect(parts.filter((text) => text.includes('token=[redacted]'))).toHaveLength(sessions)
  const lines = logged.map(printed).filter((line) => line.includes('logged '))
  expect(lines).toHaveLength(sessions)
  expect(lines.filter((line) => !line.includes('logged [redacted]'))).toEqual([])
})
