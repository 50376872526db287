// API tokens: what the store keeps of them, when they are valid, and that prune and erase delete them.

import { createHash } from 'node:crypto'
import type { Runtime } from 'pawl'
import { expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { onEveryStore } from '../kit/stores/all-stores.ts'

const pawlToken = /^pawl_[A-Za-z0-9_-]{43}$/
const by = 'user:ada'

onEveryStore('tokens', (ground) => {
  let opened: Promise<Runtime> | undefined
  const runtime = (): Promise<Runtime> => (opened ??= ground.worker({}).then((worker) => worker.runtime))
  const events = async (type: string) => {
    const found = await ground.store.events({ after: 0, limit: 1_000 })
    return found
      .filter((event) => event.type === type)
      .map(({ tenant, session, body }) => ({ tenant, session, ...body }))
  }

  test('DOOR-1: a token is verified to its facts, and the store has only its hash', async () => {
    const { tokens } = await runtime()
    const made = await tokens.create({ name: 'ci', roles: ['approver', 'viewer', 'viewer'], tenant: 'acme', by })
    const { token, ...facts } = made
    expect(token).toMatch(pawlToken)
    expect(facts).toEqual({
      id: expect.any(String),
      name: 'ci',
      roles: ['viewer', 'approver'],
      tenant: 'acme',
      principal: 'token:ci',
      createdAt: ground.clock.now(),
      expiresAt: null,
      revokedAt: null,
      createdBy: by,
    })
    expect(await tokens.verify(token)).toEqual(facts)
    const rows = await ground.store.documentsOf({ of: 'token', after: '', limit: 100 })
    expect(rows.map(({ key }) => key)).toContain(createHash('sha256').update(token).digest('base64url'))
    const shown = JSON.stringify([rows, await tokens.list(), await events('token.created'), ground.logged])
    expect(shown).not.toContain(token.slice(5))
  })

  test('DOOR-1: unknown, malformed, revoked and expired tokens are all undefined', async () => {
    const { tokens } = await runtime()
    const { token, id } = await tokens.create({ name: 'a', roles: ['caller'], expiresIn: '1h' })
    const other = await tokens.create({ name: 'b', roles: ['caller'] })
    const wrong = ['', 'pawl_', token.slice(0, -1), `${token}A`, ` ${token}`, token.toLowerCase(), token.toUpperCase()]
    for (const text of [...wrong, `pawl_${'A'.repeat(43)}`, null, 7, {}, [token]])
      expect(await tokens.verify(text as string), JSON.stringify(text)).toBeUndefined()
    expect(await tokens.revoke(other.id, { by })).toBe(true)
    expect(await tokens.verify(other.token)).toBeUndefined()
    await ground.clock.advance(3_599_999)
    expect((await tokens.verify(token))?.id).toBe(id)
    await ground.clock.advance(1)
    expect(await tokens.verify(token)).toBeUndefined()
  })

  test('DOOR-1: verifying reads one document, and none for a malformed token', async () => {
    let reads = 0
    const counting: Partial<Store> = { document: (name) => (reads++, ground.store.document(name)) }
    const worker = await ground.worker({ store: { ...ground.store, ...counting }, worker: false })
    const { token } = await worker.runtime.tokens.create({ name: 'c', roles: ['viewer'] })
    reads = 0
    await worker.runtime.tokens.verify(token)
    expect(reads).toBe(1)
    await worker.runtime.tokens.verify('x'.repeat(1_000_000))
    expect(reads).toBe(1)
  })

  test('DOOR-1: a token is listed and revoked in its tenant only', async () => {
    const { tokens } = await runtime()
    const { id, token } = await tokens.create({ name: 'd', roles: ['viewer'], tenant: 'one' })
    const all = await tokens.create({ name: 'e', roles: ['admin'], tenant: null })
    expect((await tokens.list({ tenant: 'one' })).map((each) => each.name)).toEqual(['d'])
    expect(await tokens.list({ tenant: 'two' })).toEqual([])
    expect((await tokens.list()).map((each) => each.name)).toContain('e')
    expect(await tokens.revoke(id, { by, tenant: 'two' })).toBe(false)
    expect(await tokens.revoke(all.id, { by, tenant: 'one' })).toBe(false)
    expect(await tokens.revoke('no such token', { by })).toBe(false)
    expect((await tokens.verify(token))?.id).toBe(id)
    const both = [tokens.revoke(id, { by, tenant: 'one' }), tokens.revoke(id, { by, tenant: 'one' })]
    expect((await Promise.all(both)).filter(Boolean)).toHaveLength(1)
    expect((await tokens.list({ tenant: 'one' }))[0]?.revokedAt).toBe(ground.clock.now())
  })

  test('DOOR-1: creating and revoking are events of the tenant, or of the store', async () => {
    const { tokens } = await runtime()
    const facts = { roles: ['operator'], name: 'audited' } as const
    const own = await tokens.create({ ...facts, tenant: 'audit', by })
    const all = await tokens.create({ ...facts, tenant: null })
    await tokens.revoke(own.id, { by: 'user:bea' })
    const of = (events: unknown[]) => events.filter((each) => (each as { name: string }).name === 'audited')
    const store = { tenant: '', session: '', token: all.id, principal: 'token:audited', ...facts }
    const tenant = { tenant: 'audit', session: '', token: own.id, principal: 'token:audited', ...facts }
    expect(of(await events('token.created'))).toEqual([
      { ...tenant, by },
      { ...store, by: null },
    ])
    expect(of(await events('token.revoked'))).toEqual([{ ...tenant, by: 'user:bea' }])
  })

  test('DUR-10: prune deletes invalid tokens, and erasing a tenant deletes its tokens', async () => {
    const { tokens, prune, erase } = await runtime()
    const create = (name: string, more: object) => tokens.create({ name, roles: ['viewer'], ...more })
    const [valid, revoked] = [await create('valid', { tenant: 'x' }), await create('revoked', { tenant: 'x' })]
    await create('expired', { tenant: 'x', expiresIn: '1m' })
    const other = await create('other', { tenant: 'y' })
    const store = await create('all', { tenant: null })
    await tokens.revoke(revoked.id, { by })
    const names = async () => (await tokens.list({ tenant: 'x' })).map(({ name }) => name)
    await prune({ olderThan: '1h' })
    expect(await names()).toEqual(['valid', 'revoked', 'expired'])
    await ground.clock.advance('2h')
    await prune({ olderThan: '1h', tenant: 'y' })
    expect(await names()).toHaveLength(3)
    await prune({ olderThan: '1h' })
    expect(await names()).toEqual(['valid'])
    await erase({ tenant: 'x' })
    expect(await names()).toEqual([])
    expect(await tokens.verify(valid.token)).toBeUndefined()
    const left = [await tokens.verify(other.token), await tokens.verify(store.token)]
    expect(left.map((each) => each?.name)).toEqual(['other', 'all'])
    expect((await ground.store.events({ after: 0, limit: 1_000 })).filter(({ tenant }) => tenant === 'x')).toEqual([])
  })

  test.for([
    [{}, '`name` is missing'],
    [{ name: 'a' }, '`roles` is missing'],
    [{ name: 'a', roles: [] }, '`roles` is []; it must be a list of at least one of'],
    [{ name: 'a', roles: ['admn'] }, "`roles[0]` is 'admn'; did you mean 'admin'?"],
    [{ name: ' a', roles: ['admin'] }, '`name` is'],
    [{ name: 'a\u200B', roles: ['admin'] }, '`name` is'],
    [{ name: 'a', roles: ['admin'], principal: '' }, '`principal` is'],
    [{ name: 'a', roles: ['admin'], tenant: '' }, '`tenant` is'],
    [{ name: 'a', roles: ['admin'], expiresIn: 0 }, '`expiresIn` is 0; it must be a duration above zero'],
    [{ name: 'a', roles: ['admin'], role: 'admin' }, 'did you mean `roles`?'],
  ] as const)('TOOL-1: tokens.create(%j) is refused', async ([options, message]) => {
    const { tokens } = await runtime()
    await expect(tokens.create(options as never)).rejects.toThrow(message)
  })
})
