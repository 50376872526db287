// `pawl demo`: the support desk that survives kill -9.

import type { Run } from '../cli.ts'
import { readCount } from '../read-arguments.ts'

interface DemoFlags {
  readonly yes?: boolean
  readonly chaos?: string
}

export const demo: Run<DemoFlags> = async ({ signal }, _, { yes = false, chaos }) => {
  const kills = readCount(chaos, '--chaos', 0, 100)
  const { runDemo } = await import('../demo/demo.ts')
  return runDemo({ yes: yes || kills > 0, chaos: kills, signal })
}
