// Kills real processes with SIGKILL before and after their commits and effects. Afterwards each call has the outcome of
// its decision, its effect happened at most once, and the inbox is empty. Each function takes the distance between the
// points at which it kills.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createRuntime } from 'pawl'
import { expect } from 'vitest'
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

/**
 * Runs the child until it is killed at a point (0: never) or ends; `beside` starts when the child waits. The compile
 * cache is kept because many children are started.
 */
async function run(
  orders: Orders,
  at = 0,
  beside?: () => Promise<unknown>,
): Promise<{ killed: boolean; ended: Ended | null }> {
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

/** `from`: a folder with the state to start from. */
async function onScene<T>(play: (scene: Scene) => Promise<T>, from?: string): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-killed-'))
  if (from !== undefined) cpSync(from, dir, { recursive: true })
  const [db, ledger] = [join(dir, 'agent.db'), join(dir, 'ledger')]
  try {
    return await play({
      orders: (role) => ({ db, ledger, role }),
      lines: () =>
        (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n').filter(Boolean) : []).map(
          (line) => JSON.parse(line) as Line,
        ),
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const cents: Readonly<Record<string, number>> = { yes: 100, edit: 7, both: 100 }

/** Each call ended as decided. A call that must not run twice may be unknown, and then it ran at most once. */
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
  // Every reported decision result is true.
  for (const { told, answer, status } of lines) {
    if (told === 'no' && answer === 'accepted') expect(status, at).toBe('denied')
    if (answer === 'already_decided' && told === 'no') expect(status, at).toBe('denied')
    expect(answer, at).not.toBe('unknown')
  }
}

/** Checks every n-th point, two at a time, until a point is no longer reached. */
async function everyPoint(step: number, check: (at: number) => Promise<boolean>): Promise<number> {
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

/** A process that asks, decides and runs. */
export async function killsAProcess(step: number): Promise<void> {
  const points = await everyPoint(step, (at) =>
    onScene(async ({ orders, lines }) => {
      const first = await run(orders('all'), at)
      const ended = first.killed ? await play(orders('all')) : first.ended
      judge(ended as Ended, lines(), `killed at point ${at}`)
      return first.killed
    }),
  )
  expect(points).toBeGreaterThan(20)
}

/** A worker, while another process decides. */
export async function killsAWorker(step: number): Promise<void> {
  const points = await everyPoint(step, (at) =>
    onScene(async ({ orders, lines }) => {
      const first = await run(orders('worker'), at, () => play(orders('decider')))
      // The next process makes the same calls and decides the open ones.
      const ended = first.ended ?? (await play(orders('all')))
      judge(ended as Ended, lines(), `killed at point ${at}`)
      return first.killed
    }),
  )
  expect(points).toBeGreaterThan(10)
}

/** A process that only decides. */
export async function killsADecider(step: number): Promise<void> {
  await onScene(async ({ orders }) => {
    await play(orders('asker'))
    const points = await everyPoint(step, (at) => onScene((scene) => decided(scene, at), dirname(orders('asker').db)))
    expect(points).toBeGreaterThan(5)
  })
}

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
