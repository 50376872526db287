// Signed links for decisions: a text that proves who may decide which inbox item until when, for an e-mail or a chat
// message. It is bound to what the item showed when it was signed. The text carries its facts, so verifying it reads
// nothing from the store. Used by the runtime's public API.

import { createHmac, hkdfSync } from 'node:crypto'
import { isPerson } from '../approvals/decision-input.ts'
import { type InboxHost, readInboxItem } from '../approvals/inbox.ts'
import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Foundation } from '../engine/foundation.ts'
import { sameHash } from '../engine/wait-key.ts'
import type { HostSecret } from '../security/host-secrets.ts'

/** A decision link to sign. */
export interface SignLink {
  /** Id of the inbox item. */
  readonly item: string
  /** The person who decides with it: the `by` of the decision. */
  readonly by: string
  /** Default: 24 hours. */
  readonly expiresIn?: Duration
  /** If set, the item must belong to this tenant. */
  readonly tenant?: string
}

/** The facts that a signed link proves. Pass all of it to runtime.decide(), so that the decision is about what was signed. */
export interface DecisionLink {
  /** Id of the inbox item. */
  readonly item: string
  /** The person who may decide with it. */
  readonly by: string
  /** Tenant of the item. */
  readonly tenant: string
  /** Session of the item. */
  readonly session: string
  /** Fingerprint of what the item showed when the link was signed. */
  readonly fingerprint: string
  /** When the link expires, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** Signed links with which a named person decides one inbox item, without a token. */
export interface DecisionLinks {
  /**
   * Signs a text that fits into a URL. Fails if the item is unknown or decided.
   *
   * @example
   * const signed = await runtime.links.sign({ item: item.id, by: 'user:bea' })
   * await sendMail('bea@example.com', `https://pawl.example.com/decide/${signed}`)
   */
  sign(link: SignLink): Promise<string>
  /**
   * The facts that a valid text proves; undefined for any other. It reads and consumes nothing: a link is used up by the
   * decision, because an item is decided once and a person approves it once.
   *
   * @example
   * const link = await runtime.links.verify(signed)
   * if (!link) return notFound()
   * const { item, expiresAt, ...about } = link
   * await runtime.decide(item, { approve: true, door: 'link', ...about })
   */
  verify(text: string): Promise<DecisionLink | undefined>
}

export const signLinkOptions = {
  item: option.required(option.identifier),
  by: option.required({
    expected: 'the person who may decide, as a string without surrounding whitespace or invisible characters',
    valid: isPerson,
  }),
  expiresIn: option.positiveDuration,
  tenant: option.string,
} satisfies OptionTable<SignLink>

type LinksHost = InboxHost & Pick<Foundation, 'keys' | 'clock'>

/** Version, id of the secret, and the fields of DecisionLink. A list, because the text should be short. */
type LinkFields = readonly [
  v: 1,
  secret: string,
  item: string,
  by: string,
  tenant: string,
  session: string,
  fingerprint: string,
  expiresAt: number,
]
export const parseLinkFields = (text: string): LinkFields => JSON.parse(text) as LinkFields

const defaultExpiry = '24h'
/** Five names of 512 characters fit. */
const maxLength = 16_384
const pattern = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/

export function openDecisionLinks(host: LinksHost): DecisionLinks {
  const { keys, clock } = host
  return {
    async sign(link) {
      checkRequiredOptions(link, signLinkOptions, 'links.sign()')
      const { item, by, expiresIn = defaultExpiry, tenant: only } = link
      const found = await readInboxItem(host, item, only)
      if (found === 'unknown') throw new PawlError('item_unknown', `The item is '${item.slice(0, 80)}'.`)
      if (found === 'decided') throw new PawlError('item_decided', `The item is '${item}'.`)
      const { tenant, session, fingerprint } = found
      const expiresAt = clock.now() + milliseconds(expiresIn, 'expiresIn')
      const fields: LinkFields = [1, keys.current.id, item, by, tenant, session, fingerprint, expiresAt]
      const signed = Buffer.from(JSON.stringify(fields)).toString('base64url')
      return `${signed}.${signatureOf(keys.current, signed)}`
    },
    async verify(text) {
      if (typeof text !== 'string' || text.length > maxLength) return undefined
      const [, signed = '', signature = ''] = pattern.exec(text) ?? []
      // Compared as text: the last character of base64url has unused bits, so several texts decode to the same bytes.
      const secret = keys.all.find((each) => sameHash(signatureOf(each, signed), signature))
      if (!secret) return undefined
      const [v, id, item, by, tenant, session, fingerprint, expiresAt] = parseLinkFields(
        Buffer.from(signed, 'base64url').toString(),
      )
      if (v !== 1 || id !== secret.id || clock.now() >= expiresAt) return undefined
      return { item, by, tenant, session, fingerprint, expiresAt }
    },
  }
}

/** Derived, so that a signature is never valid for anything else that is signed with the same secret. */
const linkKeys = new WeakMap<HostSecret, Buffer>()
function signatureOf(secret: HostSecret, signed: string): string {
  const key = linkKeys.get(secret) ?? Buffer.from(hkdfSync('sha256', secret.bytes, '', 'pawl decision link v1', 32))
  linkKeys.set(secret, key)
  return createHmac('sha256', key).update(signed).digest('base64url')
}
