// Runs an example of the guide as a user would.

import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

export const root = join(import.meta.dirname, '../..')
export const examples = join(root, 'examples/guide')
export const files = readdirSync(examples).filter((name) => name.endsWith('.ts'))

/** They wait for leases, deadlines or other processes. They run in the slow tier. */
export const waitingExamples = [
  'background.ts',
  'crash.ts',
  'durability.ts',
  'mcp-provider.ts',
  'timeouts.ts',
  'toolbox.ts',
]

export const timeout = 250_000

export async function runsExample(name: string): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=@pawl/source', join(examples, name)], {
    timeout: 200_000,
    // An MCP server ends when its input does.
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (errors += text))
  const status = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  // Some examples kill a worker; the default logger says that its calls were recovered.
  expect(errors.replaceAll(/^pawl: A call continues after its worker died \{\n.*?^\}\n/gms, '')).toBe('')
  expect(status).toBe(0)
}
