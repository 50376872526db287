// Store cases for hints: a hint is only advisory, but one must follow every write, so that workers need not poll.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { Hint } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

export const hintCases: readonly StoreCase[] = [
  {
    topic: 'hint',
    name: 'every accepted change is hinted, with `wakes` for claimable calls and answers',
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      const hints: Hint[] = []
      const stop = store.onHint((hint) => hints.push(hint))
      const call = r.callRecord('c1', { owner: 'w', state: 'running' })
      const hinted = async (what: string, wakes: boolean, parts: Parameters<typeof r.change>[0]): Promise<void> => {
        hints.length = 0
        r.assertAccepted(await store.commit(r.change(parts)))
        await r.eventually(clock, what, async () => hints.some((hint) => !wakes || hint.wakes))
      }
      await hinted('a hint', false, { insertCall: call, insertWaits: [r.waitRecord('w1', call.uid)] })
      await hinted('an answered wait wakes', true, { resolveWait: { id: 'w1', resolution: '{"value":1}' } })
      await hinted('a released call wakes', true, {
        updateCall: { uid: call.uid, progress: r.progressOf(call), release: true },
      })
      await hinted('a new call without an owner wakes', true, { insertCall: r.callRecord('c2') })
      stop()
      hints.length = 0
      r.assertAccepted(await store.commit(r.change({ events: [r.eventRecord(2)] })))
      await clock.advance('1s')
      assert.deepEqual(hints, [])
    },
  },
  {
    topic: 'hint',
    name: 'a write through another handle is hinted with `outside`',
    promise: ['FEED-1'],
    needs: 'second handle',
    async run(open) {
      const clock = manualClock()
      const { store, again } = await open(clock)
      const other = await again()
      for (const round of [1, 2]) {
        let outside = false
        const stop = store.onHint((hint) => void (outside ||= hint.outside))
        r.assertAccepted(await other.commit(r.change({ events: [r.eventRecord(round)] })))
        await r.eventually(clock, 'a hint from outside', async () => outside)
        stop()
      }
    },
  },
]
