import { expect, test } from 'vitest'
import { CallGate } from '../../../src/mcp/client/call-gate.ts'
import { MessageMeter, MessageTooLarge } from '../../../src/mcp/client/message-meter.ts'
import { StderrTail } from '../../../src/mcp/client/stderr-tail.ts'

const never = new AbortController().signal
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  const pending = Symbol()
  await new Promise(setImmediate)
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

test('MCP-2: at most as many calls run as the limit allows, in the order they came', async () => {
  const gate = new CallGate({ concurrency: 2, rate: null })
  const [leaveA] = [await gate.enter(never), await gate.enter(never)]
  const order: number[] = []
  const third = gate.enter(never).then((leave) => (order.push(3), leave))
  const fourth = gate.enter(never).then((leave) => (order.push(4), leave))
  expect(await settled(third)).toBe(false)
  leaveA?.()
  leaveA?.()
  const leaveThird = await third
  expect(await settled(fourth)).toBe(false)
  leaveThird()
  await fourth
  expect(order).toEqual([3, 4])
})

test('MCP-2: a waiting call that is cancelled gives its turn to the next one', async () => {
  const gate = new CallGate({ concurrency: 1, rate: null })
  const leave = await gate.enter(never)
  const stop = new AbortController()
  const second = gate.enter(stop.signal)
  const third = gate.enter(never)
  stop.abort(new Error('over'))
  await expect(second).rejects.toThrow('over')
  await expect(gate.enter(stop.signal)).rejects.toThrow('over')
  leave()
  await third
})

test('MCP-2: calls beyond the rate wait for the next period', async () => {
  const gate = new CallGate({ concurrency: 10, rate: { calls: 2, perMs: 200 } })
  const started = performance.now()
  for (let n = 0; n < 5; n++) (await gate.enter(never))()
  expect(performance.now() - started).toBeGreaterThan(380)
})

test('MCP-2: a message is limited in bytes, values and depth while it arrives', () => {
  const feed =
    (text: string, end: 'line' | 'event' | 'body' = 'line') =>
    () =>
      new MessageMeter(end).push(Buffer.from(text))
  expect(feed('['.repeat(200))).toThrow(MessageTooLarge)
  expect(feed(`${'['.repeat(200)}${']'.repeat(200)}`)).toThrow('128 levels')
  expect(feed(`${'['.repeat(200)}${']'.repeat(200)}\n{}\n`)).toThrow('128 levels')
  expect(feed(`id: ${']'.repeat(500)}\ndata: ${'['.repeat(200)}`, 'event')).toThrow('128 levels')
  expect(feed('[0'.concat(',0'.repeat(250_000)))).toThrow('200000 values')
  expect(feed('x'.repeat(9_000_000))).toThrow('8 MiB')
  expect(feed(JSON.stringify({ text: ',[{'.repeat(400_000) }))).not.toThrow()
  expect(feed(JSON.stringify({ text: '"\\,'.repeat(400_000) }))).not.toThrow()
  expect(feed('[1,2]\n'.repeat(300_000))).not.toThrow()
  expect(feed('data: [1,2]\n\n'.repeat(300_000), 'event')).not.toThrow()
  expect(feed('data: [1,2]\n'.repeat(300_000), 'event')).toThrow(MessageTooLarge)
  expect(feed('[1,2]\n'.repeat(300_000), 'body')).toThrow(MessageTooLarge)
})

test('MCP-2: a secret in stderr is not shown in part where the kept text begins', () => {
  const secret = `begin-${'0123456789'.repeat(20)}-end-of-it`
  const tail = new StderrTail([secret])
  tail.push(Buffer.from(`{"config":"${secret}"`))
  tail.push(Buffer.from('x'.repeat(8_192 - 60)))
  expect(tail.shown).not.toContain('end-of-it')
  tail.push(Buffer.from(`\n${secret.slice(0, 50)}`))
  tail.push(Buffer.from(`${secret.slice(50)}\n`))
  expect(tail.shown).toContain('[redacted]')
  expect(tail.shown).not.toContain('0123456789')
})

test('MCP-2: the end of stderr is kept, without secrets and invisible characters', () => {
  const tail = new StderrTail(['s3cr3t-value'])
  tail.push(Buffer.from('x'.repeat(10_000_000)))
  tail.push(Buffer.from('\nkey s3cr3t-value\n\u001b[2Jlast\u202e\n'))
  expect(tail.shown).toContain('"key [redacted]" "<U+001B>[2Jlast<U+202E>"')
  expect(tail.shown.length).toBeLessThan(1_000)
})
