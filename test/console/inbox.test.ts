// The inbox and the decision page in a real browser, against a real server on SQLite.

import { fail, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { adminToken, beaToken, newStore, openConsoleApp, viewerToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { killWorkerDuring } from '../kit/console/killed-worker.ts'
import { expectAccessible, expectNoSidewaysScroll, patience } from '../kit/console/screen.ts'

const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>`

const refund = tool({
  name: 'refund',
  title: 'Refund an order',
  description: 'Sends money back',
  input: z.object({ order: z.string(), cents: z.number().int().positive(), note: z.string().optional() }),
  hints: { destructive: true },
  execute: ({ order, cents }) => (order === 'none' ? fail('No such order') : { refunded: cents }),
})
const color = tool({
  name: 'color',
  description: 'Asks',
  input: z.object({}),
  onCrash: 'rerun',
  execute: (_, ctx) => ctx.ask({ text: `Which color? ${hostile}`, choices: ['red', hostile] }),
})

let sessions = 0
afterEach(async () => {
  for (const { id } of await suite.app.runtime.inbox())
    await suite.app.runtime.decide(id, { deny: true, by: 'user:end' })
})
const suite = consoleSuite({ tools: [refund, color] })
const { open } = suite

/** A call that waits for a person, in a session of its own. */
async function ask(input: { order: string; cents: number; note?: string }) {
  const session = suite.app.runtime.session(`chat-${++sessions}`, { principal: 'user:cem' })
  const outcome = session.run([{ id: 'refund', name: 'refund', input }], { batch: 'm' })
  await session.run([{ id: 'refund', name: 'refund', input }], { batch: 'm', until: 'waiting' })
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: session.id })
  return { id: item?.id ?? '', outcome: outcome.then(([first]) => first) }
}

test('POL-6: a person approves the first request with two keys', { timeout }, async () => {
  const { outcome } = await ask({ order: 'A1', cents: 4200 })
  const page = await open('/')
  await page.getByText('Refund an order: order "A1", cents 4200.').first().waitFor()
  await page.keyboard.press('a')
  await page.getByText('The call runs with exactly the arguments shown, as soon as a worker is free.').waitFor()
  await page.keyboard.press('Enter')
  expect(await outcome).toMatchObject({ status: 'success', value: { refunded: 4200 } })
  await page.getByText('Nothing waits for you').waitFor()
})

test('POL-3: the model reads the reason of a denial', { timeout }, async () => {
  const { id, outcome } = await ask({ order: 'A1', cents: 4200 })
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Deny' }).waitFor()
  await page.keyboard.press('d')
  await page.getByLabel('Reason (optional)').fill('Offer a voucher first')
  await page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click()
  expect(JSON.stringify((await outcome)?.parts)).toContain('Offer a voucher first')
})

test('POL-3: edited arguments are checked by the form, then run', { timeout }, async () => {
  const { id, outcome } = await ask({ order: 'A1', cents: 4200 })
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  await page.keyboard.press('e')
  const cents = page.getByRole('textbox', { name: 'cents', exact: true })
  await cents.fill('-5')
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  await page.getByText('It must be more than 0.').waitFor()
  await cents.fill('12')
  await page.getByLabel('Changes', { exact: true }).getByText('4200').waitFor()
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  expect(await outcome).toMatchObject({ value: { refunded: 12 } })
})

test('POL-3: the decision of another person removes the row and is named', { timeout }, async () => {
  const { id } = await ask({ order: 'A1', cents: 4200 })
  const [list, detail] = [await open('/'), await open(`/inbox/${id}`)]
  const summary = 'Refund an order: order "A1", cents 4200.'
  await Promise.all([list.getByText(summary).first().waitFor(), detail.getByText('About this request').waitFor()])
  await suite.app.runtime.decide(id, { approve: true, by: 'user:bea' })
  await list.getByText(`user:bea approved: ${summary}`).waitFor()
  await list.getByText('Nothing waits for you').waitFor()
  await detail.getByText(/^user:bea approved it/).waitFor()
})

test('POL-3: of two people who decide at once, the second reads who was first', { timeout }, async () => {
  const { id, outcome } = await ask({ order: 'A1', cents: 4200 })
  const pages = [await open(`/inbox/${id}`), await open(`/inbox/${id}`, { token: beaToken })] as const
  for (const page of pages) await page.getByRole('button', { name: 'Approve' }).click()
  const confirm = pages.map((page) => page.getByRole('dialog').getByRole('button', { name: 'Approve' }))
  for (const button of confirm) await button.waitFor()
  await Promise.all(confirm.map((button) => button.click()))
  expect(await outcome).toMatchObject({ status: 'success' })
  const [ada, bea] = await Promise.all(
    pages.map(async (page) => {
      await page
        .getByRole('log')
        .getByText(/Approved:|Already approved by/)
        .waitFor()
      return page.getByRole('log').innerText()
    }),
  )
  const losers = [ada, bea].filter((text) => /Already approved by user:(ada|bea)/.test(text ?? ''))
  expect(losers).toHaveLength(1)
})

test('POL-3: "from now on" adds the rule that it shows', { timeout }, async () => {
  const { id, outcome } = await ask({ order: 'A1', cents: 500 })
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByLabel('From now on, approve such calls without asking').check()
  await page.getByLabel('order = "A1"').uncheck()
  await page.getByText('with cents ≤ 500 run without asking').waitFor()
  await page.getByRole('button', { name: 'Approve and add the rule' }).click()
  await outcome
  const rules = await suite.app.runtime.rules.list({ tenant: 'default', session: `chat-${sessions}` })
  expect(rules).toMatchObject([{ tool: 'refund', when: { cents: { lte: 500 } }, then: 'approve' }])
})

test('POL-3: several requests of one tool are decided together, others stay', { timeout }, async () => {
  const first = await ask({ order: 'A1', cents: 1 })
  const second = await ask({ order: 'A2', cents: 2 })
  const third = await ask({ order: 'A3', cents: 3 })
  void suite.app.runtime.session(`chat-${++sessions}`).run([{ id: 'q', name: 'color' }])
  const page = await open('/')
  await page.getByRole('checkbox', { name: /"A1"/ }).check()
  await page.getByRole('checkbox', { name: /"A3"/ }).check()
  // A question is not decided in the same way.
  expect(await page.getByRole('checkbox').count()).toBe(3)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Deny selected' }).click()
  await page.getByLabel('Reason (optional)').fill('Not today')
  await page.getByRole('button', { name: 'Deny all 2' }).click()
  for (const { outcome } of [first, third]) expect(JSON.stringify((await outcome)?.parts)).toContain('Not today')
  await page.getByRole('checkbox', { name: /"A1"/ }).waitFor({ state: 'detached' })
  const waiting = await suite.app.runtime.inbox({ tenant: 'default' })
  expect(waiting.map(({ id }) => id)).toContain(second.id)
})

test('POL-6: a person answers a question of a tool', { timeout }, async () => {
  const session = suite.app.runtime.session(`chat-${++sessions}`)
  const outcome = session.run([{ id: 'q', name: 'color' }])
  const page = await open('/')
  await page.getByRole('button', { name: /^Answer/ }).click()
  await page.getByRole('radio', { name: hostile }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Answer' }).click()
  expect((await outcome)[0]).toMatchObject({ value: { answer: hostile, by: 'user:ada' } })
})

test('DOOR-1: markup of arguments, names and questions is shown as text', { timeout }, async () => {
  const { id } = await ask({ order: hostile, cents: 1, note: hostile })
  const page = await open('/')
  await page.getByText('<script>alert(2)</script>').first().waitFor()
  await page.goto(`${suite.app.url}/inbox/${id}`)
  await page.getByText('About this request').waitFor()
  expect(await page.locator('img, main script').count()).toBe(0)
})

test('DOOR-1: a login of a viewer shows no button to decide', { timeout }, async () => {
  const { id } = await ask({ order: 'A1', cents: 1 })
  const page = await open(`/inbox/${id}`, { token: viewerToken })
  await page.getByText('Your login may look, but not decide.').waitFor()
  await page.keyboard.press('a')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('DOOR-1: the page and its dialogs are accessible, light and dark, also on a phone', { timeout }, async () => {
  const { id } = await ask({ order: 'A1', cents: 4200, note: 'x'.repeat(400) })
  for (const dark of [false, true]) {
    const page = await open('/', { token: adminToken, width: 375, dark })
    await page.getByRole('button', { name: /^Approve/ }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.goto(`${suite.app.url}/inbox/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'cents', exact: true }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    const background = await page.evaluate<string>(`getComputedStyle(document.body).backgroundColor`)
    expect(background).toBe(dark ? 'rgb(18, 18, 20)' : 'rgb(250, 249, 247)')
  }
})

