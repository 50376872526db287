// Mistakes in calls of the public API are refused with a sentence that names the option and what to write.

import { createRuntime, jsonSchema, tool } from 'pawl'
import { scriptedModel, testRuntime } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { type } from 'arktype'
import { z } from 'zod'

const named = { name: 'a', description: 'd', execute: () => 1 }
const a = tool({ ...named, input: { type: 'object' } })
const find = tool({ ...named, name: 'find_order', input: { type: 'object' } })

describe('refusals', () => {
  test('CALL-12: createRuntime() says what is wrong with its options', async () => {
    const refused = async (options: unknown): Promise<unknown> =>
      createRuntime(options as never).then(
        () => 'opened',
        (error: Error) => error.message,
      )
    expect(await refused(undefined)).toBe('The options of `createRuntime()` are undefined; they must be an object.')
    expect(await refused({ store: 'memory:', tools: { a } })).toBe(
      '`tools` is an object; it must be an array of tools, such as [search, refund].',
    )
    const stores = "it must be 'memory:', 'sqlite:<file>', 'postgres://…', a pg Pool or a store object."
    for (const store of [{}, { commit: true }, { commit: () => {} }])
      expect(await refused({ store })).toBe(`\`store\` is invalid; ${stores}`)
  })

  test('CALL-12: a wrong policy, list of models, lease or tool name gets one sentence of advice', async () => {
    const refused = async (options: object): Promise<unknown> =>
      createRuntime({ store: 'memory:', ...options }).then(
        () => 'opened',
        (error: Error) => error.message,
      )
    const rule = { tool: 'a', then: 'deny' }
    const sentence = '`policy` is a rule; a policy has a list of rules. Write { rules: [ … ] }.'
    expect(await refused({ policy: [rule] })).toBe(sentence)
    expect(await refused({ policy: rule })).toBe(sentence)
    expect(await refused({ models: { a: { name: 'x' } } })).toBe('`models` is an object; it must be an array.')
    expect(await refused({ lease: '5 seconds' })).toMatch(/^`lease` is '5 seconds'; it must be a duration: millisec/)
    expect(await refused({ lease: '5ms' })).toBe("`lease` is '5ms'; it must be a duration of at least 100 ms.")
    expect(await refused({ tools: [a, a] })).toBe("Two tools have the name 'a'. Rename one of them.")
    expect(() => tool(named as never)).toThrow(
      /^Tool 'a': `input` is missing; it must be a schema, such as z\.object\(\{ … \}\) or \{ type: 'object' \}\.$/,
    )
  })

  test('CALL-12: malformed calls are named by their index', async () => {
    const { runtime, session } = await testRuntime({ tools: [a] })
    const refused = async (calls: unknown): Promise<unknown> =>
      session.run(calls as never).then(
        () => 'ran',
        (error: Error) => error.message,
      )
    const ok = { id: '1', name: 'a' }
    expect(await refused([ok, { id: '2', nme: 'a' }])).toBe(
      "calls[1] has the unknown field 'nme'; did you mean 'name'?",
    )
    expect(await refused([ok, { id: '2' }])).toBe('`name` of calls[1] is missing; it must be a non-empty string.')
    expect(await refused([ok, 5])).toBe('calls[1] is 5; it must be an object.')
    await runtime.close()
  })

  test('CALL-12: a wrong turn, decision, task, cursor or path says once what to do', async () => {
    const { runtime, session } = await testRuntime({ tools: [a] })
    const model = scriptedModel(['Hi'])
    const refused = async (use: () => unknown): Promise<string> => {
      try {
        return `accepted: ${JSON.stringify(await use())}`
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(await refused(() => session.turn({ model, message: 5 as never }))).toBe(
      'The message is 5; it must be a string or { text, attachments }.',
    )
    expect(await refused(() => session.turn({ message: 'Hi' }))).toBe(
      'There is no model. Pass `model` to the turn, or a `frame` that has one.',
    )
    expect(await refused(() => session.turn({ model: 'x', message: 'Hi' }))).toBe(
      'No model has the name "x". Use a name from createRuntime({ models }), or add the model there. Nothing was started.',
    )
    expect(await refused(() => session.turn({ model, frame: 'x', message: 'Hi' }))).toBe(
      'No frame has the name "x". Use a name from createRuntime({ frames }), or add the frame there. Nothing was started.',
    )
    expect(await refused(() => runtime.decide('x', { approve: false, by: 'ada' } as never))).toContain(
      '`approve` is false; leave it out, or pass `deny: true` to deny.',
    )
    expect(await refused(() => session.tasks.start({ tool: 'a' }))).toBe(
      'Tool does not support background execution: a. Set `background: true` in its definition.',
    )
    expect(await refused(() => session.files.read('/none'))).toBe(
      "There is no '/none' in this session. List the directory to see its entries.",
    )
    const read = async (): Promise<void> => {
      for await (const event of session.events({ after: 'x' })) expect(event).toBeUndefined()
    }
    expect(await refused(read)).toBe(
      'The cursor "x" was not issued by this feed. Start from the beginning, or use the cursor of an event that you received.',
    )
    await runtime.close()
  })

  test('CALL-12: sessions say what is wrong with tools, calls and references', async () => {
    const { runtime, session } = await testRuntime({ tools: [a] })
    expect(() => runtime.session('s', { tools: 'x' as never })).toThrow(
      "`tools` is 'x'; it must be an array of tools, such as [search, refund].",
    )
    expect(() => session.call(undefined as never, {})).toThrow(
      'The tool of call() is undefined; it must be made with tool().',
    )
    await expect(session.calls.get(undefined as never)).rejects.toThrow(
      'The call is undefined; it must be the id of a call, { uid } or { idempotencyKey }.',
    )
    await runtime.close()
  })

  test('TOOL-1: an input schema that accepts no object is refused when the tool is defined', () => {
    const message =
      "Tool 'a': `input` describes no object, but a model always sends one; write z.object({ … }) or { type: 'object', properties: { … } }."
    for (const input of [
      z.string(),
      z.array(z.string()),
      z.union([z.string(), z.number()]),
      z.enum(['x', 'y']),
      z.literal('x'),
      type('string'),
      { type: 'string' },
      { type: ['string', 'null'] },
      { allOf: [{ type: 'object' }, { type: 'string' }] },
      jsonSchema<string>({ const: 'x' }),
    ])
      expect(() => tool({ ...named, input })).toThrow(message)
    for (const input of [
      {},
      z.object({}),
      z.record(z.string(), z.number()),
      z.discriminatedUnion('k', [z.object({ k: z.literal(1) }), z.object({ k: z.literal(2) })]),
      z.object({ n: z.string() }).transform(({ n }) => n),
      z.preprocess((value) => value, z.object({})),
      { type: ['object', 'null'] },
      { $ref: '#/$defs/x', $defs: { x: { type: 'object' } } },
      { anyOf: [{ type: 'string' }, { type: 'object' }] },
      type({ n: 'string' }).or({ m: 'string' }),
    ])
      expect(() => tool({ ...named, input })).not.toThrow()
  })

  test('CALL-12 SESS-1: a turn that names an unknown tool is refused with close names', async () => {
    const { runtime, session } = await testRuntime({ tools: [a, find] })
    const model = scriptedModel(['Hi'])
    expect(() => session.turn({ model, message: 'x', tools: ['a', 'findOrder'] })).toThrow(
      "`tools` of turn() names 'findOrder', which the session does not have; did you mean 'find_order'?",
    )
    expect(() => session.turn({ model, message: 'x', tools: ['nope'] })).toThrow(
      "`tools` of turn() names 'nope', which the session does not have; add it to the runtime or to the session.",
    )
    expect(model.asked).toBe(0)
    expect(await session.turn({ model, message: 'x', tools: ['find_order'] }).outcome).toMatchObject({
      status: 'success',
    })
    await runtime.close()
  })

  test('CALL-12 SESS-1: while a provider is away, a turn may name a tool that it may have', async () => {
    const away = {
      name: 'mcp',
      list: () => Promise.reject(new Error('down')),
      resolve: () => Promise.reject(new Error()),
    }
    const { runtime, session } = await testRuntime({ tools: [a], providers: [away] })
    const model = scriptedModel(['Hi'])
    expect(await session.turn({ model, message: 'x', tools: ['search_docs'] }).outcome).toMatchObject({
      status: 'success',
    })
    await runtime.close()
  })

  test('CALL-12 POL-1: a policy rule for an unknown tool is logged once and reported by health()', async () => {
    const rules = [
      { tool: 'find_ordr', then: 'deny' },
      { tool: ['a', 'find_*', 'send_*'], then: 'ask' },
      { then: 'allow' },
    ] as const
    const { runtime, logged } = await testRuntime({ tools: [a, find], policy: { rules } })
    const effect = 'The rule has no effect unless the tool is added later or belongs to a session.'
    const expected = [
      `policy.rules[0] is about the tool 'find_ordr', which this runtime does not have; did you mean 'find_order'? ${effect}`,
      `policy.rules[1] is about the tool 'send_*', which this runtime does not have. ${effect}`,
    ]
    expect(logged.map(({ level, message }) => [level, message])).toEqual(expected.map((text) => ['warn', text]))
    const issues = async (): Promise<unknown[]> =>
      (await runtime.health()).findings.map(({ kind, says }) => [kind, says])
    expect(await issues()).toEqual(expected.map((text) => ['policy', text]))
    runtime.tools.add(tool({ ...named, name: 'send_mail', input: {} }))
    expect(await issues()).toEqual([['policy', expected[0]]])
    expect(logged).toHaveLength(2)
    await runtime.close()
  })

  test('CALL-12: diagnostics() finds a call by session and the callId of its outcome', async () => {
    const broken = tool({
      ...named,
      name: 'broken',
      input: {},
      execute() {
        throw new Error('no disk')
      },
    })
    const { runtime, session } = await testRuntime({ tools: [broken] })
    const [outcome] = await session.run([{ id: 'c1', name: 'broken' }], { batch: 'm1' })
    const callId = outcome?.callId as string
    const found = await runtime.diagnostics({ session: session.id, batch: 'm1', callId })
    expect(found).toMatchObject({ tool: 'broken', callId: 'c1', causes: [expect.stringContaining('no disk')] })
    expect(await runtime.diagnostics(found?.call as string)).toEqual(found)
    expect(await runtime.diagnostics({ session: session.id, callId })).toBeUndefined()
    await expect(runtime.diagnostics({ sesion: 's', callId } as never)).rejects.toThrow(
      '`diagnostics()` has no option `sesion`; did you mean `session`?',
    )
    await runtime.close()
  })
})
