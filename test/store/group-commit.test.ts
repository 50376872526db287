import { afterEach, expect, test, vi } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { callRecord, change, progressOf, waitRecord } from '../../src/testing/store-cases/record-builders.ts'
import { GroupCommit } from '../../src/store/group-commit.ts'
import type { CallProgress } from '../../src/store/records/call-record.ts'
import type { Change, Written } from '../../src/store/store.ts'

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

test('WAIT-1: a hint says that no call began to wait only if the change shows it', async () => {
  const parks: (boolean | undefined)[] = []
  const group = new GroupCommit(manualClock(), (changes) => changes.map(() => ({ ok: true })))
  group.onHint((hint) => parks.push(hint.parks))
  const parksAfter = async (parts: Parameters<typeof change>[0]): Promise<boolean | undefined> => {
    await group.commit(change(parts))
    return parks.at(-1)
  }
  const progress = (of: Partial<CallProgress>): Pick<Change, 'updateCall'> => ({
    updateCall: { uid: 'c', progress: progressOf(callRecord('c', of)) },
  })
  const first = { state: 'running', attempt: 1, wait: null } as const
  const held = (fence: number): Pick<Change, 'guards'> => ({ guards: [{ kind: 'holds', call: 'c', fence }] })
  expect(await parksAfter({ insertCall: callRecord('c') })).toBe(false)
  expect(await parksAfter({ ...held(1), ...progress(first) })).toBe(false)
  expect(await parksAfter({ ...held(7), ...progress({ state: 'settled' }) })).toBe(false)
  // Taken over, resumed or repeated: its questions may be open.
  expect(await parksAfter({ ...held(2), ...progress(first) })).toBe(true)
  expect(await parksAfter({ ...held(1), ...progress({ ...first, attempt: 2 }) })).toBe(true)
  expect(await parksAfter({ ...held(1), ...progress({ ...first, wait: 'w' }) })).toBe(true)
  expect(await parksAfter({ ...held(1), ...progress({ state: 'parked', attempt: 1 }) })).toBe(true)
  expect(await parksAfter({ insertWaits: [waitRecord('w', 'c')] })).toBe(true)
  expect(await parksAfter({ documents: [{ of: 'inbox', tenant: 't', session: 's', key: 'k', value: '1' }] })).toBe(true)
  group.shared = true
  expect(await parksAfter({ insertCall: callRecord('c') })).toBe(true)
  await group.close()
})
