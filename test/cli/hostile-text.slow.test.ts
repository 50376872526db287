// The items of a hostile store one by one, as `pawl inbox <id>` shows them.

import { expect, test } from 'vitest'
import { pawl, projectFolder } from '../kit/run-pawl.ts'
import { hostileStore, payloads, raw } from './hostile-payloads.ts'

test('DOOR-2: no item of a hostile inbox prints a raw control character', { timeout: 120_000 }, async () => {
  const cwd = projectFolder()
  await hostileStore(cwd)
  const items = JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out) as { id: string }[]
  expect(items).toHaveLength(payloads.length)
  const found: [string, string][] = []
  for (const { id } of items.slice(-25)) {
    const { out, err } = await pawl({ cwd }, 'inbox', id)
    expect(out).not.toBe('')
    if (raw.test(out + err)) found.push([id, raw.exec(out + err)?.[0] ?? ''])
  }
  expect(found).toEqual([])
})
