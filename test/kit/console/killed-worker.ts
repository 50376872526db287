// Kills a worker process with SIGKILL in the middle of a call, so that another one takes it over.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** `name`: a tool of the desk that takes a customer. */
export async function killWorkerDuring(name: 'export_orders' | 'charge_card', store: string): Promise<void> {
  const child = fork(join(import.meta.dirname, 'child-worker.ts'), [store, name], {
    execArgv: ['--conditions=@pawl/source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  await Promise.race([
    once(child, 'message'),
    ended.then(() => {
      throw new Error('The worker ended before its call')
    }),
  ])
  child.kill('SIGKILL')
  await ended
}
