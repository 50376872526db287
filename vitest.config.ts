import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Long files start first, so that none of them runs alone at the end. */
const longest = [
  'chaos/kill-workers-on-sqlite',
  'testing/crash-test.slow',
  'chaos/kill-workers-on-postgres',
  'simulation/simulation',
  'console/every-screen',
  'console/operator-screens',
  'tasks/recovery/crash-matrix-on-postgres',
  'mcp/server/conformance.slow',
  'approvals/attacks/approval-attacks.slow',
  'approvals/recovery/kill-at-every-write.slow',
  'store/store-conformance',
  'postgres-store',
  'cli/commands',
  'cli/attacks/decisions-by-processes',
  'mcp/client/conformance.slow',
  'engine/leases/blocked-event-loop',
  'project/desk-demo',
  'project/guide',
  'project/package',
  'turns/recovery/crash-matrix.slow',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((part) => moduleId.includes(part))
      return found === -1 ? longest.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** `npm test` runs the fast tier; `npm run test:slow` the files named `*.slow.test.ts`; `npm run test:long` both. */
const tier = process.env.PAWL_TIER ?? 'fast'
const slow = 'test/**/*.slow.test.ts'

export default defineConfig({
  resolve: { conditions: ['@pawl/source', 'node'] },
  ssr: { resolve: { conditions: ['@pawl/source', 'node'] } },
  test: {
    include: tier === 'slow' ? [slow] : ['test/**/*.test.ts'],
    exclude: tier === 'fast' ? [slow, '**/node_modules/**'] : ['**/node_modules/**'],
    // Two cores: child processes of the kill tests need one of them.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    globalSetup: './test/kit/temporary-folder.ts',
    testTimeout: 20_000,
    hookTimeout: 60_000,
    typecheck: { enabled: tier !== 'slow', include: ['test/types/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
  },
})
