// session.turns.uiMessages() while turns are open: a page that is reloaded shows what the user has written.

import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()

test('SESS-12 CALL-13: uiMessages() shows accepted messages before the model has answered', async () => {
  const pushed = pushedModel()
  const store = `sqlite:${freshDir()}/turns.db`
  const runtime = await createRuntime({ store, logger: quiet, models: [pushed.model] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  await session.secrets.set('token', 'hunter2-hunter2')
  const shown = async (): Promise<unknown[]> =>
    (await session.turns.uiMessages()).map(({ id, parts }) => [id, parts.map((part) => 'text' in part && part.text)])
  const first = session.turn({ model: 'm', message: 'One with hunter2-hunter2', id: 't1' })
  await first.accepted
  expect(await shown()).toEqual([['t1', ['One with [redacted]']]])
  await until(() => pushed.asked() === 1)
  const second = session.turn({ model: 'm', message: { text: 'Two' }, id: 't2' })
  await second.accepted
  // The answer of the open turn has its place between them, where a stream fills it.
  const both = [
    ['t1', ['One with [redacted]']],
    ['answer_t1', []],
    ['t2', ['Two']],
  ]
  expect(await shown()).toEqual(both)
  pushed.push('Answer')
  const reader = first.textStream.getReader() // the worker records the message for a reader
  await reader.read()
  expect(await shown()).toEqual(both)
  pushed.finish()
  await until(() => pushed.asked() === 2)
  expect(await shown()).toEqual([both[0], ['answer_t1', [false, 'Answer']], both[2]])
  pushed.push('Another')
  pushed.finish()
  await second.outcome
  expect(await shown()).toEqual([both[0], ['answer_t1', [false, 'Answer']], both[2], ['answer_t2', [false, 'Another']]])
})
