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
