// Many long secrets: a model must not be able to exhaust a process with the values it stores.

import { expect, test } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { opened } from '../../kit/secret-leak-search.ts'

test('BOX-5 DUR-12: many long secrets exhaust neither memory nor CPU time', async () => {
  const runtime = await opened({ tools: toolbox.secrets() })
  const session = runtime.session('s')
  const before = process.memoryUsage().rss
  const begun = performance.now()
  for (let n = 0; n < 24; n++) {
    const value = `${n}`.padEnd(16_384, `-${n}-plugh-${'xyzzy'.repeat(n)}`)
    const [outcome] = await session.run([
      { id: `c${n}`, name: 'secret_store', input: { operation: 'set', name: `s${n}`, value } },
    ])
    expect(outcome).toMatchObject({ status: 'success' })
  }
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(500e6)
})
