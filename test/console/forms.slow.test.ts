// Forms for the arguments of a tool and for answers, in a real browser, with schemas of hostile servers among them.

import { jsonSchema, tool } from 'pawl'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { look } from '../kit/console/small-tools.ts'

const refund = tool({
  name: 'refund',
  description: 'Sends money back',
  input: z.object({ order: z.string(), cents: z.number().int().positive(), note: z.string().optional() }),
  hints: { destructive: true },
  execute: ({ cents }) => ({ refunded: cents }),
})
const pick = tool({
  name: 'pick',
  description: 'Asks',
  input: z.object({}),
  onCrash: 'rerun',
  execute: (_, ctx) =>
    ctx.ask({ text: 'Which ones?', choices: ['red', 'blue', 'green'], several: true, default: ['blue', 'green'] }),
})
const shapes = tool({
  name: 'shapes',
  description: 'Has fields of many kinds',
  input: jsonSchema<Record<string, never>>({
    type: 'object',
    properties: {
      level: { type: 'integer', enum: [1, 2, '2', 2] },
      on: { type: 'boolean' },
      'a.b': { type: 'string', minLength: 3 },
      a: { type: 'object', properties: { b: { type: 'string' } } },
    },
    required: ['level'],
  }),
  hints: { readOnly: true },
  execute: (input) => input,
})
const hostile = tool({
  name: 'hostile',
  description: 'From a hostile server',
  input: jsonSchema<Record<string, never>>({
    type: 'object',
    title: 7,
    properties: {
      a: { type: 'string', title: { x: 1 }, description: ['y'] },
      b: true,
      c: { type: 'object', description: 5, default: 'no object', properties: { d: false } },
    },
  }),
  hints: { destructive: true },
  execute: () => 'ran',
})
/** A schema library says what it likes. */
const lying = tool({
  name: 'lying',
  description: 'Describes itself wrongly',
  input: {
    '~standard': {
      version: 1,
      vendor: 'liar',
      validate: (value: unknown) => ({ value }),
      jsonSchema: {
        input: () => ({
          type: 'object',
          properties: { a: { enum: 'x' }, b: { type: 'object', properties: 'y' }, c: null, d: { minimum: {} } },
          required: 'a',
        }),
        output: () => ({}),
      },
    },
  } as never,
  hints: { readOnly: true },
  execute: () => 'ran' as never,
})

const suite = consoleSuite({ tools: [refund, look, pick, shapes, hostile, lying] })
const { open } = suite
afterEach(async () => {
  for (const { id } of await suite.app.runtime.inbox())
    await suite.app.runtime.decide(id, { deny: true, by: 'user:end' })
})

