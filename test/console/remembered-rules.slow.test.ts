// "From now on" in a real browser: the rule that a person reads is the rule that is stored, and it covers no more.

import { jsonSchema, tool } from 'pawl'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'

const secret = 'hunter2-hunter2'
const input = (properties: object) => jsonSchema<Record<string, never>>({ type: 'object', properties } as never)
const base = { description: 'Changes something', hints: { destructive: true }, execute: () => 'ran' } as const
const deploy = tool({ name: 'deploy', ...base, input: input({}) })
const logIn = tool({ name: 'log_in', ...base, input: input({ pin: { type: 'string', writeOnly: true } }) })

const suite = consoleSuite({ tools: [deploy, logIn], runtime: { secrets: [secret] } })
afterEach(async () => {
  for (const { id } of await suite.app.runtime.inbox())
    await suite.app.runtime.decide(id, { deny: true, by: 'user:end' })
})

let sessions = 0
const runIn = (session: string, name: string, input: unknown, id: string) =>
  suite.app.runtime
    .session(session, { principal: 'user:cem' })
    .run([{ id, name, input }], { batch: id, until: 'waiting' })

/** Opens the dialog of a call that waits, with the rule. */
async function remember(input: unknown, name = 'deploy') {
  const session = `chat-${++sessions}`
  await runIn(session, name, input, 'first')
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session })
  const page = await suite.open(`/inbox/${item?.id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByLabel('From now on, approve such calls without asking').check()
  return { page, session, text: await ruleText(page) }
}

const ruleText = (page: Page): Promise<string> => page.getByText('This adds the rule:').innerText()

async function addRule(page: Page, session: string) {
  await page.getByRole('button', { name: 'Approve and add the rule' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const [rule] = await suite.app.runtime.rules.list({ tenant: 'default', session })
  return rule
}

const statusOf = async (session: string, input: unknown, name = 'deploy') => {
  const [outcome] = await runIn(session, name, input, `again-${++sessions}`)
  return outcome?.status
}

test('POL-3: a rule has a condition on every argument, of any type', { timeout }, async () => {
  const note = `It ${'really '.repeat(40)}has to be`
  const args = { dry_run: true, hosts: ['a'], to: { zone: 1 }, cents: 500, note, user_id: 7, shift: -5, old: null }
  const { page, session, text } = await remember(args)
  const conditions = [
    'dry_run = true and hosts = ["a"] and to = {"zone":1} and cents ≤ 500',
    `note = ${JSON.stringify(note)} and user_id = 7 and shift = -5 and old = null`,
  ]
  expect(text).toContain(`with ${conditions.join(' and ')} run without asking.`)
  expect((await addRule(page, session))?.when).toEqual({
    ...Object.fromEntries(Object.entries(args).map(([name, value]) => [name, { eq: value }])),
    cents: { lte: 500 },
  })
  expect(await statusOf(session, { ...args, cents: 400 })).toBe('success')
  expect(await statusOf(session, { ...args, dry_run: false })).toBe('waiting')
  expect(await statusOf(session, { ...args, hosts: ['a', 'b'] })).toBe('waiting')
  expect(await statusOf(session, { ...args, user_id: 6 })).toBe('waiting')
})

test('POL-3: a rule says which arguments may be anything', { timeout }, async () => {
  const { page, session, text } = await remember({ order: 'A1', note: 'x', cents: 500 })
  expect(text).toContain('Arguments that this call does not have may be anything.')
  await page.getByLabel('note = "x"').uncheck()
  await page.getByLabel('order = "A1"').uncheck()
  await page.getByLabel('How cents is compared').selectOption('exactly')
  const chosen = await ruleText(page)
  expect(chosen).toContain('with cents = 500 run without asking. order, note may be anything.')
  expect(chosen).toContain('Arguments that this call does not have may be anything too.')
  expect((await addRule(page, session))?.when).toEqual({ cents: { eq: 500 } })
})

test('POL-3: an argument that the server would drop from a rule may be anything', { timeout }, async () => {
  const { page, session, text } = await remember(JSON.parse('{"__proto__": "safe", "a.b": 1, "zone": "x"}'))
  await page.getByText('__proto__ cannot be a condition, because of its name.').waitFor()
  expect(text).toContain('with zone = "x" run without asking. __proto__, a.b may be anything.')
  expect((await addRule(page, session))?.when).toEqual({ zone: { eq: 'x' } })
})

test.each([
  ['deploy', { zone: 'x', login: { password: secret } }, 'login'],
  ['log_in', { zone: 'x', pin: '1234' }, 'pin'],
])(
  'POL-3: a rule has no condition on a hidden value, which never matches: %s',
  { timeout },
  async (name, args, part) => {
    const { page, session, text } = await remember(args, name)
    await page.getByText(`${part} cannot be a condition, because a part of it is hidden.`).waitFor()
    expect(text).toContain(`with zone = "x" run without asking. ${part} may be anything.`)
    expect((await addRule(page, session))?.when).toEqual({ zone: { eq: 'x' } })
    expect(await statusOf(session, args, name)).toBe('success')
  },
)

test('POL-3: the text of a rule shows hidden characters, and quotes odd names', { timeout }, async () => {
  const { page, session, text } = await remember({ 'a\u202e = 1 and b': 'A1\u200b\u202e' })
  expect(text).toContain(String.raw`with "a\u202e = 1 and b" = "A1\u200b\u202e" run`)
  expect(await page.getByRole('dialog').innerText()).not.toMatch(/[\u200b\u202e]/)
  await addRule(page, session)
  await page.goto(`${suite.app.url}/policy`)
  await page.getByText(String.raw`"a\u202e = 1 and b" = "A1\u200b\u202e"`).waitFor()
})

test('POL-3: a rule for an hour ends in an hour', { timeout }, async () => {
  const { page, session } = await remember({ order: 'A1' })
  await page.getByRole('combobox', { name: /^For/ }).selectOption('1 hour')
  const before = Date.now()
  const { until = 0 } = (await addRule(page, session)) ?? {}
  expect(until).toBeGreaterThanOrEqual(before + 3_600_000)
  expect(until).toBeLessThanOrEqual(Date.now() + 3_600_000)
})
