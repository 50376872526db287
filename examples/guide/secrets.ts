// The code of docs/guide/secrets.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

const dir = mkdtempSync(join(tmpdir(), 'pawl-guide-'))
const store = `sqlite:${join(dir, 'agent.db')}`
const apiKey = 'sk-live-4f9a2c71'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

// #region sensitive
const record = tool({
  name: 'patient_record',
  description: 'Reads the record of a patient',
  input: z.object({ patient: z.string() }),
  sensitive: true, // sealed at rest, whatever the runtime says
  execute: ({ patient }) => ({ patient, diagnosis: 'nothing that others should read' }),
})
// #endregion

const upstream = tool({
  name: 'upstream',
  description: 'Calls a service that echoes its key',
  input: z.object({}),
  execute() {
    throw new Error(`401 from https://api.test/?key=${encodeURIComponent(apiKey)}`)
  },
})

{
  // #region encrypt
  const runtime = await createRuntime({
    store,
    tools: [record, upstream],
    encrypt: true,
    secrets: [apiKey],
    logger: quiet,
  })
  // #endregion
  const session = runtime.session('s')
  const [read, failed] = await session.run([
    { id: '1', name: 'patient_record', input: { patient: 'Ada Lovelace' } },
    { id: '2', name: 'upstream' },
  ])
  assert.equal(read?.status, 'success')
  assert.equal(failed?.status, 'failure')

  const call = (await session.calls.get('2')) ?? assert.fail('it is on record')
  // #region trouble
  const trouble = await runtime.diagnostics(call.uid)
  console.log(trouble?.causes) // ['Error: 401 from https://api.test/?key=[redacted]\n    at …']
  // #endregion
  assert.match(trouble?.causes[0] ?? '', /key=\[redacted\]/)
  await runtime.close()
  for (const file of readdirSync(dir)) assert.ok(!readFileSync(join(dir, file)).includes('Lovelace'))
}

{
  const [oldSecret, newSecret] = ['o'.repeat(32), 'n'.repeat(32)]
  const other = `sqlite:${join(dir, 'other.db')}`
  const before = await createRuntime({ store: other, tools: [record], keys: { secret: oldSecret } })
  await before.session('s').run([{ id: '1', name: 'patient_record', input: { patient: 'Ada' } }])
  await before.close()
  // #region rotate
  const runtime = await createRuntime({
    store: other,
    tools: [record],
    keys: { secret: newSecret, previous: [oldSecret] },
  })
  // #endregion
  assert.deepEqual((await runtime.session('s').calls.get('1'))?.input, { patient: 'Ada' })
  await runtime.close()
}
rmSync(dir, { recursive: true, force: true })
