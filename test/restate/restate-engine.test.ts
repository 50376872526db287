// SPIKE: the engine port works on Restate. A real restate-server, a worker that is killed with SIGKILL, and a ledger
// outside both that counts the effects. The pipeline is the unchanged one of src/calls.

import { connect } from '@restatedev/restate-sdk-clients'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest'
import type { NewCall, ResolveAnswer } from '../../src/engine/engine.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { decode } from '../../src/core/tool-value.ts'
import { Child, freePorts, query, ready, register, type RestateServer, startRestate, until } from './restate-server.ts'
import { type CallWorkflow, placeOf } from './call-workflow.ts'

const secret = randomBytes(32).toString('hex')
let folder = ''
let ledger = ''
let restate: RestateServer | undefined
let worker: Child | undefined
let port = 0
let serverPorts: number[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-restate-'))
  ledger = join(folder, 'ledger')
  writeFileSync(ledger, '')
  ;[port, ...serverPorts] = (await freePorts(4)) as [number, ...number[]]
  await Promise.all([startServer(), startWorker()])
  await register(server(), port)
})

afterAll(async () => {
  await worker?.kill()
  await restate?.child.kill()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  writeFileSync(ledger, '')
  onTestFailed(() =>
    console.error(
      `restate-server:\n${restate?.child.output}\nworker:\n${worker?.output}\nledger:\n${lines().join('\n')}`,
    ),
  )
})

test('a call survives SIGKILL: steps, a sleep and an answer replay, effects happen once', async () => {
  const call = await start('trip')
  await journaled(call, 'Sleep')
  expect(lines().toSorted()).toEqual(['left', 'right'])
  await restartWorker()

  const key = await keyOf('key')
  expect(await call.resolve('answer', 'pawl_' + 'A'.repeat(43), 3)).toEqual({ answer: 'unknown_or_revoked' })
  expect(await call.resolve('no such wait', key, 3)).toEqual({ answer: 'unknown_or_revoked' })
  // Two concurrent answers: exactly one is accepted.
  const both = await Promise.all([call.resolve('answer', key, 3), call.resolve('answer', key, 3)])
  expect(both.map(({ answer }) => answer).toSorted()).toEqual(['accepted', 'already_resolved'])
  expect(await call.outcome()).toEqual({ status: 'success', value: [1, 2, 3, 4] })
  expect(await call.resolve('answer', key, 5)).toEqual({ answer: 'already_resolved', terminal: { value: 3 } })
  expect(lines().toSorted()).toEqual([`key ${key}`, 'last', 'left', 'right'])
})

describe.each([
  { victim: 'the worker', killed: restartWorker },
  { victim: 'restate-server', killed: restartServer },
])('a body that must not run twice, when $victim is killed', ({ killed }) => {
  test('a kill inside the body makes the outcome unknown', async () => {
    const before = Date.now()
    const call = await start('charge')
    await happened('charge')
    await killed()
    const outcome = await call.outcome()
    expect(outcome).toMatchObject({ status: 'unknown', unknown: { evidence: { attempt: 1 } } })
    expect(outcome.status === 'unknown' && outcome.unknown.startedAt).toBeGreaterThanOrEqual(before)
    expect(lines()).toEqual(['note', 'charge'])
  })

  test('a kill before the body starts lets it run', async () => {
    const call = await start('slow_to_accept')
    await happened('checking')
    await killed()
    expect(await call.outcome()).toEqual({ status: 'success', value: 'started after all' })
    expect(lines()).toEqual(['checking', 'started'])
  })
})

test('a body that must not run twice is not suspended between journal entries', async () => {
  const call = await start('slow')
  expect(await call.outcome()).toEqual({ status: 'success', value: 'done' })
  expect(lines()).toEqual(['slow', 'done'])
})

