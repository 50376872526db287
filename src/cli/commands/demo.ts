// `pawl demo`: the support desk that survives kill -9.

import type { Run } from '../cli.ts'

export const demo: Run<{ yes?: boolean }> = async ({ signal }, _, { yes = false }) => {
  const { runDemo } = await import('../demo/demo.ts')
  return runDemo({ yes, signal })
}
