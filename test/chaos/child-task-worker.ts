// A worker process for the task chaos: it runs tasks until it is killed, stopped or asked to end. Everything its bodies
// emit carries the process id and the attempt, so that output accepted after a lost lease is detected.

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { tool } from 'pawl'
import { openRuntime } from '../../src/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { note } from './effect-ledger.ts'
import { broken } from '../kit/stores/planted-defects.ts'
import { openTaskStore, type TaskOrders, taskSecret } from './task-worker-orders.ts'

const orders = JSON.parse(process.env.PAWL_ORDERS as string) as TaskOrders
const input = { type: 'object' } as unknown as StandardSchemaV1<object>
const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * 8))
const did = async (effect: string): Promise<void> => {
  note(orders.ledger, effect, 'start')
  await moment()
  note(orders.ledger, effect, 'end')
}

/**
 * Sometimes stops the process where only the fence protects the record from the next write. The driver wakes it long
 * after its lease has expired.
 */
const mayFreeze = async (): Promise<void> => {
  if (Math.random() >= orders.freezes) return
  await new Promise<void>((resolve) => process.send?.('stopping', () => resolve()))
  process.kill(process.pid, 'SIGSTOP')
  // SIGSTOP may arrive late: spin here until it does.
  for (const until = performance.now() + 50; performance.now() < until;);
}

const tells = tool({
  name: 'tells',
  description: 'Tells much, and may run again',
  input,
  onCrash: 'rerun',
  background: {
    events: { page: { wake: true } },
    async execute(_, ctx, sink) {
      const from = { pid: process.pid, attempt: ctx.attempt }
      const said = `${process.pid} ${ctx.attempt}`
      sink.status(said)
      for (let n = 1; n <= 3; n++) {
        sink.output('stdout', `${n} ${said}\n`)
        await sink.message(`m${n}`, from)
        await ctx.emit('page', { n, ...from })
        await ctx.step(`s${n}`, () => did(`${ctx.callId}/s${n}`))
        await mayFreeze()
        await sink.artifact({ name: `a${n}`, url: `http://${process.pid}/${ctx.attempt}` })
        sink.progress({ current: n })
      }
      return from
    },
  },
  execute: () => ({ pid: 0, attempt: 0 }),
})

const once = tool({
  name: 'once',
  description: 'Must not run twice',
  input,
  background: { recovery: 'owner_bound' },
  async execute(_, ctx) {
    await did(`${ctx.callId}/once`)
    ctx.output(`1 ${process.pid} ${ctx.attempt}\n`)
    await moment()
    await mayFreeze()
    return { pid: process.pid, attempt: ctx.attempt }
  },
})

const hears = tool({
  name: 'hears',
  description: 'Waits for signals and for a reply',
  input,
  onCrash: 'rerun',
  background: true,
  async execute(_, ctx) {
    ctx.task?.status(`${process.pid} ${ctx.attempt}`)
    const one = await ctx.task?.signal('go')
    await ctx.step('between', () => did(`${ctx.callId}/between`))
    const two = await ctx.task?.signal('go')
    const reply = await ctx.task?.request('Which?')
    return { pid: process.pid, attempt: ctx.attempt, heard: [one, two, reply?.text ?? null] }
  },
})

const parent = tool({
  name: 'parent',
  description: 'Starts others, waits for one, and leaves one behind',
  input,
  onCrash: 'rerun',
  background: true,
  async execute(_, ctx) {
    const child = await ctx.tasks.start({ tool: 'tells', id: `${ctx.callId}.child` })
    await ctx.tasks.start({ tool: 'endless', id: `${ctx.callId}.endless` })
    const { state } = await ctx.tasks.wait(child.id)
    return { pid: process.pid, attempt: ctx.attempt, state }
  },
})

const endless = tool({
  name: 'endless',
  description: 'Ends when it is told to',
  input,
  onCrash: 'rerun',
  background: true,
  // A sleeping body holds no slot: five running ones would block their parents.
  execute: (_, ctx) => ctx.sleep('1h'),
})

/** Kills the process right after its first claim, before it writes anything about the claimed call. */
const dies = (store: Store): Store => ({
  ...store,
  async claim(...asked) {
    const claimed = await store.claim(...asked)
    if (claimed.length > 0) {
      note(orders.ledger, 'claimed', 'start')
      process.kill(process.pid, 'SIGKILL')
    }
    return claimed
  },
})

const store = await openTaskStore(orders)
const runtime = await openRuntime({
  store: broken(orders.dieOnClaim ? dies(store) : store, orders.plant),
  tools: [tells, once, hears, parent, endless],
  lease: orders.lease,
  poisonAfter: 1_000, // they die of us, not of the tasks
  ...(orders.postgres ? { keys: { secret: taskSecret } } : {}),
  logger: { debug() {}, info() {}, warn: () => {}, error: (message, fields) => console.error(message, fields) },
})
// The parent is gone, so this process must end itself.
process.on('disconnect', () => process.exit())
process.on('message', (message) => {
  if (message !== 'end') return
  void runtime
    .close({ grace: 0 })
    .then(() => store.close())
    .finally(() => process.exit(0))
})
process.send?.('ready')
