// The code of docs/guide/stores.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool } from 'pawl'
import {
  type Change,
  memoryStore,
  type OpenStore,
  reasonToSkip,
  type Store,
  storeCases,
  titleOf,
  type Written,
} from 'pawl/testing'

// #region store
/** A store around another: counts what is written, and keeps every promise of the one inside. */
function countingStore(inner: Store): Store & { readonly writes: () => number } {
  let writes = 0
  return {
    ...inner,
    kind: 'counting',
    commit: (change: Change) => (writes++, inner.commit(change)),
    write: (change: Change, heard: (answer: Written) => void, how?: { ride: boolean }) => (
      writes++,
      inner.write(change, heard, how)
    ),
    writes: () => writes,
  }
}
// #endregion

{
  // #region use
  const store = countingStore(memoryStore())
  const hello = tool({ name: 'hello', description: 'Greets', input: { type: 'object' }, execute: () => 'Hello' })
  const runtime = await createRuntime({ store, tools: [hello], keys: { secret: 'at least thirty-two bytes, please' } })
  await runtime.session('s').run([{ id: '1', name: 'hello', input: {} }])
  await runtime.close()
  await store.close() // yours: the runtime does not close what it did not open
  assert.ok(store.writes() > 0)
  // #endregion
}

{
  // #region prove
  const traits = { persistent: false, clock: 'given' } as const // what the store can do by its nature
  const open: OpenStore = async (clock) => {
    const store = countingStore(memoryStore({ clock }))
    return { store, again: () => Promise.reject(new Error('The data live in one handle')) }
  }
  for (const each of storeCases) {
    const skip = reasonToSkip(each, traits) // a sentence, or null
    if (skip === null) await each.run(open).catch((cause: unknown) => assert.fail(`${titleOf(each)}: ${String(cause)}`))
  }
  // #endregion
}
