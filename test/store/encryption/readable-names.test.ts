// With `encrypt: true` names stay readable in the file, because the store finds rows by them. This pins which ones.

import { fail, tool, type ToolContext } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { disk, opened } from '../../kit/secret-leak-search.ts'

/** A word that occurs nowhere else. */
const mark = (what: string): string => `zq-${what}-qz`

const readable = (
  'tenant session principal batch call-id idempotency-key tool step-id wait-name file-name value-key secret-name ' +
  'provider task-event schedule-id canceller'
).split(' ')
const sealed = (
  'argument result step-value meta file-content value secret token message answer instructions task-title ' +
  'task-status task-output task-payload progress failure-message cause cancel-reason question attachment-name ' +
  'attachment-bytes schedule-title sent-message failure-code'
).split(' ')

test('DUR-12: with encrypt, the database shows exactly the documented names and no content', async () => {
  const { store, holds } = disk()
  const input = { type: 'object' } as const
  const works = tool({
    name: mark('tool'),
    description: 'Works.',
    input,
    onCrash: 'rerun',
    hints: { idempotent: true },
    retry: { attempts: 2, base: 1 },
    background: { events: { [mark('task-event')]: {} } },
    async execute(given: { kind?: string }, ctx: ToolContext) {
      if (given.kind === 'throw') throw new Error(mark('cause'))
      if (given.kind === 'fail')
        throw fail(mark('failure-message'), { code: mark('failure-code'), class: 'unavailable' })
      if (given.kind === 'wait') return ctx.later({ name: mark('wait-name') })
      if (given.kind === 'ask')
        return (await (await ctx.ask({ text: mark('question'), choices: ['yes', 'no'] })).value).answer
      await ctx.step(mark('step-id'), () => mark('step-value'))
      await ctx.values.set(mark('value-key'), mark('value'))
      await ctx.secrets.set(mark('secret-name'), mark('secret'))
      await ctx.files.write(`/${mark('file-name')}.txt`, mark('file-content'))
      ctx.output(mark('task-output'))
      ctx.progress({ label: mark('progress') })
      ctx.task?.status(mark('task-status'))
      if (ctx.task) await ctx.emit(mark('task-event'), { payload: mark('task-payload') })
      const attachment = ctx.attachments.create(Buffer.from(mark('attachment-bytes')), {
        mediaType: 'text/plain',
        name: mark('attachment-name'),
      })
      return { result: mark('result'), attachment }
    },
  } as never)
  const model = scriptedModel([mark('answer')], { name: 'scripted' })
  const runtime = await opened({ store, encrypt: true, tools: [works], models: [model] })
  const session = runtime.session(mark('session'), { tenant: mark('tenant'), principal: mark('principal') })
  const call = (id: string, kind: string, more: object = {}): never =>
    ({ id, name: mark('tool'), input: { kind, text: mark('argument') }, meta: { m: mark('meta') }, ...more }) as never
  await session.run([call(mark('call-id'), 'work'), call('fails', 'fail'), call('throws', 'throw')], {
    batch: mark('batch'),
  })
  await session.run([call('k', 'work', { idempotencyKey: mark('idempotency-key') })])
  void session.run([call('waits', 'wait'), call('asks', 'ask')]).catch(() => {})
  await vi.waitUntil(async () => (await runtime.inbox()).length === 1, { interval: 5, timeout: 20_000 })
  await session.tasks.start({ tool: mark('tool'), title: mark('task-title'), input: { text: mark('argument') } })
  await vi.waitUntil(async () => (await session.tasks.list({ state: 'open' })).length === 0, {
    interval: 5,
    timeout: 20_000,
  })
  await runtime.connections.set(
    { tenant: mark('tenant'), principal: mark('principal'), provider: mark('provider') },
    { token: mark('token'), by: 'user:bea' },
  )
  await session.turn({ model: 'scripted', message: mark('message'), instructions: mark('instructions') }).outcome
  await session.messages.send(mark('sent-message'))
  await session.schedules.create({
    id: mark('schedule-id'),
    title: mark('schedule-title'),
    cron: '0 0 1 1 *',
    message: mark('message'),
  })
  await session.cancel(mark('cancel-reason'), mark('canceller'))
  await runtime.close({ grace: 0 })
  const found = (words: readonly string[]): string[] => words.filter((word) => holds(mark(word)))
  expect(found(sealed)).toEqual([])
  expect(found(readable)).toEqual(readable)
})
