// A crash loop in one process: turns, tasks and calls share workers that die again and again, from outside or because
// of one of them. Only the culprit may be settled. test/chaos/crash-loop.slow.test.ts does this with real processes.

import { createRuntime, type Outcome, type Runtime, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { seeded } from '../kit/seeded-random.ts'
import { hang, rerunTask } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'

const seeds = process.env.PAWL_SEED === undefined ? [1, 2, 3] : [Number(process.env.PAWL_SEED)]
const each = 6
const restarts = 30
/** So short that a death is found soon, as it is when a process is restarted at once. */
const lease = 300

describe.each(stores)('crash loops on %s', (_kind, fresh) => {
  const runtimes = closedAfterEach()

  interface Scene {
    readonly clock: ManualClock
    readonly ends: readonly Promise<Pick<Outcome, 'status'>>[]
    readonly settled: () => number
    /** Starts a worker that `kill` may end. */
    launch(): Promise<{ readonly isDead: () => boolean; die(): void }>
    readonly random: () => number
  }

  const openScene = async (seed: number, isPoisonous: boolean): Promise<Scene> => {
    const { clock, store: base } = fresh()
    const store: Store = keepOpen(base)
    const random = seeded(seed)
    let die = (): void => {}
    const runs = (ms: number): Promise<string> => new Promise((resolve) => void clock.timer(ms, () => resolve('done')))
    const work: Tool = rerunTask('work', { timeout: '1d' }, ({ ms }) => runs(Number(ms)))
    const kill: Tool = rerunTask('kill', { timeout: '1d' }, () => {
      if (!isPoisonous) return 'harmless'
      clock.timer(50, die)
      return hang()
    })
    const model = scriptedModel([{ call: { name: 'work', input: { ms: 700 } } }, 'Done'], { name: 'm' })
    const options = { clock, logger: quiet, tools: [work, kill], models: [model], lease }
    const door: Runtime = await createRuntime({ ...options, store, worker: false })
    runtimes.push(door)
    let settled = 0
    const ends: Promise<Pick<Outcome, 'status'>>[] = []
    for (let n = 0; n < each; n++) {
      const session = door.session(`s${n}`)
      const input = { ms: Math.round(random() * 4_000) }
      const { id } = await session.tasks.start({ tool: 'work', input })
      ends.push(session.run([{ id: 'c', name: n === 0 ? 'kill' : 'work', input }]).then(([end]) => end as Outcome))
      ends.push(session.turn({ model, message: 'Go' }).outcome)
      ends.push(session.tasks.wait(id).then(({ outcome }) => outcome as Outcome))
    }
    for (const end of ends) end.then(() => settled++).catch(() => {})
    const launch: Scene['launch'] = async () => {
      const own = mortal(store)
      let dead = false
      die = () => {
        dead = true
        own.die()
      }
      await createRuntime({ ...options, store: own.store })
      return { isDead: () => dead, die }
    }
    return { clock, ends, settled: () => settled, launch, random }
  }

  test.each(seeds)('DUR-8, TASK-6: kills from outside settle no work (seed %i)', async (seed) => {
    const { clock, ends, settled, launch, random } = await openScene(seed, false)
    for (let n = 0; n < restarts; n++) {
      const worker = await launch()
      await clock.advance(Math.round(100 + random() * 3_000))
      worker.die()
      await clock.advance(500)
    }
    const last = await launch()
    for (let n = 0; n < 600 && settled() < ends.length; n++) await clock.advance(1_000)
    const statuses = (await Promise.all(ends)).map(({ status }) => status)
    expect(statuses).toEqual(ends.map(() => 'success'))
    last.die()
  })

  test.each(seeds)('DUR-8, TASK-6: only the call that kills its workers is poisoned (seed %i)', async (seed) => {
    const { clock, ends, settled, launch } = await openScene(seed, true)
    let deaths = 0
    let worker = await launch()
    for (let n = 0; n < 3_000 && settled() < ends.length; n++) {
      await clock.advance(500)
      if (!worker.isDead()) continue
      deaths++
      worker = await launch()
    }
    const [culprit, ...others] = await Promise.all(ends)
    expect(culprit).toMatchObject({ status: 'failure', failure: { code: 'poisoned', raw: { deaths: 3 } } })
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 'success'))
    expect(deaths).toBeLessThanOrEqual(8)
    worker.die()
  })
})
