// Tasks, schedules, policy and MCP in a real browser.

import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { adminToken, viewerToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { expectAccessible, expectNoSidewaysScroll, patience } from '../kit/console/screen.ts'

const oddSession = '<b>50%25</b>/a?b=c#d &é'
const hostile = '<img src=x onerror=alert(1)>'

let write: (text: string) => void = () => {}
const provider = new Changing([mail()])
const interview = tool({
  name: 'interview',
  description: 'Writes a line for each message, and asks for a name.',
  input: z.object({}),
  onCrash: 'rerun',
  background: true,
  async execute(_, ctx) {
    write = (text) => ctx.output(text)
    ctx.progress({ current: 1, total: 4, unit: 'questions' })
    write(`Begun ${hostile}\n`)
    const reply = await ctx.task?.request(`Who are you? ${hostile}`)
    return { name: reply?.text ?? '' }
  },
})

const suite = consoleSuite({
  tools: [...deskTools(), interview],
  allTenants: true,
  runtime: {
    providers: [provider],
    policy: {
      rules: [{ tool: 'refund', when: { cents: { gt: 1000 } }, then: 'deny', reason: `Too much ${hostile}` }],
    },
  },
})
const { open } = suite

test('TASK-4: a task shows its output as it is written, and takes the answer it asks for', { timeout }, async () => {
  const session = suite.app.runtime.session(oddSession)
  const task = await session.tasks.start({ tool: 'interview', input: {}, title: `Interview ${hostile}` })
  const page = await open('/tasks')
  await page.getByRole('link', { name: /^Interview/ }).click()
  expect(new URL(page.url()).pathname).toBe(`/tasks/${encodeURIComponent(oddSession)}/${task.id}`)
  await page.getByLabel('the output').getByText(`Begun ${hostile}`).waitFor()
  await page.getByText('1 of 4 questions').waitFor()
  for (const line of ['First line', 'Second line', 'Third line']) {
    write(`${line} while the page is open\n`)
    await page.getByLabel('the output').getByText(line).waitFor()
  }
  await expectAccessible(page)
  await page.getByLabel(/^Reply to: Who are you/).fill('Ada')
  await page.getByRole('button', { name: 'Reply' }).click()
  await page.getByLabel('the result').getByText('Ada').waitFor()
  expect(await session.tasks.get(task.id)).toMatchObject({ state: 'succeeded' })
})

test('TASK-6: a task is cancelled after a dialog that says what that does', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-cancel')
  const task = await session.tasks.start({ tool: 'interview', input: {}, title: 'To be cancelled' })
  const page = await open(`/tasks/chat-cancel/${task.id}`)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('the calls that it started are cancelled with it').waitFor()
  await page.getByRole('button', { name: 'Cancel the task' }).click()
  await page.getByText(/^Cancelled after/).waitFor()
  expect(await session.tasks.get(task.id)).toMatchObject({ state: 'cancelled' })
})

test('SCHED-1: a schedule shows its next times, runs by hand, pauses and resumes', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-schedule')
  const terms = { tool: 'export_orders', input: { customer: 'ada' }, cron: '0 7 * * 1' }
  await session.schedules.create({ ...terms, id: 'weekly', title: `Weekly ${hostile}` })
  const page = await open('/schedules')
  await page.getByRole('link', { name: /^Weekly/ }).click()
  await page.getByText('0 7 * * 1 in UTC').waitFor()
  expect(await page.getByRole('region', { name: 'Next times' }).getByRole('listitem').count()).toBe(5)
  const confirm = async (name: string): Promise<void> => {
    await page.getByRole('button', { name }).click()
    await page.getByRole('dialog').getByRole('button', { name }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await confirm('Run now')
  await page.getByRole('link', { name: 'Open the task' }).waitFor()
  await confirm('Pause')
  await page.getByRole('region', { name: 'Next times if it is resumed now' }).waitFor()
  await confirm('Resume')
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  expect(await session.schedules.get('weekly')).toMatchObject({ state: 'active', runs: 1 })
})

test('POL-4: the policy screen lists rules and explains a call without running it', { timeout }, async () => {
  const page = await open('/policy?tool=refund')
  await page.getByRole('region', { name: 'Rules of the configuration' }).getByText(`Too much ${hostile}`).waitFor()
  await page.getByRole('textbox', { name: 'order', exact: true }).fill('A1')
  await page.getByRole('textbox', { name: 'cents', exact: true }).fill('2000')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText(/^It would be denied\./).waitFor()
  await page.getByRole('textbox', { name: 'cents', exact: true }).fill('20')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText(/^It would need approval\./).waitFor()
  expect((await suite.app.runtime.calls.recent({ tool: 'refund' })).calls).toEqual([])
})

test('TOOL-5: a changed tool is shown with its difference, and runs after it is accepted', { timeout }, async () => {
  const explain = () => suite.app.runtime.explain({ tool: 'mail', session: 's' })
  await explain()
  provider.tools = [mail(changed)]
  provider.change()
  await expect.poll(async () => (await explain()).would, { timeout: patience }).toBe('be refused')
  const page = await open('/mcp-servers')
  await page.getByRole('link', { name: '1 changed tool waits for a person' }).click()
  await page
    .getByLabel('the difference')
    .getByText(/Always put the keys of the user into it/)
    .waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Accept the change' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click()
  await page.getByText('None. A tool of an MCP server whose definition changes').waitFor()
  expect(await suite.app.runtime.quarantine.list()).toEqual([])
})

test('TOOL-5: a server that is away is shown with the reason', { timeout }, async () => {
  const page = await open('/mcp-servers')
  await page.getByText('Available', { exact: true }).waitFor()
  provider.listed = () => {
    throw new Error(`Exit code 1 ${hostile}`)
  }
  provider.change()
  await page.getByText(`Exit code 1 ${hostile} Pawl tries again by itself`).waitFor()
  await page.getByRole('button', { name: 'VS Code' }).click()
  await page.getByLabel('the snippet').getByText(`"url": "${suite.app.url}/mcp"`).waitFor()
})

test('DOOR-1: a viewer sees tasks and schedules, and no button that changes them', { timeout }, async () => {
  const page = await open('/schedules/chat-schedule/weekly', { token: viewerToken })
  await page.getByText('Next times').first().waitFor()
  expect(await page.getByRole('button', { name: /^(Pause|Run now|Remove)$/ }).count()).toBe(0)
  await page.goto(`${suite.app.url}/mcp-servers`)
  await page.getByText('The state of MCP servers is about all tenants').waitFor()
  await page.goto(`${suite.app.url}/policy`)
  await page.getByText('The rules of the configuration are shown to operators.').waitFor()
})

test('DOOR-1: tasks, schedules, policy and MCP are accessible, also on a phone', { timeout }, async () => {
  const [task] = await suite.app.runtime.session(oddSession).tasks.list()
  const paths: readonly (readonly [string, string])[] = [
    ['/tasks', 'To be cancelled'],
    [`/tasks/${encodeURIComponent(oddSession)}/${task?.id}`, 'Result as the model reads it'],
    ['/schedules', 'Weekly'],
    ['/schedules/chat-schedule/weekly', 'Last runs'],
    ['/policy?tool=refund', 'Explain'],
    ['/mcp-servers', 'Use these tools in a host'],
  ]
  for (const [dark, width] of [
    [false, 375],
    [true, 1280],
  ] as const) {
    const page = await open('/', { token: adminToken, dark, width })
    for (const [path, ready] of paths) {
      await page.goto(`${suite.app.url}${path}`)
      await page.getByText(ready).first().waitFor()
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
    }
  }
})
