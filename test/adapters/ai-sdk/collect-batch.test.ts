// Calls of one message that reach the adapter at different times form one batch.

import { createRuntime, tool } from 'pawl'
import { aiTools } from 'pawl/ai-sdk'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loops, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const turns = async (n = 60): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

test.each(['generateText', 'streamText'] as const)(
  'SCHED-1 CALL-2: with %s, a slow callback does not let two writes of one message overlap',
  async (loop) => {
    const running = new Set<string>()
    const gates = new Map<string, () => void>()
    const write = tool({
      name: 'write',
      description: 'Writes',
      input: z.object({ n: z.string() }),
      execute: async ({ n }) => {
        running.add(n)
        await new Promise<void>((resolve) => gates.set(n, resolve))
        running.delete(n)
        return n
      },
    })
    const runtime = await createRuntime({ store: 'memory:', tools: [write], logger: quiet })
    const model = scripted([
      ['a', 'write', '{"n":"a"}'],
      ['b', 'write', '{"n":"b"}'],
    ])
    const done = loops[loop](model, aiTools(runtime.session('s')), {
      onToolExecutionStart: async ({ toolCall }) => {
        if (toolCall.toolCallId === 'b') await turns(10)
      },
    })
    await turns(200)
    const seen = [...running]
    for (let i = 0; i < 5; i++) {
      for (const go of gates.values()) go()
      await turns()
    }
    await done
    await runtime.close({ grace: 0 })
    expect(seen).toEqual(['a'])
  },
)

test('SCHED-1 CALL-2: two handles of a session keep the order of one message', async () => {
  const steps: string[] = []
  const write = (name: string) =>
    tool({
      name,
      description: 'Writes',
      input: z.object({}),
      async execute() {
        steps.push(`${name} begins`)
        await turns(10)
        steps.push(`${name} ends`)
        return name
      },
    })
  const [one, two] = [write('one'), write('two')]
  const runtime = await createRuntime({ store: 'memory:', tools: [one, two], logger: quiet })
  const tools = {
    ...aiTools(runtime.session('s'), { tools: [one] }),
    ...aiTools(runtime.session('s'), { tools: [two] }),
  }
  await loops.generateText(scripted([['a', 'one', '{}'], ['b', 'two', '{}']]), tools) // prettier-ignore
  await runtime.close()
  expect(steps).toEqual(['one begins', 'one ends', 'two begins', 'two ends'])
})
