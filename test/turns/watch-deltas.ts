// Collects the deltas of text and reasoning and the retractions that an observer of session `s` receives.

import type { LiveEvent, Runtime } from 'pawl'

export function watchDeltas(runtime: Runtime): { told: string[]; stop: () => Promise<void> } {
  const told: string[] = []
  const abort = new AbortController()
  const reading = (async () => {
    for await (const event of runtime.session('s').events({ live: true, signal: abort.signal })) {
      const { type, body } = event as LiveEvent & { body: { type?: string; delta?: string; step?: number } }
      if (type === 'turn.delta' && body.type !== 'input' && body.delta !== undefined) told.push(body.delta)
      if (type === 'turn.retracted') told.push(`retracted ${body.step}`)
    }
  })().catch(() => {})
  const stop = (): Promise<void> => {
    abort.abort()
    return reading
  }
  return { told, stop }
}