test('DOOR-1: the theme that a person chose outlives a reload', { timeout }, async () => {
  const page = await open('/')
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByLabel('dark').check()
  await page.reload()
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  expect(await page.evaluate<string>(`getComputedStyle(document.body).backgroundColor`)).toBe('rgb(18, 18, 20)')
})

test('POL-6: a person says what happened when a worker was killed in a charge', { timeout }, async () => {
  const store = newStore()
  await killWorkerDuring('charge_card', store)
  const desk = await openConsoleApp({ console: suite.folder, store, tools: deskTools(), runtime: { lease: '1s' } })
  const page = await open('/', { url: desk.url })
  await page.getByRole('button', { name: /^It happened/ }).click()
  await page.getByText('The tool does not run again.').waitFor()
  await page.getByRole('textbox', { name: 'Result' }).fill('{"charged": "ada"}')
  await page.getByRole('button', { name: 'Use this result' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  const { calls } = await desk.runtime.calls.recent({ tool: 'charge_card' })
  await page.goto(`${desk.url}/calls/${calls[0]?.uid}`)
  await page.getByLabel('the result').getByText('"charged": "ada"').waitFor()
  await desk.close()
})

test(
  'DUR-3: an outcome that a person leaves unknown does not claim that the tool did not run',
  { timeout },
  async () => {
    const store = newStore()
    await killWorkerDuring('charge_card', store)
    const desk = await openConsoleApp({ console: suite.folder, store, tools: deskTools(), runtime: { lease: '1s' } })
    const page = await open('/', { url: desk.url })
    await page.getByRole('button', { name: /^Leave it unknown/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Leave it unknown' }).click()
    await page.getByRole('link', { name: /^What happened/ }).click()
    await page.getByText(/^Unknown outcome after .*user:ada left the outcome unknown\./).waitFor()
    expect(await page.locator('main').innerText()).not.toContain('did not run')
    await desk.close()
  },
)

test('POL-6: the page has what led to a request, the rule and the last decision', { timeout }, async () => {
  const call = { name: 'refund', input: { order: 'A2', cents: 70 } }
  const model = scriptedModel([{ say: `I refund it. ${hostile}`, call }, 'Done.'])
  const rule = { tool: 'refund', then: 'ask', reason: `A person looks at refunds ${hostile}` } as const
  const desk = await openConsoleApp({
    console: suite.folder,
    tools: [refund],
    runtime: { models: [model], policy: { rules: [rule] } },
  })
  const { runtime } = desk
  const waiting = (): Promise<string> =>
    vi.waitUntil(async () => (await runtime.inbox())[0]?.id, { interval: 5, timeout: patience })
  const [terms, before] = [{ principal: 'user:cem' }, [{ id: 'r', name: 'refund', input: { order: 'A1', cents: 50 } }]]
  const earlier = runtime.session('before', terms).run(before)
  await runtime.decide(await waiting(), { approve: true, by: 'user:bea', reason: `Known ${hostile}` })
  await earlier
  const turn = runtime.session('chat', terms).turn({ model, message: `Please refund A2 ${hostile}` })
  const id = await waiting()
  const page = await open(`/inbox/${id}`, { url: desk.url, width: 375 })
  const led = page.getByRole('region', { name: 'What led here' })
  for (const text of ['Please refund A2', 'I refund it.']) await led.getByText(text).waitFor()
  const why = page.getByRole('region', { name: 'Why it asks' })
  await why.getByText('A person looks at refunds').first().waitFor()
  await why.getByText('0.0').waitFor()
  await why.locator('code').getByText('refund', { exact: true }).waitFor()
  const decisions = page.getByRole('region', { name: 'Earlier decisions about this tool' })
  await decisions.getByText('user:bea').waitFor()
  await decisions.getByText('Known').waitFor()
  const changes = await page.getByRole('region', { name: 'Since the last approved call' }).innerText()
  expect(changes).toMatch(/cents: 50 → 70/)
  expect(await page.locator('main img, main script').count()).toBe(0)
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  await led.getByRole('link', { name: 'A turn' }).click()
  await page.getByRole('heading', { name: 'Time line' }).waitFor()
  await runtime.decide(id, { approve: true, by: 'user:bea' })
  expect(await turn.outcome).toMatchObject({ status: 'success' })
  await desk.close()
})
