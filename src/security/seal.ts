// Sealing: AES-256-GCM with keys derived from the host's secret. Each record has a key of its own, and each field is bound to its name and
// place, so a sealed text that was edited, swapped or moved is an error and never something else's content. docs/decisions/0015.
//
//   text   ~1.<id of the secret>.<base64url of nonce, ciphertext, tag>      '~' begins no recorded form
//   bytes  <16 bytes of magic><id of the secret><nonce, ciphertext, tag>

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { PawlError } from '../core/errors.ts'
import type { HostKeys, HostSecret } from './host-keys.ts'
import { frame } from '../core/ids.ts'

const prefix = '~1.'
const idLength = 8
const textHead = prefix.length + idLength + 1
const magic = Buffer.from('9f5061776c7365616c1a0d0a00c3d7f1', 'hex')
const bytesHead = magic.length + idLength
const nonceLength = 12
const tagLength = 16

/** Where a field belongs: its record, and its name in it. */
export interface Place {
  /** A framed name that no other record has. */
  readonly record: string
  readonly field: string
}

export const isSealedText = (text: string): boolean => text.startsWith(prefix)
export const isSealedBytes = (data: Uint8Array): boolean =>
  data.length >= bytesHead && magic.equals(data.subarray(0, magic.length))

interface Keys {
  readonly id: string
  readonly seal: Uint8Array
  readonly hash: Uint8Array
  /** The key of the record that was used last: its fields come together. */
  record: string
  key: Uint8Array
}

export class Seal {
  readonly #current: Keys
  readonly #byId: ReadonlyMap<string, Keys>

  constructor(keys: HostKeys) {
    this.#byId = new Map(keys.all.map((secret) => [secret.id, keysOf(secret)]))
    this.#current = this.#byId.get(keys.current.id) as Keys
  }

  text(text: string, place: Place): string {
    return `${prefix}${this.#current.id}.${sealed(Buffer.from(text), this.#current, place).toString('base64url')}`
  }

  bytes(data: Uint8Array, place: Place): Uint8Array {
    return Buffer.concat([magic, Buffer.from(this.#current.id), sealed(data, this.#current, place)])
  }

  openText(text: string, place: Place): string {
    if (!isSealedText(text)) throw broken(place, 'it is not sealed, and should be')
    const keys = this.#keysFor(text.slice(prefix.length, textHead - 1), place)
    const body = Buffer.from(text.slice(textHead), 'base64url')
    // Only what we would write ourselves: base64 that is decoded generously would let a text be edited without a trace.
    if (text[textHead - 1] !== '.' || body.toString('base64url') !== text.slice(textHead))
      throw broken(place, 'it was edited')
    return opened(body, keys, place).toString()
  }

  openBytes(data: Uint8Array, place: Place): Uint8Array {
    if (!isSealedBytes(data)) throw broken(place, 'it is not sealed, and should be')
    const keys = this.#keysFor(Buffer.from(data.subarray(magic.length, bytesHead)).toString('latin1'), place)
    return opened(data.subarray(bytesHead), keys, place)
  }

  /** A hash that says nothing to who has not the secret; the dot tells it from a plain one. */
  hash(text: string): string {
    const { id, hash } = this.#current
    return `${id}.${createHmac('sha256', hash).update(text).digest('base64url')}`
  }

  #keysFor(id: string, place: Place): Keys {
    const keys = this.#byId.get(id)
    if (keys) return keys
    if (!/^[\w-]{8}$/.test(id)) throw broken(place, 'it was edited')
    throw new PawlError(
      'keys_mismatch',
      `Something on record was sealed with the secret ${id}, which is not among keys.`,
      {
        details: { secret: id, ...place },
      },
    )
  }
}

/** Whether reading failed because a row cannot be opened: the store works, and other rows are as good as ever. */
export const isUnreadable = (error: unknown): error is PawlError =>
  error instanceof PawlError && (error.code === 'sealed_payload_broken' || error.code === 'keys_mismatch')

function keysOf({ id, bytes }: HostSecret): Keys {
  const derive = (label: string): Uint8Array => new Uint8Array(hkdfSync('sha256', bytes, '', label, 32))
  return { id, seal: derive('pawl seal v1'), hash: derive('pawl content hash v1'), record: '', key: new Uint8Array(0) }
}

/** One key per record, so that random nonces never run short, however much is sealed. */
function keyFor(keys: Keys, record: string): Uint8Array {
  if (keys.record !== record) {
    keys.key = createHmac('sha256', keys.seal).update(record).digest()
    keys.record = record
  }
  return keys.key
}

const boundTo = ({ record, field }: Place): Buffer => Buffer.from(frame('pawl seal v1', record, field))

function sealed(data: Uint8Array, keys: Keys, place: Place): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', keyFor(keys, place.record), nonce, { authTagLength: tagLength })
  cipher.setAAD(boundTo(place))
  return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
}

function opened(body: Uint8Array, keys: Keys, place: Place): Buffer {
  if (body.length < nonceLength + tagLength) throw broken(place, 'it was cut off')
  try {
    const key = keyFor(keys, place.record)
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, nonceLength), { authTagLength: tagLength })
    decipher.setAAD(boundTo(place))
    decipher.setAuthTag(body.subarray(body.length - tagLength))
    return Buffer.concat([decipher.update(body.subarray(nonceLength, body.length - tagLength)), decipher.final()])
  } catch {
    throw broken(place, 'it was edited, or belongs elsewhere')
  }
}

const broken = ({ record, field }: Place, why: string): PawlError =>
  new PawlError('sealed_payload_broken', `The field '${field}' of ${record}: ${why}.`, { details: { record, field } })