let sessions = 0
/** Opens the form for the arguments of a call that waits. */
async function edit(input: object, name = 'refund') {
  const session = suite.app.runtime.session(`chat-${++sessions}`, { principal: 'user:cem' })
  const calls = [{ id: 'a', name, input: input as never }]
  const outcome = session.run(calls, { batch: 'm' })
  await session.run(calls, { batch: 'm', until: 'waiting' })
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: session.id })
  const page = await open(`/inbox/${item?.id}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  return { page, outcome: outcome.then(([first]) => first) }
}
const textField = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })
const approve = (page: Page) =>
  page
    .getByRole('dialog')
    .getByRole('button', { name: /^Approve/ })
    .click()
const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true }).click()

test('POL-3: a field that cannot be read does not block the form after a change to JSON', { timeout }, async () => {
  const { page, outcome } = await edit({ order: 'A1', cents: 1 })
  await textField(page, 'cents').fill('12 euros')
  await page.getByText('This is not a number.').waitFor()
  await page.getByRole('button', { name: 'Edit as JSON' }).click()
  await page.getByLabel('Arguments as JSON').fill('{"order": "A1", "cents": 12}')
  await approve(page)
  expect(await outcome).toMatchObject({ value: { refunded: 12 } })
})

test('POL-3: invalid JSON is never sent', { timeout }, async () => {
  const { page, outcome } = await edit({ order: 'A1', cents: 1 })
  await page.getByRole('button', { name: 'Edit as JSON' }).click()
  const json = page.getByLabel('Arguments as JSON')
  await json.fill('{"order": "A1", "cents": 12}')
  await json.fill('{"order": "A1", "cents": 13')
  await page.getByText('This is not JSON').waitFor()
  await approve(page)
  await page.getByText('A field cannot be read. Correct it first.').waitFor()
  await json.fill('{"order": "A1", "cents": -1}')
  await approve(page)
  await page.getByText('/cents: It must be more than 0.').waitFor()
  await json.fill('{"order": "A1", "cents": 14}')
  await approve(page)
  expect(await outcome).toMatchObject({ value: { refunded: 14 } })
})

test('POL-3: a value that only changes its type is a change', { timeout }, async () => {
  const { page } = await edit({ a: '5' }, 'hostile')
  await page.getByRole('button', { name: 'Edit as JSON' }).click()
  await page.getByLabel('Arguments as JSON').fill('{"a": 5}')
  await approve(page)
  await page.getByText('/a: It must be a text.').waitFor()
})

test('POL-3: a text field keeps the focus while a person types a long text', { timeout }, async () => {
  const { page } = await edit({ order: 'A1', cents: 1 })
  const note = page.getByLabel('note (optional)')
  const text = `${'x'.repeat(58)} big order, and the carrier agrees.`
  await note.click()
  await page.keyboard.type(text)
  expect(await note.inputValue()).toBe(text)
})

test.each(['9007199254740993', '9007199254740992', '0.12345678901234567890', '1e400', '0x10'])(
  'TOOL-1: a number that would be changed is refused in its field: %s',
  { timeout },
  async (text) => {
    const page = await open('/tools/look')
    await textField(page, 'n').fill(text)
    await page.getByText(/cannot be kept exactly|not a number/).waitFor()
    await run(page)
    await page.getByText('A field cannot be read. Correct it first.').waitFor()
  },
)

test('TOOL-1: a number in JSON that would be changed is refused', { timeout }, async () => {
  const page = await open('/tools/look')
  await page.getByRole('button', { name: 'Edit as JSON' }).click()
  await page.getByLabel('Arguments as JSON').fill('{"n": 9007199254740993}')
  await page.getByText('The number 9007199254740993 cannot be kept exactly.').waitFor()
  await page.getByLabel('Arguments as JSON').fill('{"n": -1.50e3}')
  await run(page)
  await page.getByLabel('the result').getByText('-1500').waitFor()
})

test('TOOL-1: a problem of the field "a.b" is shown there alone', { timeout }, async () => {
  const page = await open('/tools/shapes')
  await page.getByLabel('level', { exact: true }).selectOption({ index: 2 })
  await page.getByLabel('a.b (optional)').fill('x')
  await textField(page, 'b (optional)').fill('y')
  await run(page)
  await page.getByText('It needs at least 3 characters.').first().waitFor()
  expect(await page.getByText('It needs at least 3 characters.').count()).toBe(1)
})

test('TOOL-1: an optional yes or no can be left out again', { timeout }, async () => {
  const page = await open('/tools/shapes')
  await page.getByLabel('level', { exact: true }).selectOption({ index: 1 })
  const on = page.getByLabel('on (optional)')
  const result = page.getByLabel('the result')
  await on.selectOption('No')
  await run(page)
  await result.getByText('"on": false').waitFor()
  await on.selectOption('Not set')
  await run(page)
  await expect.poll(async () => (await result.count()) === 1 && (await result.innerText())).toBe('{\n  "level": 1\n}')
})

test('POL-6: a question with several choices begins with its defaults', { timeout }, async () => {
  const outcome = suite.app.runtime.session('pick', { principal: 'user:cem' }).run([{ id: 'q', name: 'pick' }])
  const page = await open('/')
  await page.getByRole('button', { name: /^Answer: / }).click()
  expect(await page.getByRole('checkbox', { name: 'red' }).isChecked()).toBe(false)
  await page.getByRole('checkbox', { name: 'green' }).uncheck()
  await page.getByRole('dialog').getByRole('button', { name: 'Answer' }).click()
  expect((await outcome)[0]).toMatchObject({ value: { answer: ['blue'] } })
})

test('TOOL-1: a schema with wrong types does not break its form', { timeout }, async () => {
  const page = await open('/tools/hostile')
  await run(page)
  await page.getByText('It must be an object.').waitFor()
  await page.goto(`${suite.app.url}/tools/lying`)
  await run(page)
  await page.getByLabel('the result').getByText('ran').waitFor()
})

test('POL-3: a schema with wrong types does not break the form of its request', { timeout }, async () => {
  const { page, outcome } = await edit({ a: 'b' }, 'hostile')
  await page.getByLabel('a (optional)').fill('c')
  await approve(page)
  expect(await outcome).toMatchObject({ value: 'ran' })
})
