// TASK-2: what an update of a task makes of what was told before.

import { expect, test } from 'vitest'
import { newRun, updated } from '../../../src/store/records/task-record.ts'

const link = (name: string, url = `http://${name}`) => ({ name, type: 'link', url })
const told = updated(updated({ ...newRun, attempt: 1 }, { attempt: 1, artifact: link('a') }, 1), { attempt: 1, artifact: link('b') }, 2)

test('TASK-2: an attempt that is not the last changes nothing', () => {
  const second = updated(told, { attempt: 2, status: 'Again' }, 3)
  expect(updated(second, { attempt: 1, status: 'Old', artifact: link('old'), over: true }, 4)).toBe(second)
})

test('TASK-2: an artifact of the same name takes the place of the one before', () => {
  const again = updated(told, { attempt: 2, artifact: link('a', 'http://new') }, 3)
  expect(again.artifacts).toEqual([link('a', 'http://new'), link('b')])
})

test('TASK-2: what is over stays as it is, except for what is added to it', () => {
  const over = updated(told, { attempt: 1, over: true }, 3)
  expect(updated(over, { attempt: 1, status: 'More', progress: { current: 1 } }, 4)).toBe(over)
  expect(updated(over, { attempt: 1, artifact: link('c'), status: 'More' }, 4)).toMatchObject({
    over: true,
    status: null,
    artifacts: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  })
})

test('TASK-2: the next attempt asks and tells anew', () => {
  const asking = updated(told, { attempt: 1, status: 'Asks', request: { id: 'r', prompt: 'Which?' } }, 3)
  expect(updated(asking, { attempt: 2, progress: { current: 1 } }, 4)).toMatchObject({
    status: null,
    request: null,
    attempt: 2,
  })
})
