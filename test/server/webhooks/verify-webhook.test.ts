// verifyWebhook(): only a fresh request that the holder of the secret signed is a message.

import { expect, test } from 'vitest'
import { signWebhook } from '../../../src/server/webhooks/sign-webhook.ts'
import { type VerifyWebhook, verifyWebhook } from '../../../src/server/webhooks/verify-webhook.ts'

const secret = 'the secret of this webhook'
const sentAt = Date.UTC(2026, 0, 1)
const message = { about: 'wait', id: 'w1', payload: 'Grüße ✓' }
const body = JSON.stringify(message)

const signed = (how: { id?: string; timestamp?: string; body?: string; secret?: string } = {}) => {
  const { id = 'w1', timestamp = String(sentAt) } = how
  const signature = signWebhook({ id, timestamp, body: how.body ?? body, secret: how.secret ?? secret })
  return { 'pawl-id': id, 'pawl-timestamp': timestamp, 'pawl-signature': signature }
}
const verify = (request: Partial<VerifyWebhook>) =>
  verifyWebhook({ body, headers: signed(), secret, now: () => sentAt, ...request })

test('DOOR-5: a signed request is its message, with any form of headers and body', () => {
  const { 'pawl-id': id, 'pawl-timestamp': timestamp, 'pawl-signature': signature } = signed()
  expect(verify({})).toEqual(message)
  expect(verify({ body: Buffer.from(body) })).toEqual(message)
  expect(verify({ headers: new Headers(signed()) })).toEqual(message)
  expect(verify({ headers: { 'Pawl-ID': id, 'PAWL-Timestamp': [timestamp], 'pawl-signature': signature } })).toEqual(
    message,
  )
  expect(verify({ secret: Buffer.from(secret) })).toEqual(message)
})

test('DOOR-5: a request that is older or newer than the tolerance is no message', () => {
  const at = (ms: number, toleranceMs?: number) =>
    verify({ now: () => sentAt + ms, ...(toleranceMs === undefined ? {} : { toleranceMs }) })
  expect([at(300_000), at(-300_000), at(10, 10)]).toEqual([message, message, message])
  expect([at(300_001), at(-300_001), at(11, 10), at(1, 0)]).toEqual([undefined, undefined, undefined, undefined])
})

test('DOOR-5: a request with a changed, missing or repeated part is no message', () => {
  const valid = signed()
  const wrong: Partial<VerifyWebhook>[] = [
    { body: body.replace('w1', 'w2') },
    { body: `${body} ` },
    { body: '' },
    { secret: 'the secret of another webhook' },
    { headers: {} },
    { headers: new Headers() },
    ...Object.keys(valid).map((name) => ({ headers: { ...valid, [name]: undefined } })),
    ...Object.entries(valid).map(([name, value]) => ({ headers: { ...valid, [name]: [value, value] } })),
    ...Object.entries(valid).map(([name, value]) => ({ headers: { ...valid, [name.toUpperCase()]: value } })),
    { headers: { ...valid, 'pawl-id': 'w2' } },
    { headers: { ...valid, 'pawl-timestamp': String(sentAt + 1) } },
    { headers: { ...valid, 'pawl-signature': valid['pawl-signature'].replace('v1=', 'v0=') } },
    { headers: { ...valid, 'pawl-signature': valid['pawl-signature'].toUpperCase() } },
    { headers: { ...valid, 'pawl-signature': valid['pawl-signature'].slice(0, -1) } },
    { headers: { ...valid, 'pawl-signature': `${valid['pawl-signature']}0` } },
    { headers: { ...valid, 'pawl-signature': '' } },
    { headers: signed({ secret: '' }) },
  ]
  for (const each of wrong) expect(verify(each), JSON.stringify(each)).toBeUndefined()
})

test('DOOR-5: signed text that is not a message with this id is no message', () => {
  const other = ['null', '7', '"x"', '[]', '{}', '{"id":"w2"}', 'no JSON', '', '{"id":["w1"]}']
  for (const text of other) expect(verify({ body: text, headers: signed({ body: text }) }), text).toBeUndefined()
  for (const timestamp of ['', 'now', '-1', `${sentAt}.0`, '1e12', ` ${sentAt}`, '9'.repeat(400)])
    expect(verify({ headers: signed({ timestamp }) }), timestamp).toBeUndefined()
  // A part of the body cannot pass for the timestamp: the id of the message would differ.
  const moved = signed({ id: `w1.${sentAt}`, timestamp: '5' })
  expect(verify({ headers: { ...moved, 'pawl-id': 'w1', 'pawl-timestamp': `${sentAt}.5` } })).toBeUndefined()
})

test('TOOL-1: verifyWebhook() refuses wrong options, and shows no secret', () => {
  const wrong = (more: object) => () => verify(more)
  expect(wrong({ secret: 'short' })).toThrow('`secret` is invalid; it must be a string or Uint8Array of at least 16')
  expect(wrong({ body: message })).toThrow('`body` is an object; it must be the received body')
  expect(wrong({ tolerance: 1 })).toThrow('did you mean `toleranceMs`?')
  expect(wrong({ secret: undefined })).toThrow('`secret` is missing')
})
