// Invalid attachment names in ctx.attachments.create: they fail only their own call.

import { tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

const input = z.object({})
const nop = tool({ name: 'nop', description: 'Does nothing', input, execute: () => 1 })
const filing = (name: unknown, ran: { times: number }) =>
  rerunTool('file', async (_, ctx) => {
    if (ran.times++ > 0) await ctx.step('again', () => 1)
    return ctx.attachments.create('x', { mediaType: 'text/plain', name: name as never })
  })

onEachStore('attachment names', (bench) => {
  // SQLite cannot bind such a name. The error has no errcode, so the whole group commit would fail and lose calls of
  // other sessions.
  test('CALL-11 CALL-2: an attachment name that is not a string does not affect other sessions', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing({ first: 'a' }, { times: 0 }), nop], { clock })
    ignoreResult(runtime.session('s').run([{ id: 'a', name: 'file' }]))
    const other = await after(runtime.session('t').run([{ id: 'a', name: 'nop' }]), clock)
    expect(other).toMatchObject({ value: [{ status: 'success', value: 1 }] })
  })

  // The tool is at fault: the batch must not reject as if the store were lost.
  test('CALL-2 DUR-11: an attachment name that is not a string fails its own call', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing({ first: 'a' }, { times: 0 })], { clock })
    expect(await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)).toMatchObject({
      value: [{ status: 'failure' }],
    })
  })

  // The encoder must check the reference of an attachment: databases cannot store a lone surrogate.
  test('DUR-11 VAL-1: a lone surrogate in an attachment name fails the call', async () => {
    const clock = manualClock()
    const runtime = await bench.open([filing('a\ud83d.txt', { times: 0 })], { clock })
    expect(await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)).toMatchObject({
      value: [{ status: 'failure' }],
    })
  })

  // An outcome that can never be written must not look like a lost store: the call would be claimed and run again
  // forever.
  test('CALL-2: a body whose outcome cannot be recorded is not rerun forever', async () => {
    const clock = manualClock()
    const ran = { times: 1 }
    const runtime = await bench.open([filing({ first: 'a' }, ran)], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'file' }]), clock)
    for (let minute = 0; minute < 20; minute++) for (let s = 0; s < 6; s++) await clock.advance(10_000)
    expect(ran.times - 1).toBeLessThanOrEqual(4)
  })
})
