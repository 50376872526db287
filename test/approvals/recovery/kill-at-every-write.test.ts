// Real processes, killed with SIGKILL before and after every commit and every effect while approvals are asked for, decided and landed
// (POL-2, POL-4): afterwards each call has the one outcome that its decision says, its effect happened at most once, and nothing waits in the
// inbox that nobody waits for.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { type Ended, type Orders, play } from './approval-scene.ts'

const here = import.meta.dirname

interface Line {
  readonly ran?: string
  readonly cents?: number
  readonly told?: string
  readonly by?: string
  readonly answer?: string
  readonly status?: string | null
}

/** Runs it until it is killed at a point (0: at none), or to its end; `beside` begins when it waits. What Node compiles is kept: it is started often. */
async function run(orders: Orders, at = 0, beside?: () => Promise<unknown>): Promise<{ killed: boolean; ended: Ended | null }> {
  const child = fork(join(here, 'child-approval-scene.ts'), {
    execArgv: ['--conditions=@pawl/source', '--import', join(here, '../../kit/processes/child-kill-at.ts')],
    env: { ...process.env, NO_COLOR: '1', KILL_AT: String(at), PAWL_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let [shown, said] = ['', '']
  let others: Promise<unknown> | undefined
  child.stdout?.on('data', (text) => (shown += String(text)))
  child.stderr?.on('data', (text) => (said += String(text)))
  child.on('message', () => void (others ??= beside?.()))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  await others
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`At point ${at}: ${String(signal ?? code)} ${said}`)
  return { killed: signal === 'SIGKILL', ended: shown === '' ? null : (JSON.parse(shown) as Ended) }
}

interface Scene {
  readonly orders: (role: Orders['role']) => Orders
  lines(): Line[]
}

/** `from`: a folder in which it had begun. */
async function onScene<T>(play: (scene: Scene) => Promise<T>, from?: string): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-killed-'))
  if (from !== undefined) cpSync(from, dir, { recursive: true })
  const [db, ledger] = [join(dir, 'agent.db'), join(dir, 'ledger')]
  try {
    return await play({
      orders: (role) => ({ db, ledger, role }),
      lines: () =>
        (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n').filter(Boolean) : []).map((line) => JSON.parse(line) as Line),
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const cents: Readonly<Record<string, number>> = { yes: 100, edit: 7, both: 100 }

/** Each call ended as it was decided; what must not run twice may be unknown, and then it ran at most once. */
function judge({ outcomes, inbox }: Ended, lines: readonly Line[], at: string): void {
  expect(inbox, at).toEqual([])
  expect(outcomes.map(({ callId }) => callId).toSorted(), at).toEqual(['both', 'edit', 'no', 'yes'])
  for (const { callId, code } of outcomes) {
    const bodies = lines.filter(({ ran }) => ran === callId)
    expect(bodies.length, `${callId} ${at}`).toBeLessThanOrEqual(1)
    for (const body of bodies) expect(body.cents, `${callId} ${at}`).toBe(cents[callId])
    if (callId === 'no') {
      expect(code, at).toBe('denied_by_person')
      expect(bodies, at).toEqual([])
    } else expect(code, `${callId} ${at}`).toMatch(bodies.length === 1 ? /^(success|unknown)$/ : /^unknown$/)
  }
  // What somebody was told is so.
  for (const { told, answer, status } of lines) {
    if (told === 'no' && answer === 'accepted') expect(status, at).toBe('denied')
    if (answer === 'already_decided' && told === 'no') expect(status, at).toBe('denied')
    expect(answer, at).not.toBe('unknown')
  }
}

/** All points, two at a time, until one is not reached any more. */
async function everyPoint(check: (at: number) => Promise<boolean>, step = 1): Promise<number> {
  let next = 1
  let last = Number.POSITIVE_INFINITY
  const walk = async (): Promise<void> => {
    while (next < last) {
      const at = next
      next += step
      if (!(await check(at))) last = Math.min(last, at)
    }
  }
  await Promise.all([walk(), walk()])
  return last
}

test('POL-2 POL-4: killed at every write while it asks, decides and runs, and started again', { timeout: 120_000 }, async () => {
  const points = await everyPoint((at) =>
    onScene(async ({ orders, lines }) => {
      const first = await run(orders('all'), at)
      const ended = first.killed ? await play(orders('all')) : first.ended
      judge(ended as Ended, lines(), `killed at point ${at}`)
      return first.killed
    }),
  )
  expect(points).toBeGreaterThan(20)
})

test('POL-2 POL-4: a worker is killed while another process decides', { timeout: 120_000 }, async () => {
  const points = await everyPoint(
    (at) =>
      onScene(async ({ orders, lines }) => {
        const first = await run(orders('worker'), at, () => play(orders('decider')))
        // Whoever comes next asks for the same calls, and decides about what still waits.
        const ended = first.ended ?? (await play(orders('all')))
        judge(ended as Ended, lines(), `killed at point ${at}`)
        return first.killed
      }),
    2,
  )
  expect(points).toBeGreaterThan(10)
})

test(
  'POL-2 POL-3: who decides is killed: what was told is on record, and what was not is still to be decided',
  { timeout: 120_000 },
  async () => {
    await onScene(async ({ orders }) => {
      await play(orders('asker'))
      const points = await everyPoint((at) => onScene((scene) => decided(scene, at), dirname(orders('asker').db)))
      expect(points).toBeGreaterThan(5)
    })
  },
)

async function decided({ orders, lines }: Scene, at: number): Promise<boolean> {
  const first = await run(orders('decider'), at)
  const store = `sqlite:${orders('decider').db}`
  const looking = await createRuntime({ store, worker: false, logger: quiet })
  const waiting = await looking.inbox()
  await looking.close()
  for (const { told, by, status } of lines()) {
    const item = waiting.find(({ callId }) => callId === told)
    if (status === 'pending') expect(item ? item.approvals.map((vote) => vote.by) : [by], `point ${at}`).toContain(by)
    else if (status !== undefined && status !== null) expect(item, `point ${at}`).toBeUndefined()
  }
  const ended = await play(orders('all'))
  judge(ended as Ended, lines(), `killed at point ${at}`)
  return first.killed
}
