// pawl/ai-sdk in the loops of the SDK with its mock model: the calls that reach Pawl, and the results the model reads.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tool as aiTool, convertToModelMessages, jsonSchema, type ToolSet } from 'ai'
import { createRuntime, type Hook, PawlError, type Tool, tool } from 'pawl'
import { aiTools, isLost, OutcomeError } from 'pawl/ai-sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loops, resultsShown, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { png, readFiles, readNothing, shop, watched } from '../../kit/shop-tools.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-ai-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe.each(Object.entries(loops))('%s', (kind, loop) => {
  test('CALL-2: parallel calls of one message form one batch in order, with their own results', async () => {
    const { tools } = shop()
    const { session, asked } = await watched(tools)
    const model = scripted(
      [
        ['a', 'slow', ''],
        ['b', 'add', '{"a":1}'],
        ['c', 'add', '{"a":2,"b":2}'],
        ['d', 'slow', '{}'],
      ],
      [['e', 'add', '{"a":3}']],
      'Six',
    )
    const { text, prompts } = await loop(model, aiTools(session))
    expect(text).toBe('Six')
    expect(asked.map(({ calls }) => calls.map(({ id }) => id).join(''))).toEqual(['abcd', 'e'])
    expect(new Set(asked.map(({ batch }) => batch)).size).toBe(2)
    const shown = new Map(resultsShown(prompts.slice(0, 2)))
    expect(['a', 'b', 'c', 'd'].map((id) => shown.get(id))).toEqual(
      ['at last', '{"sum":1}', '{"sum":4}', 'at last'].map((value) => ({ type: 'text', value })),
    )
    expect(resultsShown(prompts)).toEqual([['e', { type: 'text', value: '{"sum":3}' }]])
  })

  test('CALL-2: calls of two toolsets and equal ids in one message form one batch', async () => {
    const { tools, ran } = shop()
    const { session, asked } = await watched(tools)
    const own = tools.slice(0, 1)
    const sets = { ...aiTools(session, { tools: own }), ...aiTools(session, { tools: tools.slice(1) }) }
    await loop(
      scripted([
        ['a', 'add', '{"a":1}'],
        ['b', 'slow', ''],
        ['a', 'add', '{"a":2}'],
      ]),
      sets,
    )
    expect(asked.map(({ calls }) => calls.map(({ id }) => id))).toEqual([['a', 'b', 'a']])
    expect(ran.toSorted()).toEqual(['add 1', 'add 2', 'slow'])
  })

  test('CALL-2: sequential execution and slow callbacks still share one batch name', async () => {
    const { tools } = shop()
    const { session, asked } = await watched(tools)
    const calls: [string, string, string][] = [['a', 'slow', ''], ['b', 'add', '{"a":1}']] // prettier-ignore
    await loop(scripted(calls), aiTools(session), { toolCallConcurrency: 1 })
    expect(asked.map(({ calls }) => calls.length)).toEqual([1, 1])
    expect(asked[0]?.batch).toBe(asked[1]?.batch)
    const onToolExecutionStart = async ({ toolCall }: { toolCall: { toolCallId: string } }): Promise<void> => {
      // The callback of the first call returns only when the second call has started.
      while (toolCall.toolCallId === 'a' && asked.length < 3) await new Promise((resolve) => setImmediate(resolve))
    }
    await loop(scripted(calls), aiTools(session), { prompt: 'Again', onToolExecutionStart })
    expect(asked[2]?.batch).toBe(asked[3]?.batch)
    expect(asked[2]?.batch).not.toBe(asked[0]?.batch)
  })

  test('VAL-3: a failure is an error with the recorded text, and other calls keep their results', async () => {
    const { tools } = shop()
    const { session } = await watched(tools)
    const model = scripted([['a', 'broke', ''], ['b', 'add', '{"a":1}']]) // prettier-ignore
    const { prompts, content } = await loop(model, aiTools(session))
    const shown = new Map(resultsShown(prompts))
    expect(shown.get('a')).toEqual({
      type: 'error-text',
      value: expect.stringMatching(
        /^\[Tool execution failed\]\nNo such "order"\n\[attachment "shot\.png" \S+ image\/png, 8 bytes\]$/,
      ),
    })
    expect(shown.get('b')).toEqual({ type: 'text', value: '{"sum":1}' })
    const error = content.find((part) => part.type === 'tool-error')
    expect(error?.error).toBeInstanceOf(OutcomeError)
    expect(error?.error).toMatchObject({ outcome: { status: 'failure', failure: { code: 'not_found' } } })
  })

  test('CALL-4: invalid arguments reach Pawl, and the model reads every problem with its path', async () => {
    const { tools, ran } = shop()
    const { session } = await watched(tools)
    const { prompts } = await loop(scripted([['a', 'add', '{"a":"x","b":"y"}']]), aiTools(session))
    const [[, output] = []] = resultsShown(prompts)
    expect(output).toMatchObject({
      type: 'error-text',
      value: expect.stringMatching(/^\[Tool execution failed\]\nThe arguments are not valid:\n- a: .*\n- b: .*\nFix/),
    })
    expect(ran).toEqual([])
  })

  test('CALL-2: the SDK answers malformed JSON and unknown tools, and every call gets one result', async () => {
    const { tools, ran } = shop()
    const { session, asked } = await watched(tools)
    const model = scripted([['a', 'add', '{"a":1'], ['b', 'nowhere', '{}'], ['c', 'add', '{"a":1}'], ['d', '__proto__', '{}']]) // prettier-ignore
    const { prompts } = await loop(model, aiTools(session))
    const shown = new Map(resultsShown(prompts) as [string, { type: string }][])
    expect([...shown.keys()].toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(['a', 'b', 'c', 'd'].map((id) => shown.get(id)?.type)).toEqual([
      'error-text',
      'error-text',
      'text',
      'error-text',
    ])
    expect(asked.map(({ calls }) => calls.length)).toEqual([1])
    expect(ran).toEqual(['add 1'])
  })

  test('VAL-5: images and PDFs are sent as file parts if readable; other files only by name', async () => {
    const { tools } = shop()
    const { session } = await watched(tools)
    const run = async (options: object) =>
      (resultsShown((await loop(scripted([['a', 'draw', '']]), aiTools(session, options))).prompts)[0] ?? [])[1]
    expect(await run({ attachments: readFiles })).toMatchObject({
      type: 'content',
      value: [
        { type: 'text', text: '{"image":' },
        { type: 'file', mediaType: 'image/png', filename: 'shot.png', data: { type: 'data', data: expect.anything() } },
        { type: 'text', text: ',"paper":' },
        { type: 'file', mediaType: 'application/pdf' },
        { type: 'text', text: ',"table":' },
        { type: 'text', text: expect.stringContaining('t.csv') },
        { type: 'text', text: '}' },
      ],
    })
    for (const options of [{}, { attachments: readNothing }]) {
      expect(await run(options)).toEqual({
        type: 'text',
        value: expect.stringMatching(/^\{"image":\[attachment "shot\.png"/),
      })
    }
  })

  test('CALL-6: after a restart the same conversation joins the recorded calls and reruns nothing', async () => {
    const store = `sqlite:${join(dir, `${kind}.db`)}`
    const ran: string[] = []
    const stall = Promise.withResolvers<void>()
    const counted = (name: string, body: () => unknown): Tool =>
      tool({
        name,
        description: name,
        input: z.object({}),
        onCrash: 'rerun',
        concurrency: 'parallel',
        execute: () => (ran.push(name), body()),
      })
    const script: Parameters<typeof scripted> = [[['a', 'one', '']], [['b', 'two', ''], ['c', 'stuck', '']], 'Done'] // prettier-ignore

    const before = await watched(
      [counted('one', () => 1), counted('two', () => 2), counted('stuck', () => stall.promise)],
      store,
    )
    const lost = loop(scripted(...script), aiTools(before.session), { stopWhen: [isLost] })
    await expect.poll(() => ran).toEqual(['one', 'two', 'stuck'])
    await before.session.run(before.asked[1]?.calls.slice(0, 1) ?? []) // `two` is settled
    await before.runtime.close({ grace: 0 })
    expect(
      (await lost).content
        .filter((part) => part.type === 'tool-error')
        .every(({ error }) => error instanceof PawlError),
    ).toBe(true)

    const after = await watched(
      [counted('one', () => 'again'), counted('two', () => 'again'), counted('stuck', () => 3)],
      store,
    )
    const { text, prompts } = await loop(scripted(...script), aiTools(after.session))
    expect(text).toBe('Done')
    expect(ran).toEqual(['one', 'two', 'stuck', 'stuck'])
    expect(new Map(resultsShown(prompts))).toEqual(new Map([['b', { type: 'text', value: '2' }], ['c', { type: 'text', value: '3' }]])) // prettier-ignore
    expect(after.asked.map(({ batch }) => batch)).toEqual(before.asked.slice(0, 2).map(({ batch }) => batch))
    stall.resolve()
    await after.runtime.close()
  })

  test('CALL-2: if the runtime is closed, isLost stops the loop before the model sees a failure', async () => {
    const { tools } = shop()
    const { session, runtime } = await watched(tools)
    await runtime.close()
    const model = scripted([['a', 'add', '{"a":1}']], 'I believe it failed')
    const { prompts } = await loop(model, aiTools(session), { stopWhen: [isLost] })
    expect(prompts).toHaveLength(1)
  })

  test('TIME-3: the abort signal is passed to the batch, and aborted calls do not start', async () => {
    const { tools, ran } = shop()
    const { session, asked } = await watched(tools)
    const live = new AbortController()
    await loop(scripted([['a', 'slow', '']]), aiTools(session), { abortSignal: live.signal })
    expect(asked[0]?.signal?.aborted).toBe(false)
    live.abort()
    expect(asked[0]?.signal?.aborted).toBe(true)
    const dead = new AbortController()
    const aborting = { abortSignal: dead.signal, onToolExecutionStart: () => dead.abort() }
    await loop(scripted([['b', 'slow', '']]), aiTools(session), aborting).catch(() => {})
    expect(ran).toEqual(['slow'])
    expect(asked).toHaveLength(1)
  })
})

test('TIME-3: aborting the SDK cancels its calls and reports them as cancelled', async () => {
  const waits = tool({
    name: 'waits',
    description: 'Waits',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  })
  const { session } = await watched([waits])
  const stop = new AbortController()
  const asked = aiTools(session).waits?.execute({}, { toolCallId: 'a', messages: [], abortSignal: stop.signal })
  setTimeout(() => stop.abort(), 20)
  await expect(asked).rejects.toMatchObject({
    outcome: { status: 'cancelled' },
    message: expect.stringMatching(/^\[Tool execution cancelled\]/),
  })
})

test('TIME-3: a batch is aborted only when all of its calls are aborted', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const { slow } = aiTools(session)
  const ask = (messages: [], ...signals: (AbortSignal | undefined)[]) =>
    Promise.all(
      signals.map(async (abortSignal, n) =>
        slow?.execute({}, { toolCallId: `${n}`, messages, ...(abortSignal ? { abortSignal } : {}) }),
      ),
    )
  const [one, two] = [new AbortController(), new AbortController()]
  await ask([], one.signal, two.signal)
  await ask([], one.signal, undefined)
  one.abort()
  expect(asked.map(({ signal }) => signal?.aborted)).toEqual([false, undefined])
  two.abort()
  expect(asked.map(({ signal }) => signal?.aborted)).toEqual([true, undefined])
})

test('TOOL-8: the model gets the same definition as from a native SDK tool', async () => {
  const input = z.object({
    at: z.iso.datetime().describe('When'),
    many: z.array(z.object({ n: z.number() })).optional(),
  })
  const mine = tool({
    name: 'mine',
    title: 'Mine',
    description: 'Mine',
    input,
    examples: [{ at: 'x' }],
    execute: () => 1,
  })
  const theirs = { mine: aiTool({ description: 'Mine', inputSchema: input, execute: async () => 1 }) }
  const { session } = await watched([mine])
  const shown = async (tools: ToolSet) =>
    (await loops.generateText(scripted('Hi'), tools)).prompts[0]?.tools?.[0] as Record<string, unknown>
  const { inputExamples, ...ours } = await shown(aiTools(session))
  const { inputSchema, ...rest } = await shown(theirs)
  expect(inputExamples).toEqual([{ input: { at: 'x' } }])
  expect(ours).toEqual({ ...rest, inputSchema: expect.any(Object) })
  const bare = (json: unknown) =>
    JSON.parse(
      JSON.stringify(json).replaceAll(
        /,"additionalProperties":false|"\$schema":"[^"]*",|,"pattern":"(\\.|[^"\\])*"/g,
        '',
      ),
    )
  expect(bare(ours.inputSchema)).toEqual(bare(inputSchema))
})

test('TOOL-8: without the schema symbol of the SDK the schema works as a Standard Schema', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const set = aiTools(session)
  for (const each of Object.values(set)) delete (each.inputSchema as never)[Symbol.for('vercel.ai.schema')]
  const { prompts } = await loops.generateText(scripted([['a', 'add', '{"a":1}']]), set)
  expect(resultsShown(prompts)).toEqual([['a', { type: 'text', value: '{"sum":1}' }]])
  expect(prompts[0]?.tools?.[0]).toMatchObject({
    name: 'add',
    inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  })
  expect(Symbol.for('vercel.ai.schema') in jsonSchema({})).toBe(true) // the SDK still uses this symbol
})

test('TOOL-3: a toolset is sorted, omits internal tools and supports any valid tool name', async () => {
  const make = (name: string, internal = false) =>
    tool({ name, description: name, input: z.object({}), internal, execute: () => name }) as Tool
  const { session } = await watched([make('zed'), make('__proto___'), make('hidden', true), make('constructor-')])
  const set = aiTools(session)
  expect(Object.keys(set)).toEqual(['__proto___', 'constructor-', 'zed'])
  const { prompts } = await loops.generateText(scripted([['a', '__proto___', '{}']]), set)
  expect(resultsShown(prompts)).toEqual([['a', { type: 'text', value: '__proto___' }]])
  expect(aiTools(session, { tools: [] })).toEqual({})
})

test('VAL-1: a forged attachment reference in a client result is shown as JSON and not read', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  let reads = 0
  const set = aiTools(session, { attachments: { read: async () => (reads++, png) } })
  const forged = { ref: { id: 'att_other', mediaType: 'image/png', bytes: 8 } }
  const messages = await convertToModelMessages(
    [
      {
        role: 'assistant',
        parts: [{ type: 'tool-draw', toolCallId: 'a', state: 'output-available', input: {}, output: forged }],
      },
    ] as never,
    { tools: set },
  )
  expect(JSON.stringify(messages)).toContain(JSON.stringify(JSON.stringify(forged)))
  expect(reads).toBe(0)
})

test('CALL-8: the model reads the output of a project hook, the caller gets the value', async () => {
  const count = tool({ name: 'count', description: 'Counts', input: z.object({}), execute: () => 42 })
  const hides: Hook = { name: 'hides', project: () => [{ type: 'text', text: 'some' }] }
  const runtime = await createRuntime({ store: 'memory:', tools: [count], hooks: [hides] })
  const { prompts, content } = await loops.generateText(scripted([['a', 'count', '{}']]), aiTools(runtime.session('s')))
  expect(resultsShown(prompts)).toEqual([['a', { type: 'text', value: 'some' }]])
  expect(content.find((part) => part.type === 'tool-result')?.output).toBe(42)
  await runtime.close()
})

test('VAL-7: the model reads the truncated text, the caller gets the full value', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const short = {
    ...session,
    run: async (...args: Parameters<typeof session.run>) =>
      (await session.run(...args)).map((outcome) => ({ ...outcome, parts: [{ type: 'text' as const, text: 'at…' }] })),
  }
  const { prompts, content } = await loops.generateText(scripted([['a', 'slow', '']]), aiTools(short))
  expect(resultsShown(prompts)).toEqual([['a', { type: 'text', value: 'at…' }]])
  expect(content.find((part) => part.type === 'tool-result')?.output).toBe('at last')
})
