import { createRuntime, type PawlError, tool } from 'pawl'
import { expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'

const a = 'a'.repeat(43)
const b = 'b'.repeat(43)

// Every secret that a store was used with must stay in the list.
for (const [kind, fresh] of stores)
  test(`DUR-12: a store used with a new secret does not open with the old one alone (${kind})`, async () => {
    const { clock, store } = fresh()
    const own = { ...store, close: async () => {} }
    const t = tool({ name: 't', description: 'd', input: { type: 'object' }, execute: () => 'done' })
    const open = (keys: { secret: string; previous?: string[] }) =>
      createRuntime({ store: own, clock, tools: [t], logger: quiet, encrypt: true, keys })
    await (await open({ secret: a })).close({ grace: 0 })
    const two = await open({ secret: b, previous: [a] })
    expect(await after(two.session('s').run([{ id: '1', name: 't' }]), clock)).toMatchObject({
      value: [{ value: 'done' }],
    })
    await two.close({ grace: 0 })
    await expect(open({ secret: b }).catch((error: PawlError) => error.code)).resolves.toBe('keys_mismatch') // the previous secret is missing
    const said = await open({ secret: a }).then(
      () => 'opened',
      (error: PawlError) => error.code,
    )
    expect(said).toBe('keys_mismatch') // rolled back to the old configuration: data encrypted since then could not be
    // read
  })
