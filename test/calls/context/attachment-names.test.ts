// Adversary: what a tool gives to ctx.attachments.create besides the bytes (CALL-2, CALL-11, DUR-11).

import { tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after } from '../../kit/stores/fresh-store.ts'

const input = z.object({})
const nop = tool({ name: 'nop', description: 'Does nothing', input, execute: () => 1 })
const filing = (name: unknown, ran: { times: number }) =>
  tool({
    name: 'file',
    description: 'Makes a file',
    input,
    onCrash: 'rerun',
    execute: async (_, ctx) => {
      if (ran.times++ > 0) await ctx.step('again', () => 1)
      return ctx.attachments.create('x', { mediaType: 'text/plain', name: name as never })
    },
  })

onEachStore('adversary: names of attachments', (bench) => {
  // Why: SQLite cannot bind such a name, the error has no errcode, so the whole group is given up: a call of another session is lost with it.
  test('CALL-11 CALL-2: an attachment whose name is no text takes no call of another session down', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing({ first: 'a' }, { times: 0 }), nop], { clock })
    runtime
      .session('s')
      .run([{ id: 'a', name: 'file' }])
      .catch(() => {})
    const other = await after(runtime.session('t').run([{ id: 'a', name: 'nop' }]), clock)
    expect(other).toMatchObject({ value: [{ status: 'success', value: 1 }] })
  })

  // Why: the tool alone is at fault, and says so to nobody: its batch rejects as if the store were gone.
  test('CALL-2 DUR-11: an attachment whose name is no text fails its own call, and the batch does not reject', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing({ first: 'a' }, { times: 0 })], { clock })
    expect(await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)).toMatchObject({ value: [{ status: 'failure' }] })
  })

  // Why: the encoder copies the ref of an attachment unchecked, so half a character goes on record, in a name that databases cannot hold.
  test('DUR-11 VAL-1: half a character in the name of an attachment is refused at the door', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing('a\ud83d.txt', { times: 0 })], { clock })
    expect(await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)).toMatchObject({ value: [{ status: 'failure' }] })
  })

  // Why: a settle that can never be written is taken for a lost store; the call is given back, claimed and run again, for ever.
  test('CALL-2: a body whose end can never be recorded is not run again without end', async () => {
    const clock = manualClock()
    const ran = { times: 1 }
    const runtime = await bench.open([filing({ first: 'a' }, ran)], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)
    for (let minute = 0; minute < 20; minute++) for (let s = 0; s < 6; s++) await clock.advance(10_000)
    expect(ran.times - 1).toBeLessThanOrEqual(4)
  })
})
