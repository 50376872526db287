import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest begin first, so that none of them runs on alone in the end. */
const longest = [
  'chaos/kill',
  'chaos/postgres',
  'crash/crash-test',
  'sim/sim',
  'faults/every-call',
  'test/guide',
  'security/box-files',
  'security/killed',
  'chaos/tasks',
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

export default defineConfig({
  resolve: { conditions: ['@pawl/source', 'node'] },
  ssr: { resolve: { conditions: ['@pawl/source', 'node'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Two cores: child processes of the kill tests need one of them.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    globalSetup: './test/own-folder.ts',
    testTimeout: 20_000,
    hookTimeout: 60_000,
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
  },
})
