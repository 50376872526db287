// Spans and parked calls: a parked call holds none.

import { TracerProvider } from '@opentelemetry/sdk-trace'
import { telemetry } from 'pawl/otel'
import { expect, test, vi } from 'vitest'
import { long } from '../kit/long-run.ts'
import { opening } from '../kit/open-runtime.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const open = opening()
const parked = long ? 10_000 : 1_000

test('DOOR-3: parked calls hold no span open', { timeout: 120_000 }, async () => {
  const held = new Set<string>()
  let started = 0
  const provider = new TracerProvider({
    spanProcessors: [
      {
        onStart(span) {
          started++
          held.add(span.spanContext().spanId)
        },
        onEnd: (span) => void held.delete(span.spanContext().spanId),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  })
  const observer = telemetry({ tracer: provider.getTracer('test') })
  const job = simpleTool('job', (_, ctx) => ctx.later({ deadline: '1d' }))
  const { runtime } = await open({ tools: [job], observer })
  for (let n = 0; n < parked; n += 100) {
    const calls = Array.from({ length: 100 }, (_, of) => ({ id: `c${n + of}`, name: 'job' }))
    runtime
      .session(`s${n}`)
      .run(calls)
      .catch(() => {})
  }
  await vi.waitUntil(async () => (await runtime.health()).open.parked === parked, { interval: 50, timeout: 100_000 })
  expect(started).toBeGreaterThanOrEqual(2 * parked) // of the request and of the attempt
  expect(held.size).toBe(0)
})
