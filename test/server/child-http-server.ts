// A server on an SQLite file that test/server/kills.slow.test.ts kills. Its tool appends to a ledger in a recorded step.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createRuntime, tool } from 'pawl'
import { startServer } from 'pawl/server'

const [file = '', port = '0', token = ''] = process.argv.slice(2)
const ledger = `${file}.ledger`

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  onCrash: 'rerun',
  async execute(input, ctx) {
    const { n } = input as { n: number }
    // Like a real service, the ledger deduplicates by the idempotency key.
    return ctx.step('pay', () => {
      const key = ctx.key('pay')
      const known = existsSync(ledger) && readFileSync(ledger, 'utf8').includes(`${key}\n`)
      if (!known) appendFileSync(ledger, `${n} ${key}\n`)
      return { paid: n }
    })
  },
})

const runtime = await createRuntime({
  store: `sqlite:${file}`,
  tools: [pay],
  lease: '1s',
  poisonAfter: 1_000, // the test kills from outside, many times
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
const tokens = [{ token, roles: ['admin'] as const, principal: 'user:test', tenant: null }]
const server = await startServer({ runtime, port: Number(port), tokens, grace: '5s' })
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
process.send?.(Number(new URL(server.url).port))
