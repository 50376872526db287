// The state that a client carries from `input_required` to its retry. It is signed and bound to the caller, so that a
// client can neither change it nor use the state of another one.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { lengthPrefixed } from '../../core/ids.ts'
import type { McpCaller } from './exchange.ts'

export interface RequestState {
  /** Id of the call. */
  readonly call: string
  /** The inbox item that was shown. */
  readonly item: string
  /** The name of the request that asks for the answer. */
  readonly key: string
  /** Its fingerprint. */
  readonly fingerprint: string
  /** Digest of the tool and the arguments. */
  readonly content: string
  /** Milliseconds since 1970. */
  readonly expires: number
}

const prefix = 'v1.'
const maxLength = 4_096

const signatureOf = (secret: Buffer, { tenant, principal }: McpCaller, body: string): Buffer =>
  createHmac('sha256', secret)
    .update(lengthPrefixed('request-state', tenant, principal, body))
    .digest()

export function signState(secret: Buffer, caller: McpCaller, state: RequestState): string {
  const body = Buffer.from(JSON.stringify(state)).toString('base64url')
  return `${prefix}${body}.${signatureOf(secret, caller, body).toString('base64url')}`
}

/** Throws for a state that is changed, expired, or of another caller. */
export function readState(secret: Buffer, caller: McpCaller, text: string, now: number): RequestState {
  const [, body = '', signature = ''] = (text.length <= maxLength && /^v1\.([\w-]+)\.([\w-]+)$/.exec(text)) || []
  const given = Buffer.from(signature, 'base64url')
  const expected = signatureOf(secret, caller, body)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new Error('The signature is wrong.')
  const state = JSON.parse(Buffer.from(body, 'base64url').toString()) as RequestState
  if (now >= state.expires) throw new Error('The state has expired.')
  return state
}
