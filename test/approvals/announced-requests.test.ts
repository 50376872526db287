// Requests to people are announced: recorded with the wait, delivered at least once with the facts of the inbox, and
// dropped once they are decided.

import { type Announce, type Announcement, connectionRequired, type Runtime, type Tool, tool } from 'pawl'
import { expect, test } from 'vitest'
import { simpleTool, rerunTool } from '../kit/simple-tools.ts'
import { onEveryStore, until } from '../kit/stores/all-stores.ts'

const secret = 'hunter2hunter2'
const wipe = tool({
  name: 'wipe',
  title: 'Wipe a disk',
  description: 'd',
  input: { type: 'object', properties: { disk: { type: 'string' } } },
  preview: ({ disk }) => ({ summary: `Wipes ${disk as string}`, details: secret }),
  execute: () => 'wiped',
})
const asks = rerunTool('asks', async (_, ctx) => (await ctx.ask({ text: 'Which size?', deadline: '1h' })).value)
/** Does not wait for the answer. */
const asksInPassing = rerunTool('passing', async (_, ctx) => {
  void ctx.ask({ text: 'Anything else?', deadline: '1h' }).catch(() => {})
  return 'done'
})
const connects = rerunTool('connects', async (_, ctx) => {
  const connection = await ctx.connection('github')
  return connection === null ? connectionRequired('github') : 'connected'
})
const page = simpleTool('page', { client: true } as never, undefined as never)
const tools = [wipe, asks, asksInPassing, connects, page]
const policy = { rules: [{ tool: 'wipe', then: 'ask' as const, reason: `Because of ${secret}.` }] }

