// Imports or restores the host's file of a folder, and dies with SIGKILL before the n-th change of the file system.
// `node child-import.ts <import|restore> <folder> <n>`; prints how many changes there were if it lives.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const [action, folder = '', at] = process.argv.slice(2)
const last = Number(at)
let changes = 0
const changing = ['openSync', 'writeSync', 'fchmodSync', 'fsyncSync', 'renameSync', 'rmSync', 'mkdirSync'] as const
for (const name of changing) {
  const original = fs[name] as (...args: unknown[]) => unknown
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      if (++changes === last) {
        // Half of a write is on the disk.
        if (name === 'writeSync') original(args[0], (args[1] as Buffer).subarray(0, 40))
        process.kill(process.pid, 'SIGKILL')
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
      }
      return original(...args)
    },
  })
}
syncBuiltinESMExports()

const { planImport } = await import('../../../../src/mcp/gateway/hosts/import-servers.ts')
const { planRestore } = await import('../../../../src/mcp/gateway/hosts/restore-host.ts')
const { hostFile } = await import('../../../../src/mcp/gateway/hosts/host-files.ts')
const host = hostFile('claude-code', false, { cwd: folder })
const plan =
  action === 'import'
    ? planImport({
        host,
        serversFile: join(folder, '.pawl/servers.json'),
        serversMode: 0o600,
        gatewayEntry: { command: 'npx', args: ['--no-install', 'pawl', 'mcp'] },
        moveServers: true,
      })
    : planRestore(host)
plan.apply()
console.log(changes)
