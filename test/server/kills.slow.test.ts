// A server that is killed with SIGKILL, or stopped with SIGTERM, at random moments while a client runs calls and reads
// events: every call ends once with its effect, and the reader gets every recorded event once and in order.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createRuntime } from 'pawl'
import { createClient, type StreamEvent } from 'pawl/client'
import { long } from '../kit/long-run.ts'
import { seeded } from '../kit/seeded-random.ts'
import { freshDir } from '../kit/stores/fresh-store.ts'

const token = 'a-token-for-the-kills-of-the-server'
const kills = long ? 100 : 10

async function start(file: string, port: number): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(join(import.meta.dirname, 'child-http-server.ts'), [file, String(port), token], {
    execArgv: ['--conditions=@pawl/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [actual] = (await once(child, 'message')) as [number]
  return { child, port: actual }
}

test('DOOR-1 FEED-1 CALL-13: nothing is lost, doubled or out of order over kills and restarts', async () => {
  const random = seeded(Number(process.env.PAWL_SEED ?? 1))
  const file = join(freshDir(), 'kills.db')
  let running = await start(file, 0)
  const { port } = running
  const client = createClient({ url: `http://127.0.0.1:${port}`, token, retries: 10 })

  const stop = new AbortController()
  const seen: StreamEvent[] = []
  const reading = (async () => {
    for await (const event of client.sessions.events({ session: 's' }, { signal: stop.signal })) seen.push(event)
  })().catch(() => {})

  let isDone = false
  /** Retries until the server answers: the key makes it the same call. */
  const payOnce = async (n: number): Promise<string> => {
    for (;;) {
      try {
        const outcome = await client.calls.run({ session: 's', name: 'pay', input: { n }, idempotencyKey: `pay-${n}` })
        if (outcome.status === 'success') return outcome.status
      } catch {
        // The server is down, or the call is running again.
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  let count = 0
  const callers = Array.from({ length: 4 }, async () => {
    while (!isDone) await payOnce(count++)
  })

  for (let round = 0; round < kills; round++) {
    const before = count
    const enough = 1 + Math.floor(random() * 10)
    await vi.waitFor(() => expect(count).toBeGreaterThan(before + enough), { timeout: 60_000, interval: 5 })
    const exited = once(running.child, 'exit')
    running.child.kill(random() < 0.25 ? 'SIGTERM' : 'SIGKILL')
    await exited
    running = await start(file, port)
  }
  isDone = true
  await Promise.all(callers)
  const exited = once(running.child, 'exit')
  const runtime = await createRuntime({ store: `sqlite:${file}`, worker: false })
  const recorded: string[] = []
  for await (const { cursor } of runtime.session('s').events({ until: 'now' })) recorded.push(cursor)
  await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(recorded.length), { timeout: 60_000 })
  stop.abort()
  await reading
  await runtime.close()
  running.child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])

  expect(seen.filter((event) => 'reset' in event)).toEqual([])
  expect(seen.map((event) => (event as { cursor?: string }).cursor)).toEqual(recorded)
  const paid = readFileSync(`${file}.ledger`, 'utf8').trim().split('\n')
  expect(paid.map((line) => Number(line.split(' ')[0])).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: count }, (_, n) => n),
  )
}, 1_200_000)