test('a parked call survives a killed worker without running its body again', async () => {
  const call = await start('sign')
  await journaled(call, 'GetPromise')
  await restartWorker()
  const key = await keyOf('sign')
  expect(await call.resolve('signature', key, 'signed')).toEqual({ answer: 'accepted' })
  expect(await call.outcome()).toEqual({ status: 'success', value: 'signed' })
  expect(lines()).toEqual([`sign ${key}`])
})

test('a wait without an answer ends at its deadline', async () => {
  const call = await start('hurry')
  expect(await call.outcome()).toMatchObject({ status: 'failure', failure: { code: 'wait_timeout' } })
})

test('a replayed step with another input is rejected', async () => {
  const call = await start('fickle')
  await journaled(call, 'Notification: Run', 5) // of the call: request and kind; of the attempt: nonce, arguments, step
  await restartWorker()
  expect(await call.outcome()).toMatchObject({ status: 'failure', failure: { code: 'replay_mismatch' } })
  expect(lines()).toEqual(['who'])
})

test('a once-step that had started is not repeated: the outcome is unknown', async () => {
  const call = await start('careful')
  await happened('pay')
  await restartWorker()
  expect(await call.outcome()).toMatchObject({ status: 'unknown', unknown: { evidence: { step: 'step:pay' } } })
  expect(lines()).toEqual(['pay'])
})

interface Call {
  readonly place: string
  outcome(): Promise<Outcome>
  resolve(wait: string, key: string, value: unknown): Promise<ResolveAnswer>
}

async function start(tool: string): Promise<Call> {
  const position = { tenant: 'acme', session: 's 1', batch: 'b/1', id: randomUUID(), occurrence: 0 }
  const asked: NewCall = {
    position,
    principal: null,
    tool,
    input: '{}',
    hash: 'not looked at here',
    options: null,
    line: null,
  }
  const place = placeOf(position)
  const workflow = connect({ url: server().ingress }).workflowClient<CallWorkflow>({ name: 'PawlCall' }, place)
  await workflow.workflowSubmit(asked)
  return {
    place,
    outcome: async () => decode((await workflow.workflowAttach()).outcome) as unknown as Outcome,
    resolve: async (wait, key, value) => workflow.resolve({ wait, key, resolution: { value } }),
  }
}

function server(): RestateServer {
  if (!restate) throw new Error('restate-server was not started')
  return restate
}

async function startServer(): Promise<void> {
  restate = startRestate(join(folder, 'data'), serverPorts)
  await ready(restate)
}

async function startWorker(): Promise<void> {
  const script = fileURLToPath(new URL('child-service.ts', import.meta.url))
  const env = { SPIKE_LEDGER: ledger, SPIKE_SECRET: secret, SPIKE_PORT: String(port) }
  const started = new Child(process.execPath, ['--conditions=@pawl/source', script], env)
  worker = started
  await until('the worker listens', () => {
    if (started.gone) throw new Error(`The worker ended:\n${started.output}`)
    return started.output.includes('listening')
  })
}

async function restartServer(): Promise<void> {
  await server().child.kill()
  await startServer()
}

async function restartWorker(): Promise<void> {
  await worker?.kill()
  await startWorker()
}

const lines = (): string[] => readFileSync(ledger, 'utf8').split('\n').filter(Boolean)
const happened = (line: string): Promise<boolean> => until(`'${line}' is in the ledger`, () => lines().includes(line))
const keyOf = (word: string): Promise<string> =>
  until(`'${word}' and a key are in the ledger`, () =>
    lines()
      .find((line) => line.startsWith(`${word} `))
      ?.slice(word.length + 1),
  )

/** Waits for the journal, because an effect in the ledger may not be recorded yet. */
async function journaled(call: Call, type: string, count = 1): Promise<void> {
  const sql = `SELECT j.entry_type FROM sys_journal j JOIN sys_invocation i ON i.id = j.id WHERE i.target_service_key = '${call.place}'`
  await until(`${count} ${type} in the journal of ${call.place}`, async () => {
    const rows = await query(server(), sql)
    return rows.filter((row) => String(row.entry_type).includes(type)).length >= count
  })
}
