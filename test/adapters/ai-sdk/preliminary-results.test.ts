// Tools whose `execute` is an async generator: the SDK gets each yield as a preliminary result, the feed as progress.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { isStepCount, streamText, tool as aiTool, type ToolSet } from 'ai'
import { createRuntime, type Runtime } from 'pawl'
import { pawlTools, wrapTools } from 'pawl/ai-sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { resultsShown, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { freshDir, quiet } from '../../kit/stores/fresh-store.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ grace: 0 })
})

const input = z.object({})
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const steps = {
  steps: aiTool({
    inputSchema: input,
    async *execute() {
      const state = { done: 0, of: 2 }
      yield state
      await turn()
      state.done = 1 // the same object again
      yield state
      await turn()
      yield { done: 2, of: 2 }
    },
  }),
}

async function runtimeOf(tools: Parameters<typeof pawlTools>[0], terms: object = {}) {
  const runtime = await createRuntime({
    store: 'memory:',
    tools: pawlTools(tools, Object.fromEntries(Object.keys(tools).map((name) => [name, terms]))),
    logger: quiet,
  })
  open.push(runtime)
  return runtime
}

/** The results that the SDK streams: [output, preliminary]. */
async function stream(tools: ToolSet, name = 'steps') {
  const model = scripted([['a', name, '{}']])
  const result = streamText({ model, prompt: 'Go', tools, stopWhen: isStepCount(2), onError() {} })
  const results: unknown[] = []
  for await (const part of result.stream) {
    if (part.type === 'tool-result') results.push([part.output, part.preliminary === true])
    if (part.type === 'tool-error') results.push(String(part.error))
  }
  return { results, shown: resultsShown(model.doStreamCalls) }
}

describe('preliminary results', () => {
  test('CALL-10: the SDK streams the same results as without Pawl', async () => {
    const native = await stream(steps)
    const runtime = await runtimeOf(steps)
    const wrapped = await stream(wrapTools(runtime.session('s'), steps))
    expect(wrapped.results).toEqual([
      [{ done: 0, of: 2 }, true],
      [{ done: 1, of: 2 }, true],
      [{ done: 2, of: 2 }, true],
      [{ done: 2, of: 2 }, false],
    ])
    expect(wrapped.results.slice(1)).toEqual(native.results.slice(1)) // the SDK shows the changed object twice
    expect(wrapped.shown).toEqual([['a', { type: 'text', value: '{"done":2,"of":2}' }]])
  })

  test('CALL-10: a call that is on record delivers only its result', async () => {
    const runtime = await runtimeOf(steps)
    const tools = wrapTools(runtime.session('s'), steps)
    await stream(tools)
    const { results, shown } = await stream(tools)
    expect(results).toEqual([
      [{ done: 2, of: 2 }, true],
      [{ done: 2, of: 2 }, false],
    ])
    expect(shown).toEqual([['a', { type: 'text', value: '{"done":2,"of":2}' }]])
  })

  test('FEED-2: each yield is live progress of the call, and secrets in it are redacted', async () => {
    const tools = {
      steps: aiTool({
        inputSchema: input,
        async *execute() {
          yield 'token hunter22-hunter22'
          yield { text: 'whole' }
        },
      }),
    }
    const runtime = await runtimeOf(tools)
    const session = runtime.session('s')
    await session.secrets.set('token', 'hunter22-hunter22')
    const seen: unknown[] = []
    const reading = (async () => {
      for await (const event of session.events({ live: true, after: 'now' })) {
        if (event.type === 'call.progress') seen.push(event.body)
        if (event.type === 'call.settled') return
      }
    })()
    await stream(wrapTools(session, tools))
    await reading
    expect(seen).toEqual([
      { current: 1, label: 'token [redacted]', preliminary: 'token [redacted]' },
      { current: 2, label: '{"text":"whole"}', preliminary: { text: 'whole' } },
    ])
  })

  test('CALL-10: a plain function that returns an iterable streams from its second call on', async () => {
    const tools = {
      steps: aiTool({
        inputSchema: input,
        execute: (): AsyncIterable<string> =>
          (async function* () {
            yield 'half'
            yield 'whole'
          })(),
      }),
    }
    const runtime = await runtimeOf(tools)
    const results = async (session: string) => (await stream(wrapTools(runtime.session(session), tools))).results
    expect(await results('one')).toEqual([['whole', false]])
    expect(await results('two')).toEqual([
      ['half', true],
      ['whole', true],
      ['whole', false],
    ])
  })

  test('VAL-4: an error after some yields is the end of the call', async () => {
    const tools = {
      steps: aiTool({
        inputSchema: input,
        async *execute() {
          yield 'half'
          throw new Error('No such city')
        },
      }),
    }
    const runtime = await runtimeOf(tools, { showErrors: true })
    const { results } = await stream(wrapTools(runtime.session('s'), tools))
    expect(results).toEqual([['half', true], '[Tool execution failed]\nNo such city'])
  })

  test('VAL-1: a yield that is no JSON is left out; the result must be JSON', async () => {
    const tools = {
      steps: aiTool({
        inputSchema: input,
        async *execute() {
          yield 1n as unknown
          yield { at: new Date(0) } as unknown
        },
      }),
    }
    const runtime = await runtimeOf(tools)
    const { results } = await stream(wrapTools(runtime.session('s'), tools))
    expect(results).toEqual([
      [{ at: '1970-01-01T00:00:00.000Z' }, true],
      [{ at: '1970-01-01T00:00:00.000Z' }, false],
    ])
  })

  test('POL-7: a generator that waits for approval returns a placeholder, then streams when it runs', async () => {
    const runtime = await runtimeOf(steps, { hints: { destructive: true } })
    const session = runtime.session('s')
    const { results, shown } = await stream(wrapTools(session, steps, { until: 'waiting' }))
    expect(results).toEqual([
      [expect.objectContaining({ status: 'waiting', for: 'approval', callId: 'a' }), true],
      [expect.objectContaining({ status: 'waiting', for: 'approval', callId: 'a' }), false],
    ])
    expect(shown).toEqual([['a', { type: 'text', value: expect.stringMatching(/^\[Tool call waiting\]/) }]])
    const again = stream(wrapTools(session, steps))
    const [item] = await runtime.inbox()
    await new Promise((resolve) => setImmediate(resolve))
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
    expect((await again).results.at(-1)).toEqual([{ done: 2, of: 2 }, false])
  })

  test('CALL-6: after kill -9 in the middle of a generator, the same request gets the result', async () => {
    const file = join(freshDir(), 'app.db')
    const start = (mode: string) =>
      fork(join(import.meta.dirname, 'child-generator-app.ts'), [file, mode], {
        execArgv: ['--conditions=@pawl/source'],
      })
    const first = start('hang')
    const [preliminary] = await once(first, 'message')
    expect(preliminary).toEqual(['half', true])
    first.kill('SIGKILL')
    await once(first, 'exit')
    const second = start('')
    const told: unknown[] = []
    second.on('message', (message) => told.push(message))
    await once(second, 'exit')
    expect(told.at(-1)).toEqual(['whole', false])
  })
})
