// Unusual keys in the values of a session.

import { expect, test } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { disk, opened } from '../../kit/secret-leak-search.ts'

test.for(['memory', 'sqlite'] as const)(
  'BOX-1: keys that begin with a space are listed by that prefix (%s)',
  async (kind) => {
    const runtime = await opened({ store: kind === 'memory' ? 'memory:' : disk().store, tools: toolbox.values() })
    const session = runtime.session('s')
    const keys = [' x', ' ~', '__proto__', 'constructor', 'a%b', '\u{1F600}', '\uFFFF']
    for (const key of keys) await session.values.set(key, { key })
    expect((await session.values.list({ prefix: ' ' })).entries.map(({ key }) => key)).toEqual([' x', ' ~'])
    const [listed] = await session.run([{ id: 'a', name: 'kv_store', input: { operation: 'list', prefix: ' ' } }])
    expect(listed).toMatchObject({ value: { keys: [' x', ' ~'], more: false } })
    await expect(session.values.list({ prefix: 'a\0' })).rejects.toMatchObject({ code: 'value_key_invalid' })
  },
)
