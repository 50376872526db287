import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@pawl/source', 'node'] },
  ssr: { resolve: { conditions: ['@pawl/source', 'node'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Two cores: child processes of the kill tests need one of them.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
  },
})
