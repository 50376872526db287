// A worker dies after it committed a notice and before it recorded the message that the turn was started with.

import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import type { Change } from '../../../src/store/store.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { closedAfterEach, replaceWorker } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { dieAfter, keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const runtimes = closedAfterEach()
const textOf = (messages: readonly unknown[]): string => JSON.stringify(messages)
const times = (text: string, what: string): number => text.split(what).length - 1
const acknowledges = ({ events }: Change): boolean => events.some(({ type }) => type === 'notice.acknowledged')

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  input: { type: 'object' },
  hints: { destructive: true },
  execute: () => 'PAID-BY-CARD',
})
const report = rerunTask('report', () => 'THREE-PAGES')

/** Each leaves one notice for the next turn and returns a text that must reach the model once. */
const notices: Readonly<Record<string, (runtime: Runtime, advance: (ms: number) => Promise<void>) => Promise<string>>> =
  {
    async 'the result of a call behind a placeholder'(runtime, advance) {
      const session = runtime.session('s')
      const turn = session.turn({ model: 'm', message: 'Pay' })
      await advance(1_000)
      await session.messages.send('What now?') // ends the wait: the call gets a placeholder
      await advance(1_000)
      expect(await turn.outcome).toMatchObject({ status: 'success' })
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      await advance(1_000)
      return 'PAID-BY-CARD'
    },
    async 'the end of a task'(runtime, advance) {
      await runtime.session('s').tasks.start({ tool: 'report', title: 'Report' })
      await advance(1_000)
      return 'THREE-PAGES'
    },
  }

test.each(Object.entries(notices))(
  'SESS-1 TASK-9: after a crash between %s and the message of the user, the model reads both once',
  async (_, leaveNotice) => {
    const { clock, store } = freshMemory()
    const model = scriptedModel(
      [
        { when: /And now\?/, say: 'Done.' },
        { when: /What now\?/, say: 'It waits.' },
        { when: /Pay/, call: { name: 'pay' } },
      ],
      { name: 'm' },
    )
    const options = { clock, logger: quiet, tools: [pay, report], models: [model] }
    const shared = keepOpen(store)
    const before = await createRuntime({ ...options, store: shared })
    const result = await leaveNotice(before, (ms) => clock.advance(ms))
    expect(await before.session('s').notices.list()).toHaveLength(1)
    await before.close({ grace: 0 })

    const dying = mortal(shared)
    const first = await createRuntime({ ...options, store: dieAfter(dying, acknowledges) })
    ignoreOutcome(first.session('s').turn({ model, message: 'And now?', id: 't' }))
    await clock.advance(1_000)
    const reader = await createRuntime({ ...options, store: shared, worker: false })
    runtimes.push(reader)
    expect(await reader.session('s').notices.list()).toEqual([])
    expect(textOf((await reader.session('s').messages.list()).map(({ message }) => message))).not.toContain('And now?')

    const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
    const turn = second.session('s').turn({ model, message: 'And now?', id: 't' })
    expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({
      value: { status: 'success', value: { text: 'Done.' } },
    })
    const { messages = [] } = model.requests.at(-1) ?? {}
    expect(problemsIn(messages)).toEqual([])
    expect(times(textOf(messages), 'And now?'), textOf(messages)).toBe(1)
    expect(times(textOf(messages), result), textOf(messages)).toBe(1)
  },
)
