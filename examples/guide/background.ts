// The code of docs/guide/background.md. test/project/guide.test.ts runs it. With an argument it is a worker, which may be killed.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'pawl-background-'))
const store = `sqlite:${join(dir, 'agent.db')}`

/** The outside: a warehouse that answers slowly, and keeps a ledger of what it was asked. In the third page the first worker dies. */
const ledger = join(dir, 'outside.ledger')
const asked = (): string[] => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [])
const warehouse = {
  async rows(page: number): Promise<string> {
    appendFileSync(ledger, `page ${page}\n`)
    if (process.env.DIE === `page ${page}`) process.kill(process.pid, 'SIGKILL')
    return `A${page},1\nB${page},2\n`
  },
}

// #region tool
const exportReport = tool({
  name: 'export_report',
  title: 'Export the report',
  description: 'Export all orders of a month to a file',
  input: z.object({ month: z.string() }),
  onCrash: 'rerun', // its body runs again on another worker; what its steps recorded is not done again
  background: true, // it can run as a task
  async execute({ month }, ctx) {
    let csv = ''
    for (let page = 1; page <= 4; page++) {
      ctx.progress({ current: page, total: 4, unit: 'pages' })
      csv += await ctx.step(`page ${page}`, () => warehouse.rows(page))
      ctx.output(`page ${page} of ${month}\n`)
      if (page === 2) {
        const question = await ctx.ask({ text: 'Include cancelled orders?', choices: ['yes', 'no'], deadline: '1d' })
        csv += `cancelled orders: ${(await question.value).answer as string}\n` // meanwhile it holds no place
      }
    }
    await ctx.files.write('/report.csv', csv)
    await ctx.task?.artifact({ name: 'report', type: 'text/csv', path: '/report.csv' })
    return { file: '/report.csv', pages: 4 }
  },
})
// #endregion

/** A worker: it runs what is on record until it is killed. */
async function work(): Promise<void> {
  await createRuntime({ store, tools: [exportReport] })
  setInterval(() => {}, 1_000)
}

const children: ChildProcess[] = []
const startWorker = (die: string) => {
  const child = spawn(process.execPath, ['--conditions=@pawl/source', import.meta.filename, dir], {
    env: { ...process.env, DIE: die },
    stdio: 'inherit',
  })
  children.push(child)
  return {
    kill: child.kill.bind(child),
    gone: new Promise<NodeJS.Signals | null>((resolve) => child.on('exit', (_, signal) => resolve(signal))),
  }
}

async function main(): Promise<void> {
  const first = startWorker('page 3')

  // #region start
  const runtime = await createRuntime({ store, tools: [exportReport], worker: false }) // it starts and watches; workers run
  const session = runtime.session('chat-42', { principal: 'user:ada' })

  const task = await session.tasks.start({ tool: exportReport, input: { month: '2026-10' }, title: 'October report' })
  const asking = await session.tasks.wait(task.id, { until: 'input' }) // or until it has ended
  assert.equal(asking.state, 'awaiting_input')
  // #endregion

  // #region question
  const [item] = await runtime.inbox()
  assert.equal(item?.preview.summary, 'Include cancelled orders?')
  await runtime.decide(item.id, { answer: 'no', by: 'user:bea' })
  // #endregion

  assert.equal(await first.gone, 'SIGKILL')
  const second = startWorker('')

  // #region killed
  // The worker that had it was killed with -9 in the third page. Another one goes on: pages 1 and 2 are on record, and so is the answer.
  const done = await session.tasks.wait(task.id)
  assert.equal(done.state, 'succeeded')
  assert.equal(done.attempt, 2)
  assert.deepEqual(done.progress, { current: 4, total: 4, unit: 'pages' })
  assert.deepEqual(done.artifacts, [{ name: 'report', type: 'text/csv', path: '/report.csv' }])
  assert.deepEqual(asked(), ['page 1', 'page 2', 'page 3', 'page 3', 'page 4']) // only what nobody had heard of was asked again

  const report = await session.files.read('/report.csv')
  assert.match(report.text ?? '', /cancelled orders: no/)
  const log = await session.files.read(`/.background/${task.id}/output.log`)
  assert.match(log.text ?? '', /\[stdout\] page 4 of 2026-10/)
  const result = await session.files.read(`/.background/${task.id}/result.json`)
  assert.deepEqual(JSON.parse(result.text ?? ''), { file: '/report.csv', pages: 4 })
  // #endregion

  // #region notice
  const [notice] = await session.notices.list()
  assert.match(
    notice?.text ?? '',
    /^\[Runtime notice: this is not a message of the user\. Task "October report" .* finished: succeeded\.\]/,
  )
  await session.notices.acknowledge([notice?.id ?? '']) // told once
  // #endregion

  second.kill('SIGKILL')
  await second.gone
  await runtime.close()
}

if (process.argv[2]) await work()
else {
  try {
    await main()
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}
