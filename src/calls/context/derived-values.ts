// ctx.idempotencyKey, key, now, random and uuid: values that are the same on every run of the body.

import type { ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'
import { stepKeys } from '../../store/journal-keys.ts'

export function derivedValues(
  context: CallEnvironment,
): Pick<ToolContext, 'idempotencyKey' | 'key' | 'now' | 'random' | 'uuid'> {
  const counts = { now: 0, random: 0, uuid: 0 }
  return {
    get idempotencyKey() {
      return context.derive('call', 24).toString('base64url')
    },
    key: (name) => context.derive(`key:${name}`, 24).toString('base64url'),
    async now() {
      context.assertUsable('now')
      context.countEntry()
      return context.execution.now(stepKeys.now(++counts.now))
    },
    random() {
      context.assertUsable('random')
      return context.derive(`random:${++counts.random}`, 6).readUIntBE(0, 6) / 2 ** 48
    },
    uuid() {
      context.assertUsable('uuid')
      return uuidFrom(context.derive(`uuid:${++counts.uuid}`, 16))
    },
  }
}

function uuidFrom(bytes: Buffer): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80 // UUID version 8: derived, not random
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
