import type { Clock } from '../../src/core/clock.ts'

/** The timers of a clock and the times at which they fire, for a clock that advances from one timer to the next. */
export function dueTimers(clock: Clock): { timer: Clock['timer']; due: () => Iterable<number> } {
  const due = new Map<symbol, number>()
  return {
    due: () => due.values(),
    timer(ms, fire) {
      const id = Symbol('timer')
      due.set(id, clock.now() + Math.max(0, Math.ceil(ms)))
      const callOff = clock.timer(ms, () => {
        due.delete(id)
        fire()
      })
      return () => {
        due.delete(id)
        callOff()
      }
    },
  }
}
