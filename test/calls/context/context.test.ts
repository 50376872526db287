import { tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Execution } from '../../../src/engine/engine.ts'
import type { AttachmentRecord } from '../../../src/store/store.ts'
import { Context } from '../../../src/calls/context/context.ts'
import { resolveSizes } from '../../../src/core/size-limits.ts'
import { Redactor } from '../../../src/security/redact.ts'
import type { CallHost } from '../../../src/calls/ports.ts'

const some = tool({ name: 'some', description: 'Some', input: { type: 'object' }, execute: () => 1 })

function context() {
  const kept: AttachmentRecord[] = []
  const told: { type: string; body: unknown }[] = []
  const warned: string[] = []
  const clock = manualClock()
  const position = { tenant: 't', session: 's', batch: 'b', id: 'a', occurrence: 0 }
  const execution = {
    request: { uid: 'u', position, principal: null, tool: 'some' },
    options: {},
    callId: 'a',
    attempt: 1,
    attach: (record: AttachmentRecord) => void kept.push(record),
  } as unknown as Execution
  const host = {
    clock,
    sizes: resolveSizes(),
    redact: new Redactor([]),
    logger: { warn: (message: string) => void warned.push(message) },
    feed: { publish: (_: unknown, type: string, body: unknown) => void told.push({ type, body }) },
  } as unknown as CallHost
  return { of: new Context(execution, some, host), kept, told, warned, clock }
}

describe('the context of a body', () => {
  test('TIME-3: the first abort reason stays, even if the body reads the signal later', () => {
    for (const early of [true, false]) {
      const { of } = context()
      const seen = early ? of.ctx.signal : null
      of.abort('The attempt timeout ran out')
      of.abort('Somebody cancelled it')
      const { signal } = of.ctx
      expect([signal.aborted, (signal.reason as Error).message]).toEqual([true, 'The attempt timeout ran out'])
      if (seen) expect(seen).toBe(signal)
    }
  })

  test('VAL-1: an attachment keeps the bytes from the time of its creation', () => {
    const { of, kept } = context()
    const bytes = Uint8Array.of(1, 2, 3)
    const made = of.ctx.attachments.create(bytes, { mediaType: 'image/png' })
    bytes.fill(0)
    expect(kept.map(({ id, data }) => [id, [...data]])).toEqual([[made.ref.id, [1, 2, 3]]])
  })

  test('CALL-10: live output stops at its limit and reports the cut once', async () => {
    const most = 262_144
    for (const chunks of [
      [most + 1, 10],
      [most, 1, 1],
      [most - 1, 3],
    ]) {
      const { of, told, clock } = context()
      for (const [index, length] of chunks.entries()) of.ctx.output(String(index).repeat(length))
      await clock.advance('1s')
      of.end()
      const text = told.map(({ body }) => (body as { text: string }).text).join('')
      expect(text.slice(most)).toBe(`\n[output cut after ${most} characters]`)
      expect(text.slice(0, most)).not.toContain('cut')
    }
    const { of, told } = context()
    of.ctx.output('x'.repeat(most))
    of.end()
    expect(told.map(({ body }) => (body as { text: string }).text.length)).toEqual([most])
  })

  test('CALL-10: progress is copied when reported, and unreadable progress is skipped', async () => {
    const { of, told, warned, clock } = context()
    const progress = { current: 1 }
    of.ctx.progress({ current: 0 })
    of.ctx.progress(progress)
    progress.current = 99
    await clock.advance('1s')
    of.ctx.progress({
      get current(): number {
        throw new Error('later')
      },
    })
    of.end()
    expect(told.map(({ body }) => body)).toEqual([{ current: 0 }, { current: 1 }])
    expect(warned).toHaveLength(1)
  })
})
