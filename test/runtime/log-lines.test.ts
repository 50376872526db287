// One structured log line for each event that an operator wants to see, without arguments, results or secrets.

import { retry, type Runtime, type RuntimeOptions } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { stores, workersOn } from '../kit/open-runtime.ts'
import { hang, rerunTask, simpleTool } from '../kit/simple-tools.ts'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'

interface Line {
  readonly level: string
  readonly message: string
  readonly fields: Record<string, unknown> | undefined
}

/** A logger that captures its lines. */
function capture(): { lines: Line[]; logger: NonNullable<RuntimeOptions['logger']> } {
  const lines: Line[] = []
  const at = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push({ level, message, fields })
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

const secretInput = { card: '4111-hunter2-secret' }
const call = { id: 'c1', name: 'work', input: secretInput }
const about = { tool: 'work', session: 's', callId: 'c1', call: expect.any(String) }
const noPayload = (lines: readonly Line[]): void => expect(JSON.stringify(lines)).not.toContain('hunter2')

describe.for(stores)('log lines on %s', ([, fresh]) => {
  const workers = workersOn(fresh)

  test('DUR-3: a call that continues after a worker death is logged once', async () => {
    const { clock, store, open } = workers()
    const work = (body: () => unknown) => simpleTool('work', { onCrash: 'rerun' }, body)
    const dying = mortal(store)
    const first = await open({ tools: [work(hang)] }, dying.store)
    ignoreResult(first.session('s').run([call]))
    await clock.advance('1s')
    dying.die()
    const { lines, logger } = capture()
    const second = await open({ tools: [work(() => 'done')], logger })
    await clock.advance('40s')
    expect(await second.session('s').run([call])).toMatchObject([{ value: 'done' }])
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'A call continues after its worker died',
        fields: { ...about, action: 'rerun', deaths: 1 },
      },
    ])
    noPayload(lines)
  })

  test('DUR-3, SESS-1: calls and turns that ran beside each other are each logged once', async () => {
    const { clock, store, open } = workers()
    const work = (body: () => unknown) => simpleTool('work', { onCrash: 'rerun', hints: { readOnly: true } }, body)
    const dying = mortal(store)
    const first = await open({ tools: [work(hang)], models: [{ name: 'scripted', generate: hang }] }, dying.store)
    ignoreResult(first.session('s').run([call, { ...call, id: 'c2' }]))
    ignoreOutcome(first.session('t').turn({ id: 't1', model: 'scripted', message: 'Hello' }))
    await clock.advance('1s')
    dying.die()
    const { lines, logger } = capture()
    const second = await open({ tools: [work(() => 'done')], models: [scriptedModel([{ say: 'Hello' }])], logger })
    await clock.advance('60s')
    expect(await second.session('s').run([call, { ...call, id: 'c2' }])).toMatchObject([{ value: 'done' }, {}])
    const logged = lines.map(
      ({ message, fields }) => `${message}: ${String(fields?.callId ?? fields?.turn)}, ${String(fields?.deaths)}`,
    )
    expect(logged.toSorted()).toEqual([
      'A call continues after its worker died: c1, 1',
      'A call continues after its worker died: c2, 1',
      'A turn continues after its worker died: t1, 1',
    ])
    noPayload(lines)
  })

  test('DUR-3: a call that a closing worker hands over is not logged as recovered', async () => {
    const { clock, open } = workers()
    const work = (body: () => unknown) => simpleTool('work', { onCrash: 'rerun' }, body)
    const first = await open({ tools: [work(hang)] })
    ignoreResult(first.session('s').run([call]))
    await clock.advance('1s')
    const { lines, logger } = capture()
    const second = await open({ tools: [work(() => 'done')], logger })
    await first.close({ grace: 0 })
    await clock.advance('40s')
    expect(await second.session('s').run([call])).toMatchObject([{ value: 'done' }])
    expect(lines.filter(({ message }) => message.includes('died'))).toEqual([])
  })

  test('SESS-1: a turn that continues after a worker death is logged once', async () => {
    const { clock, store, open } = workers()
    const stuck = { name: 'scripted', generate: hang }
    const dying = mortal(store)
    const first = await open({ models: [stuck] }, dying.store)
    ignoreOutcome(first.session('s').turn({ id: 't1', model: 'scripted', message: 'Hello' }))
    await clock.advance('1s')
    dying.die()
    const { lines, logger } = capture()
    const second = await open({ models: [scriptedModel([{ say: 'Hello' }])], logger })
    await clock.advance('60s')
    const turn = second.session('s').turn({ id: 't1', model: 'scripted', message: 'Hello' })
    await clock.advance('60s')
    expect(await turn.outcome).toMatchObject({ status: 'success' })
    expect(lines.filter(({ message }) => message.includes('died'))).toEqual([
      {
        level: 'warn',
        message: 'A turn continues after its worker died',
        fields: { turn: 't1', session: 's', call: expect.any(String), deaths: 1 },
      },
    ])
  })

  test('SESS-1: a worker death is logged once, although closing workers then hand the turn over', async () => {
    const { clock, store, open } = workers()
    const options = { tools: [simpleTool('work', { approval: 'always' }, () => 'done')] }
    const model = scriptedModel([{ call: { name: 'work' } }, { say: 'Hello' }])
    const dying = mortal(store)
    const first = await open({ ...options, models: [model] }, dying.store)
    ignoreOutcome(first.session('s').turn({ id: 't1', model: 'scripted', message: 'Hello' }))
    await clock.advance('1s')
    dying.die()
    const { lines, logger } = capture()
    for (let n = 0; n < 4; n++) {
      const next = await open({ ...options, models: [model], logger }, keepOpen(store))
      await clock.advance('60s')
      await next.close({ grace: 0 })
    }
    expect(lines.filter(({ message }) => message.includes('died'))).toMatchObject([{ fields: { deaths: 1 } }])
  })

  test('DUR-3: a worker death is logged once, although closing workers then hand the call over', async () => {
    const { clock, store, open } = workers()
    const options = { tools: [simpleTool('work', { onCrash: 'rerun', timeout: '1h' }, hang)] }
    const dying = mortal(store)
    const first = await open(options, dying.store)
    ignoreResult(first.session('s').run([call]))
    await clock.advance('1s')
    dying.die()
    const { lines, logger } = capture()
    for (let n = 0; n < 4; n++) {
      const next = await open({ ...options, logger }, keepOpen(store))
      await clock.advance('60s')
      await next.close({ grace: 0 })
    }
    expect(lines.filter(({ message }) => message.includes('died'))).toMatchObject([{ fields: { deaths: 1 } }])
  })

  test('TIME-4: each retry is logged once', async () => {
    const { clock, open } = workers()
    let attempts = 0
    const work = simpleTool('work', { retry: { attempts: 3 } }, () => {
      if (++attempts < 3) throw retry({ after: '1s', code: 'busy' })
      return 'done'
    })
    const { lines, logger } = capture()
    const runtime = await open({ tools: [work], logger })
    const run = runtime.session('s').run([call])
    await clock.advance('10s')
    expect(await run).toMatchObject([{ value: 'done' }])
    const line = (attempt: number): Line => ({
      level: 'info',
      message: 'An attempt failed; the call is retried',
      fields: { ...about, attempt, code: 'busy', delayMs: 1_000 },
    })
    expect(lines).toEqual([line(1), line(2)])
  })

  test('POL-2: a call that waits for approval is logged once, also over a restart', async () => {
    const { clock, open } = workers()
    const work = simpleTool('work', { hints: { destructive: true } }, () => 'done')
    const { lines, logger } = capture()
    const first = await open({ tools: [work], logger })
    ignoreResult(first.session('s').run([call]))
    await clock.advance('1s')
    const second = await open({ tools: [work], logger })
    ignoreResult(second.session('s').run([call]))
    await first.close({ grace: 0 })
    await clock.advance('40s')
    expect(lines.filter(({ message }) => message.includes('approval'))).toEqual([
      {
        level: 'info',
        message: 'A call waits for approval',
        fields: { ...about, wait: expect.any(String), until: expect.any(Number) },
      },
    ])
    noPayload(lines)
  })

  test('DUR-8: a poisoned call is logged once', async () => {
    const { clock, store, open } = workers()
    const work = simpleTool('work', { onCrash: 'rerun' }, hang)
    for (let deaths = 0; deaths < 2; deaths++) {
      const dying = mortal(store)
      const worker: Runtime = await open({ tools: [work] }, dying.store)
      ignoreResult(worker.session('s').run([call]))
      await clock.advance('60s')
      dying.die()
      await clock.advance('60s')
    }
    const { lines, logger } = capture()
    const last = await open({ tools: [work], logger, poisonAfter: 2 })
    await clock.advance('60s')
    expect(await last.session('s').run([call])).toMatchObject([{ failure: { code: 'poisoned' } }])
    const poisoned = lines.filter(({ message }) => message.includes('poisoned'))
    expect(poisoned).toMatchObject([{ level: 'error', fields: { ...about, deaths: 2 } }])
    noPayload(lines)
  })

  test('CRON-2: slots that no worker fired in time are logged once per schedule', async () => {
    const { clock, open } = workers()
    const job = rerunTask('job', () => 'done')
    const first = await open({ tools: [job] })
    await first.session('s').schedules.create({ id: 'hourly', cron: '0 * * * *', tool: 'job', input: secretInput })
    await first.close()
    await clock.advance('5h')
    const { lines, logger } = capture()
    await open({ tools: [job], logger })
    await clock.advance('2h')
    const missed = lines.filter(({ message }) => message.includes('missed'))
    expect(missed).toEqual([
      {
        level: 'warn',
        message: 'A schedule missed slots: no worker fired them in time',
        fields: { schedule: 'hourly', session: 's', slots: expect.any(Number), last: expect.any(Number) },
      },
    ])
    expect(missed[0]?.fields?.slots).toBeGreaterThanOrEqual(4)
    noPayload(lines)
  })
})
