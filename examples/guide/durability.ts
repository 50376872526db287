// The code of docs/guide/durability.md. test/project/guide.test.ts runs it. With an argument it is the worker that is killed.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'pawl-durability-'))
const store = `sqlite:${join(dir, 'agent.db')}`

/** The outside: a ledger that outlives every process. An effect happens, and if it is named in DIE the process is gone before it hears of it. */
const ledger = join(dir, 'outside.ledger')
const happened = (): string[] => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [])
async function happens(what: string, key?: string): Promise<string> {
  if (key === undefined || !happened().includes(`${what} ${key}`))
    appendFileSync(ledger, key === undefined ? `${what}\n` : `${what} ${key}\n`)
  if (process.env.DIE === what) process.kill(process.pid, 'SIGKILL')
  return `${what}: done`
}
const bank = {
  charge: (_order: string, { idempotencyKey }: { idempotencyKey: string }) => happens('charge', idempotencyKey),
}
const phone = { text: (_order: string) => happens('text') }
const depot = {
  ship: (_order: string) => happens('ship'),
  find: async (_order: string) => happened().find((each) => each === 'ship'),
}
const shredder = { shred: (_order: string) => happens('shred') }

const input = z.object({ order: z.string() })
// #region rerun
const charge = tool({
  name: 'charge',
  description: 'Charge an order, and text the customer',
  input,
  onCrash: 'rerun', // the body runs again; what its steps recorded is not done again
  async execute({ order }, ctx) {
    // At least once. The bank knows the key again, so the money moves exactly once.
    const charged = await ctx.step('charge', () => bank.charge(order, { idempotencyKey: ctx.key('charge') }))
    // At most once: the phone knows no keys, and a text too few is better than one too many.
    const texted = await ctx
      .step('text', () => phone.text(order), { once: true })
      .catch((error: { code: string }) => error.code)
    return { charged, texted }
  },
})
// #endregion

// #region stop
const ship = tool({
  name: 'ship',
  description: 'Ship an order',
  input,
  execute: ({ order }) => depot.ship(order), // nothing said: it stops after a crash
  async reconcile({ order }) {
    const label = await depot.find(order)
    return label ? { value: label } : { rerun: true } // the depot knows what happened
  },
})
const shred = tool({
  name: 'shred',
  description: 'Shred the papers of an order',
  input,
  execute: ({ order }) => shredder.shred(order), // and nobody can be asked about it
})
// #endregion

async function worker() {
  // #region worker
  const runtime = await createRuntime({ store, tools: [charge, ship, shred] })
  const outcomes = await runtime.session('chat-42').run(
    ['charge', 'ship', 'shred'].map((name) => ({ id: name, name, input: { order: 'A1' } })),
    { batch: 'msg_7' },
  )
  await runtime.close()
  // #endregion
  return outcomes
}

if (process.argv[2]) await worker()
else {
  const startAndKillIn = (effect: string): NodeJS.Signals | null =>
    spawnSync(process.execPath, ['--conditions=@pawl/source', import.meta.filename, dir], {
      env: { ...process.env, DIE: effect },
      stdio: 'inherit',
    }).signal

  // #region killed
  // Each process is gone after the effect has happened and before anything here has heard of it.
  for (const effect of ['charge', 'text', 'ship', 'shred']) assert.equal(startAndKillIn(effect), 'SIGKILL')

  const [charged, shipped, shredded] = await worker()
  assert.partialDeepStrictEqual(charged, {
    status: 'success',
    value: { charged: 'charge: done', texted: 'step_unknown' },
  })
  assert.partialDeepStrictEqual(shipped, { status: 'success', value: 'ship' }) // what reconcile found
  assert.equal(shredded?.status, 'unknown') // and not run again
  assert.deepEqual(
    happened().map((each) => each.split(' ')[0]),
    ['charge', 'text', 'ship', 'shred'],
  )
  // #endregion

  {
    // #region fleet
    const worker = await createRuntime({ store, tools: [charge] })
    const door = await createRuntime({ store, tools: [charge], worker: false }) // asks, and runs nothing
    const [done] = await door.session('chat-43').run([{ id: '1', name: 'charge', input: { order: 'A2' } }])
    assert.equal(done?.status, 'success')
    // #endregion

    const runtime = worker
    // #region shutdown
    process.once('SIGTERM', () => void runtime.close({ grace: '20s' }))
    // #endregion
    await door.close()
    await worker.close()
  }
  rmSync(dir, { recursive: true })
}
