// webhook(): a target for `announce` of createRuntime() that posts each announcement, signed, to a URL. It throws if the
// receiver did not take it, so that the runtime delivers it again.

import { systemClock } from '../../core/clock.ts'
import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import type { Announce, Announcement, Runtime } from '../../index.ts'
import { invalidHeader, postJson } from './post-json.ts'
import { secretCheck, signWebhook, type WebhookSecret } from './sign-webhook.ts'

/** Adds a signed decision link to announcements of requests to people. */
export interface WebhookLink {
  /** The runtime that announces. A function, because the runtime is created after its options. */
  readonly runtime: () => Pick<Runtime, 'links'>
  /** The address of the server that has the decision page, such as 'https://pawl.example.com'. */
  readonly baseUrl: string
  /** The person who decides with the link: send the webhook only where this person reads it. */
  readonly by: string
}

/** Options of webhook(). */
export interface WebhookOptions {
  /** Where to post, with http or https. */
  readonly url: string
  /** Signs the requests: at least 16 bytes, known to the receiver. */
  readonly secret: WebhookSecret
  /** Allows targets on this machine and in private networks. Default: false. */
  readonly allowPrivateAddresses?: boolean
  /** Time for connecting, sending and the start of the answer, at most 25 s. Default: '10s'. */
  readonly timeout?: Duration
  /** Headers to send, for example for the receiver's authorization. */
  readonly headers?: Readonly<Record<string, string>>
  /** Adds a decision link to announcements of requests to people. Default: none. */
  readonly link?: WebhookLink
}

/** The body of a webhook: the announcement, and the decision link if the webhook has `link`. */
export type WebhookMessage = Announcement & {
  /** The link with which `by` decides the request. */
  readonly links?: { readonly decide: string; readonly by: string }
}

const defaultTimeout = '10s'
/** The runtime gives up a delivery after 30 s. */
const maxTimeoutMs = 25_000

const httpUrl = {
  expected: 'a URL with http or https, without a user name and password',
  valid: (value: unknown) => parseTarget(value) !== null,
}

/** Hidden in errors: the URL of a webhook often contains a secret. */
export const webhookOptions = {
  url: option.required(option.hidden(httpUrl)),
  secret: option.required(secretCheck),
  allowPrivateAddresses: option.boolean,
  timeout: option.durationWithin('a duration of 1 ms to 25 s', (ms) => ms >= 1 && ms <= maxTimeoutMs),
  headers: option.object,
  link: option.nested({
    runtime: option.required(option.func),
    baseUrl: option.required(httpUrl),
    by: option.required(option.nonEmptyString),
  } satisfies OptionTable<WebhookLink>),
} satisfies OptionTable<WebhookOptions>

/**
 * Returns an `announce` that posts every announcement as JSON to a URL, with the headers `pawl-id`, `pawl-timestamp` and
 * `pawl-signature`. The receiver checks them with verifyWebhook() and answers with a 2xx status; otherwise the
 * announcement is delivered again, with the same id.
 *
 * @example
 * const announce = webhook({ url: 'https://example.com/hooks/pawl', secret: process.env.HOOK_SECRET ?? '' })
 * const runtime = await createRuntime({ store: 'sqlite:agent.db', tools, announce })
 */
export function webhook(options: WebhookOptions): Announce {
  checkRequiredOptions(options, webhookOptions, 'webhook()')
  const { url, secret, allowPrivateAddresses = false, timeout = defaultTimeout, headers = {}, link } = options
  const problem = invalidHeader(headers)
  if (problem !== undefined) throw new PawlError('config_invalid', `\`headers\` of \`webhook()\`: ${problem}.`)
  const target = parseTarget(url) as URL
  const timeoutMs = milliseconds(timeout, 'timeout')
  return async (announcement) => {
    const message = await messageOf(announcement, link)
    if (!message) return
    const body = JSON.stringify(message)
    const timestamp = String(systemClock.now())
    await postJson({
      url: target,
      body,
      timeoutMs,
      allowPrivateAddresses,
      headers: {
        ...headers,
        'pawl-id': announcement.id,
        'pawl-timestamp': timestamp,
        'pawl-signature': signWebhook({ id: announcement.id, timestamp, body, secret }),
      },
    })
  }
}

/** Null if the request was decided a moment ago, so that there is nothing to announce. */
async function messageOf(announcement: Announcement, link: WebhookLink | undefined): Promise<WebhookMessage | null> {
  if (!link || announcement.about !== 'person') return announcement
  const { runtime, baseUrl, by } = link
  try {
    const signed = await runtime().links.sign({ item: announcement.id, by, tenant: announcement.tenant })
    return { ...announcement, links: { decide: `${baseUrl.replace(/\/+$/, '')}/decide/${signed}`, by } }
  } catch (error) {
    if (error instanceof PawlError && (error.code === 'item_decided' || error.code === 'item_unknown')) return null
    throw error
  }
}

function parseTarget(text: unknown): URL | null {
  const url = typeof text === 'string' ? URL.parse(text) : null
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  return url && isHttp && url.username === '' && url.password === '' ? url : null
}
