// applyUpdate: how an update changes the run record of a task.

import { expect, test } from 'vitest'
import { newRun, applyUpdate } from '../../../src/store/records/task-record.ts'

const link = (name: string, url = `http://${name}`) => ({ name, type: 'link', url })
const told = applyUpdate(
  applyUpdate({ ...newRun, attempt: 1 }, { attempt: 1, artifact: link('a') }, 1),
  { attempt: 1, artifact: link('b') },
  2,
)

test('TASK-2: an update of an earlier attempt changes nothing', () => {
  const second = applyUpdate(told, { attempt: 2, status: 'Again' }, 3)
  expect(applyUpdate(second, { attempt: 1, status: 'Old', artifact: link('old'), over: true }, 4)).toBe(second)
})

test('TASK-2: an artifact replaces an earlier one of the same name', () => {
  const again = applyUpdate(told, { attempt: 2, artifact: link('a', 'http://new') }, 3)
  expect(again.artifacts).toEqual([link('a', 'http://new'), link('b')])
})

test('TASK-2: an ended run accepts only further artifacts', () => {
  const over = applyUpdate(told, { attempt: 1, over: true }, 3)
  expect(applyUpdate(over, { attempt: 1, status: 'More', progress: { current: 1 } }, 4)).toBe(over)
  expect(applyUpdate(over, { attempt: 1, artifact: link('c'), status: 'More' }, 4)).toMatchObject({
    over: true,
    status: null,
    artifacts: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  })
})

test('TASK-2: the next attempt clears status and request', () => {
  const asking = applyUpdate(told, { attempt: 1, status: 'Asks', request: { id: 'r', prompt: 'Which?' } }, 3)
  expect(applyUpdate(asking, { attempt: 2, progress: { current: 1 } }, 4)).toMatchObject({
    status: null,
    request: null,
    attempt: 2,
  })
})
