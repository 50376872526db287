import { createRuntime, type Hook } from 'pawl'
import { expect, test } from 'vitest'

class CountingHook implements Hook {
  readonly name = 'counter'
  count = 0
  before(): void {
    this.count++
  }
}

test('CALL-12: an instance of a class that implements Hook may have fields of its own', async () => {
  const runtime = await createRuntime({ store: 'memory:', hooks: [new CountingHook()] })
  await expect(runtime.close()).resolves.toBeUndefined()
})

test('CALL-12: null is a principal, as ctx.principal may be null', async () => {
  const runtime = await createRuntime({ store: 'memory:' })
  expect(() => runtime.session('s', { principal: null })).not.toThrow()
  await runtime.close()
})
