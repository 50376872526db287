// Sealing: AES-256-GCM with keys derived from the host's secret. Each record has its own key, and each field is bound
// to its record and name, so opening a sealed text that was edited, swapped or moved fails. See docs/decisions/0015.
//
//   text   ~1.<id of the secret>.<base64url of nonce, ciphertext, tag>      no plain recorded text begins with '~'
//   bytes  <16 bytes of magic><id of the secret><nonce, ciphertext, tag>

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { PawlError } from '../core/errors.ts'
import type { HostKeys, HostSecret } from './host-secrets.ts'
import { lengthPrefixed } from '../core/ids.ts'

const prefix = '~1.'
const idLength = 8
const textHeaderLength = prefix.length + idLength + 1
const magic = Buffer.from('9f5061776c7365616c1a0d0a00c3d7f1', 'hex')
const bytesHeaderLength = magic.length + idLength
const nonceLength = 12
const tagLength = 16

/** The record and the name of a sealed field. */
export interface FieldLocation {
  /** A framed name that is unique to the record. */
  readonly record: string
  readonly field: string
}

export const isSealedText = (text: string): boolean => text.startsWith(prefix)
export const isSealedBytes = (data: Uint8Array): boolean =>
  data.length >= bytesHeaderLength && magic.equals(data.subarray(0, magic.length))

interface Keys {
  readonly id: string
  readonly seal: Uint8Array
  readonly hash: Uint8Array
  /** The last derived record key, cached because the fields of a record are sealed together. */
  record: string
  key: Uint8Array
}

export class Seal {
  readonly #current: Keys
  readonly #byId: ReadonlyMap<string, Keys>

  /** Seals every record, not only sensitive ones. */
  readonly all: boolean

  constructor(keys: HostKeys, all = false) {
    this.all = all
    this.#byId = new Map(keys.all.map((secret) => [secret.id, keysOf(secret)]))
    this.#current = this.#byId.get(keys.current.id) as Keys
  }

  /** This seal if the payloads of such a call are sealed, else null. */
  for(sensitive: boolean): Seal | null {
    return this.all || sensitive ? this : null
  }

  text(text: string, location: FieldLocation): string {
    return `${prefix}${this.#current.id}.${encrypt(Buffer.from(text), this.#current, location).toString('base64url')}`
  }

  bytes(data: Uint8Array, location: FieldLocation): Uint8Array {
    return Buffer.concat([magic, Buffer.from(this.#current.id), encrypt(data, this.#current, location)])
  }

  openText(text: string, location: FieldLocation): string {
    if (!isSealedText(text)) throw brokenError(location, 'it is not sealed but must be')
    const keys = this.#keysById(text.slice(prefix.length, textHeaderLength - 1), location)
    const body = Buffer.from(text.slice(textHeaderLength), 'base64url')
    // Accept only our own canonical base64: lenient decoding would let a text be edited without detection.
    if (text[textHeaderLength - 1] !== '.' || body.toString('base64url') !== text.slice(textHeaderLength))
      throw brokenError(location, 'it was edited')
    return decrypt(body, keys, location).toString()
  }

  openBytes(data: Uint8Array, location: FieldLocation): Uint8Array {
    if (!isSealedBytes(data)) throw brokenError(location, 'it is not sealed but must be')
    const keys = this.#keysById(
      Buffer.from(data.subarray(magic.length, bytesHeaderLength)).toString('latin1'),
      location,
    )
    return decrypt(data.subarray(bytesHeaderLength), keys, location)
  }

  /** A keyed hash, so that it reveals nothing without the secret. The dot distinguishes it from a plain hash. */
  hash(text: string): string {
    const { id, hash } = this.#current
    return `${id}.${createHmac('sha256', hash).update(text).digest('base64url')}`
  }

  #keysById(id: string, location: FieldLocation): Keys {
    const keys = this.#byId.get(id)
    if (keys) return keys
    if (!/^[\w-]{8}$/.test(id)) throw brokenError(location, 'it was edited')
    throw new PawlError('keys_mismatch', `A stored payload was sealed with the secret ${id}, which is not in keys.`, {
      details: { secret: id, ...location },
    })
  }
}

/** Whether reading failed because one row cannot be opened. The store works, and other rows are readable. */
export const isUnreadable = (error: unknown): error is PawlError =>
  error instanceof PawlError && (error.code === 'sealed_payload_broken' || error.code === 'keys_mismatch')

function keysOf({ id, bytes }: HostSecret): Keys {
  const derive = (label: string): Uint8Array => new Uint8Array(hkdfSync('sha256', bytes, '', label, 32))
  return { id, seal: derive('pawl seal v1'), hash: derive('pawl content hash v1'), record: '', key: new Uint8Array(0) }
}

/** One key per record, so that the number of random nonces per key stays far below the safe limit. */
function recordKey(keys: Keys, record: string): Uint8Array {
  if (keys.record !== record) {
    keys.key = createHmac('sha256', keys.seal).update(record).digest()
    keys.record = record
  }
  return keys.key
}

const associatedData = ({ record, field }: FieldLocation): Buffer =>
  Buffer.from(lengthPrefixed('pawl seal v1', record, field))

function encrypt(data: Uint8Array, keys: Keys, location: FieldLocation): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', recordKey(keys, location.record), nonce, { authTagLength: tagLength })
  cipher.setAAD(associatedData(location))
  return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
}

function decrypt(body: Uint8Array, keys: Keys, location: FieldLocation): Buffer {
  if (body.length < nonceLength + tagLength) throw brokenError(location, 'it was truncated')
  try {
    const key = recordKey(keys, location.record)
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, nonceLength), { authTagLength: tagLength })
    decipher.setAAD(associatedData(location))
    decipher.setAuthTag(body.subarray(body.length - tagLength))
    return Buffer.concat([decipher.update(body.subarray(nonceLength, body.length - tagLength)), decipher.final()])
  } catch {
    throw brokenError(location, 'it was edited or moved from another record')
  }
}

const brokenError = ({ record, field }: FieldLocation, why: string): PawlError =>
  new PawlError('sealed_payload_broken', `The field '${field}' of ${record}: ${why}.`, { details: { record, field } })
