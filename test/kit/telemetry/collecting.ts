// Set-up for tests of telemetry: a collector and SDKs that are closed after each test.

import { afterEach, beforeEach } from 'vitest'
import { type HostSetup, type OpenTelemetry, openTelemetry } from './open-telemetry.ts'
import { OtlpCollector } from './otlp-collector.ts'

interface Collecting {
  /** The collector of the current test. */
  readonly collector: OtlpCollector
  host(setup?: HostSetup): OpenTelemetry
}

export function collecting(): Collecting {
  let collector: OtlpCollector
  const hosts: OpenTelemetry[] = []
  beforeEach(async () => {
    collector = await OtlpCollector.start()
  })
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.shutdown()
    await collector.close()
  })
  return {
    get collector() {
      return collector
    },
    host(setup) {
      const host = openTelemetry(collector.url, setup)
      hosts.push(host)
      return host
    },
  }
}
