import { afterEach, expect, test, vi } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { change } from '../../src/testing/store-cases/record-builders.ts'
import { GroupCommit } from '../../src/store/group-commit.ts'
import type { Written } from '../../src/store/store.ts'

afterEach(() => void vi.unstubAllGlobals())

for (const how of ['written', 'failed'] as const)
  test(`DUR-6: a callback that throws (${how}) does not block the other answers of its group`, async () => {
    const strays: (() => void)[] = []
    vi.stubGlobal('queueMicrotask', (stray: () => void) => strays.push(stray))
    const group = new GroupCommit(manualClock(), (changes) => {
      if (how === 'failed') throw new Error('The disk is gone')
      return changes.map(() => ({ ok: true }))
    })
    const heard: Written[] = []
    const hears = (answer: Written): void => void heard.push(answer)
    group.write(change({}), hears)
    group.write(change({}), () => {
      throw new Error('a defect')
    })
    group.write(change({}), hears)
    await group.close()
    expect(heard).toHaveLength(2)
    // The exception is rethrown, not swallowed.
    expect(strays).toHaveLength(1)
    expect(strays[0]).toThrow('a defect')
  })

test('DUR-2: a riding change is written alone within 5 ms, or together with the next change', async () => {
  const clock = manualClock()
  const groups: number[] = []
  const group = new GroupCommit(clock, (changes) => {
    groups.push(changes.length)
    return changes.map(() => ({ ok: true }))
  })
  const written = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  group.write(change({}), () => {}, { ride: true })
  await written()
  expect(groups).toEqual([]) // nothing waits for it yet
  await group.commit(change({}))
  expect(groups).toEqual([2]) // one sync for both
  group.write(change({}), () => {}, { ride: true })
  await clock.advance(5)
  await written()
  expect(groups).toEqual([2, 1])
  await group.close()
})