onEveryStore('announced requests', (ground) => {
  let sessions = 0
  const open = async (announce?: Announce, of: readonly Tool[] = tools): Promise<Runtime> =>
    (await ground.worker({ tools: of, policy, secrets: [secret], ...(announce ? { announce } : {}) })).runtime
  const start = (runtime: Runtime, name: string, input: object = {}) => {
    const session = runtime.session(`s${++sessions}`, { tenant: 'acme', principal: 'user:ada' })
    const outcome = session.run([{ id: 'a', name, input }]).then(([first]) => first)
    outcome.catch(() => {}) // the runtime may close first
    return { session, outcome }
  }
  const itemOf = async (runtime: Runtime, session: string) => {
    await until(async () => (await runtime.inbox({ tenant: 'acme', session })).length > 0)
    return (await runtime.inbox({ tenant: 'acme', session }))[0] as NonNullable<
      Awaited<ReturnType<Runtime['inbox']>>[number]
    >
  }
  const deliveries = async () =>
    (await ground.store.unsettled({ after: '', limit: 1_000 })).filter(({ tool: name }) => name === 'pawl:announce')
  const none = () => until(async () => (await deliveries()).length === 0)
  const announcedIn = async (session: string) =>
    (await ground.store.events({ after: 0, limit: 10_000, of: { tenant: 'acme', session } })).filter(
      ({ type }) => type === 'wait.announced',
    )

  test('WAIT-5: an approval is announced with the redacted facts of the inbox, and without a key', async () => {
    const got: Announcement[] = []
    const runtime = await open((announcement) => void got.push(announcement))
    const { session, outcome } = start(runtime, 'wipe', { disk: `sda ${secret}` })
    const item = await itemOf(runtime, session.id)
    await until(() => got.length > 0)
    const { id, kind, title, preview, reason, fingerprint, expiresAt, call, callId } = item
    const shown = { id, kind, tool: 'wipe', title, preview, reason, fingerprint, expiresAt }
    expect(got).toEqual([{ about: 'person', ...shown, call, callId, session: session.id, tenant: 'acme' }])
    expect(title).toBe('Wipe a disk')
    expect(JSON.stringify([got, ground.logged])).not.toContain(secret)
    expect((await announcedIn(session.id)).map(({ body }) => body)).toEqual([
      { wait: id, type: 'approval', payload: null },
    ])
    await runtime.decide(id, { approve: true, by: 'user:bea', fingerprint })
    expect((await outcome)?.status).toBe('success')
    await none()
    expect(got).toHaveLength(1)
    await runtime.close()
  })

  test('WAIT-5: questions and connections are announced, client calls are not', async () => {
    const got: Announcement[] = []
    const runtime = await open((announcement) => void got.push(announcement))
    for (const name of ['asks', 'connects']) await itemOf(runtime, start(runtime, name).session.id)
    const client = start(runtime, 'page').session
    await until(async () => (await client.pendingClientCalls()).length > 0)
    await none()
    expect(new Set(got.map((each) => each.about === 'person' && each.kind))).toEqual(
      new Set(['connection', 'question']),
    )
    expect(got).toHaveLength(2)
    expect(await announcedIn(client.id)).toEqual([])
    await runtime.close()
  })

  test('WAIT-5: a finding about an unknown outcome is announced', async () => {
    const got: Announcement[] = []
    const stops = simpleTool('pay', { onUnknown: 'ask' }, () => new Promise(() => {}))
    const first = await ground.worker({ tools: [stops], announce: (each) => void got.push(each) })
    const { session } = start(first.runtime, 'pay')
    await until(async () => (await session.calls.get('a'))?.state === 'running')
    await first.die()
    const runtime = await open((each) => void got.push(each), [stops])
    await until(() => got.length > 0)
    const item = await itemOf(runtime, session.id)
    expect(got).toMatchObject([{ about: 'person', id: item.id, kind: 'finding', tool: 'pay' }])
    await runtime.close()
  })

  test('WAIT-5: a failing announcer is called again with backoff until the item is decided', async () => {
    let tries = 0
    const runtime = await open(() => Promise.reject(new Error(`No line ${++tries}`)))
    const { session, outcome } = start(runtime, 'wipe')
    const item = await itemOf(runtime, session.id)
    for (const [index, delay] of (['1s', '2s', '4s'] as const).entries()) {
      await until(() => tries === index + 1)
      await until(async () => (await deliveries()).some(({ state }) => state === 'queued'))
      await ground.clock.advance(0)
      expect(tries).toBe(index + 1)
      await ground.clock.advance(delay)
    }
    await until(() => tries === 4)
    await until(async () => (await deliveries()).some(({ state }) => state === 'queued'))
    await runtime.decide(item.id, { deny: true, by: 'user:bea' })
    expect((await outcome)?.status).toBe('failure')
    await ground.clock.advance('1m')
    await none()
    expect(tries).toBe(4)
    await runtime.close()
  })

  test('WAIT-5: an item that is decided before the delivery is not announced', async () => {
    const got: Announcement[] = []
    const opener = await ground.worker({ tools, policy, announce: () => new Promise(() => {}) })
    const { session } = start(opener.runtime, 'wipe')
    const item = await itemOf(opener.runtime, session.id)
    await until(async () => (await deliveries()).some(({ state }) => state === 'running'))
    await opener.die()
    const door = await ground.worker({ worker: false })
    expect(await door.runtime.decide(item.id, { deny: true, by: 'user:bea' })).toMatchObject({ answer: 'accepted' })
    const runtime = await open((each) => void got.push(each))
    await none()
    expect(got).toEqual([])
    await runtime.close()
  })

  test('WAIT-5: an undelivered request is announced after a crash, with the same id', async () => {
    const [seen, got]: [Announcement[], Announcement[]] = [[], []]
    const first = await ground.worker({
      tools,
      policy,
      secrets: [secret],
      announce: (each) => (seen.push(each), new Promise(() => {})),
    })
    const { session } = start(first.runtime, 'wipe')
    await itemOf(first.runtime, session.id)
    await until(() => seen.length === 1)
    await first.die()
    const runtime = await open((each) => void got.push(each))
    await until(() => got.length === 1)
    expect(got).toEqual(seen)
    await none()
    await runtime.close()
  })

  test('WAIT-5: the wait and its announcement are recorded in one transaction', async () => {
    const runtime = await open(() => {})
    const { session } = start(runtime, 'wipe')
    await itemOf(runtime, session.id)
    const at = (await ground.store.events({ after: 0, limit: 10_000 })).map(({ type, position, body }) => ({
      type,
      position,
      wait: (body as { wait?: string }).wait,
    }))
    const opened = at.findLast(({ type }) => type === 'wait.opened')
    const after = at.filter(({ position }) => position > (opened?.position ?? 0)).slice(0, 2)
    expect(after.map(({ type }) => type)).toEqual(['wait.announced', 'call.received'])
    expect(after[0]?.wait).toBe(opened?.wait)
    await none()
    await runtime.close()
  })

  test('WAIT-5: a runtime without announce records no announcement of its requests', async () => {
    const runtime = await open()
    const { session } = start(runtime, 'wipe')
    await itemOf(runtime, session.id)
    expect(await announcedIn(session.id)).toEqual([])
    expect(await deliveries()).toEqual([])
    await runtime.close()
  })

  test('WAIT-5: a body that asks and returns at once settles, and nothing is announced late', async () => {
    const runtime = await open(() => {})
    const { outcome } = start(runtime, 'passing')
    expect(await outcome).toMatchObject({ status: 'success', value: 'done' })
    await none()
    await runtime.close()
  })
})
