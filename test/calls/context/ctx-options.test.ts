import { createRuntime, tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** What a body sees that uses ctx in this way, in a task: `code: message`. */
async function refusal(use: (ctx: ToolContext) => unknown): Promise<string> {
  let seen = 'accepted'
  const body = tool({
    name: 'body',
    description: 'Uses ctx',
    input: { type: 'object' },
    onCrash: 'rerun',
    background: { events: { changed: {} } },
    async execute(_, ctx) {
      try {
        await use(ctx)
      } catch (error) {
        seen = `${(error as { code?: string }).code}: ${(error as Error).message}`
      }
      return null
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [body], logger: quiet })
  try {
    const session = runtime.session('s')
    const { id } = await session.tasks.start({ tool: body })
    await session.tasks.wait(id)
    return seen
  } finally {
    await runtime.close()
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- the cases pass what the types do not allow
type Untyped = any

const misspelt: [string, (ctx: Untyped) => unknown, string, string][] = [
  ['step', (ctx) => ctx.step('a', () => 1, { onec: true }), 'config_invalid', 'once'],
  ['later', (ctx) => ctx.later({ onTimeot: 'fail' }), 'config_invalid', 'onTimeout'],
  ['ask', (ctx) => ctx.ask({ text: 'Yes?', choises: ['a'] }), 'config_invalid', 'choices'],
  ['progress', (ctx) => ctx.progress({ curent: 1 }), 'config_invalid', 'current'],
  ['run', (ctx) => ctx.run([{ id: 'a', name: 'body', inptu: {} }]), 'call_invalid', 'input'],
  ['complete', (ctx) => ctx.complete({ prompt: 'Hello', temprature: 0 }), 'turn_invalid', 'temperature'],
  ['turn', (ctx) => ctx.turn({ message: 'Hello', limit: {} }), 'turn_invalid', 'limits'],
  ['emit', (ctx) => ctx.emit('changed', 1, { kee: 'a' }), 'emit_invalid', 'key'],
  ['attachments.create', (ctx) => ctx.attachments.create('x', { mediatype: 'a/b' }), 'value_invalid', 'mediaType'],
  ['task.artifact', (ctx) => ctx.task.artifact({ name: 'a', pth: '/a' }), 'task_invalid', 'path'],
  ['task.request', (ctx) => ctx.task.request('Which?', { expect: 'a' }), 'task_invalid', 'expected'],
  ['task.signal', (ctx) => ctx.task.signal('go', { deadlin: '1s' }), 'task_invalid', 'deadline'],
  ['task.receive', (ctx) => ctx.task.receive({ deadlin: '1s' }), 'task_invalid', 'deadline'],
]

/** The options of files, values and secrets are the same in ctx and in a session. */
const storage: [string, (of: Untyped) => Promise<unknown>, string][] = [
  [
    'files.write',
    ({ files }) => files.write('/a', 'x', { ifhash: null }),
    'no option `ifhash`; did you mean `ifHash`?',
  ],
  ['files.write', ({ files }) => files.write('/a', 'x', { mediaType: 1 }), '`mediaType` is 1'],
  ['files.list', ({ files }) => files.list('/', { limt: 1 }), 'no option `limt`; did you mean `limit`?'],
  ['files.glob', ({ files }) => files.glob('**', { limit: 0 }), '`limit` is 0'],
  ['files.remove', ({ files }) => files.remove('/a', { recursiv: true }), 'did you mean `recursive`?'],
  ['files.move', ({ files }) => files.move('/a', '/b', { replac: true }), 'did you mean `replace`?'],
  ['values.set', ({ values }) => values.set('a', 1, { ifRevison: 1 }), 'did you mean `ifRevision`?'],
  ['values.delete', ({ values }) => values.delete('a', { ifRevision: null }), '`ifRevision` is null'],
  ['values.list', ({ values }) => values.list({ prefx: 'a' }), 'did you mean `prefix`?'],
]

const mistyped: [string, (ctx: Untyped) => unknown, string, string][] = [
  ['step', (ctx) => ctx.step('a'), 'config_invalid', "Step 'a' has no function. Write ctx.step('a', async () => …)."],
  ['step', (ctx) => ctx.step('a', { order: 1 }), 'config_invalid', "Step 'a' has no function."],
  ['step', (ctx) => ctx.step('a', () => 1, { once: 'yes' }), 'config_invalid', '`once`'],
  ['step', (ctx) => ctx.step('a', () => 1, { retry: { attempts: 0 } }), 'config_invalid', '`retry.attempts`'],
  ['step', (ctx) => ctx.step('a', () => 1, { timeout: 'soon' }), 'config_invalid', '`timeout`'],
  ['later', (ctx) => ctx.later({ onCancel: 'maybe' }), 'config_invalid', '`onCancel`'],
  ['ask', (ctx) => ctx.ask({ text: 'Yes?', several: 'yes' }), 'config_invalid', '`several`'],
  ['progress', (ctx) => ctx.progress({ label: 1 }), 'config_invalid', '`label`'],
  ['output', (ctx) => ctx.output(1), 'value_invalid', '`text`'],
  ['run', (ctx) => ctx.run([{ id: 'a' }]), 'call_invalid', '`name`'],
  ['run', (ctx) => ctx.run({ id: 'a', name: 'body' }), 'call_invalid', 'array'],
  ['complete', (ctx) => ctx.complete({ prompt: 'Hello', maxOutputTokens: '9' }), 'turn_invalid', '`maxOutputTokens`'],
  ['turn', (ctx) => ctx.turn({ message: 'Hello', limits: { steps: 0 } }), 'turn_invalid', '`limits.steps`'],
  ['turn', (ctx) => ctx.turn({}), 'turn_invalid', '`message`'],
  ['emit', (ctx) => ctx.emit('changed', 1, { key: 1 }), 'emit_invalid', '`key`'],
  ['attachments.create', (ctx) => ctx.attachments.create('x', { mediaType: 1 }), 'value_invalid', '`mediaType`'],
  ['task.artifact', (ctx) => ctx.task.artifact({ name: 1, path: '/a' }), 'task_invalid', '`name`'],
  ['task.receive', (ctx) => ctx.task.receive({ deadline: 'soon' }), 'task_invalid', '`deadline`'],
]

describe('options of the methods of ctx', () => {
  test.for(misspelt)(
    'CALL-12: ctx.%s refuses an unknown option and names a similar one',
    async ([name, use, code, similar]) => {
      const seen = await refusal(use)
      expect(seen).toMatch(new RegExp(`^${code}: `))
      expect(seen).toContain(`\`ctx.${name}()\` has no option`)
      expect(seen).toContain(`did you mean \`${similar}\`?`)
    },
  )

  test.for(mistyped)('CALL-12: ctx.%s refuses a mistyped option', async ([, use, code, part]) => {
    const seen = await refusal(use)
    expect(seen).toMatch(new RegExp(`^${code}: `))
    expect(seen).toContain(part)
  })

  test.for(storage)('CALL-12: %s refuses unknown and mistyped options', async ([, use, part]) => {
    const runtime = await createRuntime({ store: 'memory:', logger: quiet })
    const session = runtime.session('s')
    await expect(use(session)).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining(part) })
    await runtime.close()
    expect(await refusal((ctx) => use(ctx))).toContain(part)
  })

  test('CALL-12: secrets.set refuses unknown options and tools that are not names', async () => {
    const runtime = await createRuntime({ store: 'memory:', logger: quiet })
    const { secrets } = runtime.session('s') as Untyped
    await expect(secrets.set('a', 'x', { tool: ['b'] })).rejects.toThrow('did you mean `tools`?')
    await expect(secrets.set('a', 'x', { tools: 'b' })).rejects.toThrow("`tools` is 'b'; it must be an array")
    await runtime.close()
  })

  test('CALL-12: a refused step records nothing and its id can be used again', async () => {
    const seen = await refusal(async (ctx) => {
      await expect(ctx.step('a', () => 1, { once: 1 } as never)).rejects.toThrow('`once`')
      expect(await ctx.step('a', () => 2)).toBe(2)
    })
    expect(seen).toBe('accepted')
  })
})
