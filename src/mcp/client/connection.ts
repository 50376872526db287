// The connection to one MCP server: connects when it is needed, one attempt at a time, and again with backoff after it
// was lost. Everything that uses a server asks here for the connected client.

import { Client, type PriorDiscovery, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { backoffMs } from '../../core/backoff.ts'
import { systemClock } from '../../core/clock.ts'
import { HttpTransport } from './http-transport.ts'
import { plainText, withoutSecrets } from './plain-text.ts'
import type { ServerSettings } from './server-config.ts'
import { StderrTail } from './stderr-tail.ts'
import { StdioTransport } from './stdio-transport.ts'

/** The list that changed. `tools` also stands for a lost connection, which the next listing notices. */
export type ServerChange = 'tools' | 'resources' | 'prompts'

/** The server cannot be reached now. Nothing was sent. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable'
}

/** A server that does not answer the probe for the newest revision speaks an older one. */
const probeTimeoutMs = 10_000
/** Includes the download of a package that `npx` runs. */
const connectTimeoutMs = 180_000
const endSessionMs = 1_000
const firstRetryMs = 500
const maxRetryMs = 60_000
/** A connection that has lasted this long is not counted as a failed attempt when it ends. */
const stableMs = 30_000
/** Pause before a subscription that ended is made again. */
const relistenMs = 10_000
/** Changes within this time are reported once: a server that always reports changes must not keep us busy. */
const minChangeGapMs = 1_000
const firstChangeDelayMs = 50

const changeMethods = {
  tools: 'notifications/tools/list_changed',
  resources: 'notifications/resources/list_changed',
  prompts: 'notifications/prompts/list_changed',
} as const

interface Connected {
  readonly client: Client
  readonly since: number
}

export class ServerConnection {
  readonly settings: ServerSettings
  readonly #listeners = new Set<(change: ServerChange) => void>()
  readonly #changeTimers = new Map<ServerChange, () => void>()
  readonly #lastChange = new Map<ServerChange, number>()
  #connected: Connected | null = null
  #connecting: Promise<Client> | null = null
  #closeTransport: (() => Promise<void>) | null = null
  /** The revision that the server speaks. Finding it out costs a round trip, so it is done once per process. */
  #verdict: PriorDiscovery | undefined
  #failures = 0
  #retryAt = -Infinity
  #lastProblem = ''
  #cancelRetry = (): void => {}
  #closed = false

  constructor(settings: ServerSettings) {
    this.settings = settings
  }

  onChange(listener: (change: ServerChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The connected client. Rejects with ServerUnavailable, which says why. */
  connect(): Promise<Client> {
    if (this.#closed) return Promise.reject(this.#unavailable('It was closed'))
    if (this.#connected) return Promise.resolve(this.#connected.client)
    const waitMs = this.#retryAt - systemClock.monotonic()
    if (!this.#connecting && waitMs > 0) {
      this.#wakeAtRetry(waitMs)
      const seconds = Math.ceil(waitMs / 1_000)
      return Promise.reject(this.#unavailable(`${this.#lastProblem} The next attempt is in ${seconds} s`))
    }
    this.#connecting ??= this.#open().finally(() => (this.#connecting = null))
    return this.#connecting
  }

  /** Ends a connection that turned out to be unusable, such as a session that the server has forgotten. */
  drop(client: Client, problem: string): void {
    if (this.#connected?.client !== client) return
    this.#lost(problem)
    client.close().catch(() => {})
  }

  /** The revision of the protocol, if the server is connected. */
  get protocol(): string | undefined {
    return this.#connected?.client.getNegotiatedProtocolVersion()
  }

  /** Ends the connection and forgets the pause before the next attempt. A stdio server is started again. */
  reconnect(): void {
    const client = this.#connected?.client
    this.#verdict = undefined
    if (client) this.drop(client, 'An operator ended the connection.')
    this.#failures = 0
    this.#retryAt = -Infinity
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRetry()
    for (const cancel of this.#changeTimers.values()) cancel()
    this.#listeners.clear()
    const client = this.#connected?.client
    this.#connected = null
    await this.#closeTransport?.().catch(() => {})
    await client?.close().catch(() => {})
  }

  /** The text of an error without secrets and invisible characters. */
  describe(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error)
    return plainText(withoutSecrets(text.slice(0, 4_096), this.settings.secrets), 400)
  }

  async #open(): Promise<Client> {
    const first = await this.#attempt(this.#verdict)
    if (first instanceof Client) return first
    // Servers of older revisions may exit at the first request they do not know: start it again without that request.
    const second = first.isProbe ? await this.#attempt({ kind: 'legacy' }) : first
    if (second instanceof Client) return second
    this.#verdict = undefined
    this.#failed(second.problem)
    throw this.#unavailable(second.problem)
  }

  async #attempt(prior: PriorDiscovery | undefined): Promise<Client | { problem: string; isProbe: boolean }> {
    const { target, secrets } = this.settings
    if (this.#closed) return { problem: 'It was closed.', isProbe: false }
    const tail = new StderrTail(secrets)
    const transport = 'url' in target ? new HttpTransport(target) : new StdioTransport(target, tail)
    // Neither roots nor sampling nor elicitation nor the tasks extension: what a server asks for is refused.
    const client = new Client(
      { name: 'pawl', version: '1' },
      {
        capabilities: {},
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeTimeoutMs } },
        inputRequired: { autoFulfill: false },
      },
    )
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is no EventTarget
    client.onerror = (error) => (this.#lastProblem = `${this.describe(error)}.`)
    for (const [change, method] of Object.entries(changeMethods) as [ServerChange, string][])
      client.setNotificationHandler(method as 'notifications/tools/list_changed', () => this.#changed(change))
    this.#closeTransport = () => closeTransport(transport)
    try {
      await client.connect(transport, { timeout: connectTimeoutMs, ...(prior ? { prior } : {}) })
      if (this.#closed) throw new Error('It was closed')
    } catch (error) {
      await transport.close().catch(() => {})
      const closedByProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
      const isProbe = prior === undefined && closedByProbe && !('url' in target)
      return { problem: this.#problemOf(transport, tail, error), isProbe }
    }
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is no EventTarget
    client.onclose = () => {
      if (this.#connected?.client === client) this.#lost(this.#problemOf(transport, tail, null))
    }
    this.#connected = { client, since: systemClock.monotonic() }
    const discover = client.getDiscoverResult()
    this.#verdict = discover ? { kind: 'modern', discover } : { kind: 'legacy' }
    if (discover) this.#listen(client)
    return client
  }

  /** Since revision 2026-07-28 a server reports changes only to clients that subscribe to them. */
  #listen(client: Client): void {
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {}
    const filter = {
      ...(tools?.listChanged ? { toolsListChanged: true } : {}),
      ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
      ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
    }
    if (Object.keys(filter).length === 0) return
    const again = (missedChanges: boolean): void => {
      if (this.#connected?.client !== client) return
      if (missedChanges) for (const change of ['tools', 'resources', 'prompts'] as const) this.#changed(change)
      this.#listen(client)
    }
    const later = (missedChanges: boolean): void => void systemClock.timer(relistenMs, () => again(missedChanges))
    client
      .listen(filter)
      .then(({ closed }) => closed.then(() => later(true)))
      .catch(() => later(false))
  }

  #problemOf(transport: HttpTransport | StdioTransport, tail: StderrTail, error: unknown): string {
    const ended = transport instanceof StdioTransport ? transport.ended : null
    const why =
      ended === null
        ? error === null
          ? 'The connection ended'
          : (statusText(error) ?? this.describe(networkProblem(error) ?? error))
        : `It ${ended}`
    return `${why.replace(/[.\s]+$/, '')}.${tail.shown === '' ? '' : ` Its last output on stderr: ${tail.shown}.`}`
  }

  #lost(problem: string): void {
    const lasted = systemClock.monotonic() - (this.#connected?.since ?? 0)
    this.#connected = null
    if (this.#closed) return
    if (lasted > stableMs) this.#failures = 0
    this.#failed(problem)
    this.#emit('tools')
  }

  /** The first attempt after a lost connection is made at once, the others with backoff. */
  #failed(problem: string): void {
    this.#lastProblem = problem
    const delay = this.#failures === 0 ? 0 : backoffMs(this.#failures - 1, firstRetryMs, maxRetryMs)
    this.#failures++
    this.#retryAt = systemClock.monotonic() + delay
  }

  /** Listeners list again when the next attempt is allowed. */
  #wakeAtRetry(ms: number): void {
    this.#cancelRetry()
    this.#cancelRetry = systemClock.timer(ms + 1, () => this.#emit('tools'))
  }

  #unavailable(problem: string): ServerUnavailable {
    return new ServerUnavailable(
      `The MCP server '${this.settings.name}' is not available. ${problem.replace(/[.\s]+$/, '')}.`,
    )
  }

  #changed(change: ServerChange): void {
    if (this.#closed || this.#changeTimers.has(change)) return
    const next = (this.#lastChange.get(change) ?? -Infinity) + minChangeGapMs
    const ms = Math.max(firstChangeDelayMs, next - systemClock.monotonic())
    const report = (): void => {
      this.#changeTimers.delete(change)
      this.#lastChange.set(change, systemClock.monotonic())
      this.#emit(change)
    }
    this.#changeTimers.set(change, systemClock.timer(ms, report))
  }

  /** Reports a change without waiting: a lost connection, or a listing that arrived late. */
  #emit(change: ServerChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  emitTools(): void {
    this.#emit('tools')
  }
}

/** The advice for an HTTP status that a server answers to the first request with. */
function statusText(error: unknown): string | undefined {
  if (!(error instanceof SdkHttpError) || typeof error.status !== 'number') return undefined
  const text = `It answered with HTTP status ${error.status}`
  if (error.status === 401 || error.status === 403)
    return `${text}. Set its token in \`headers\`; OAuth is not supported`
  if (error.status === 404 || error.status === 405)
    return `${text}. Check the address: only streamable HTTP is supported, not the older SSE transport`
  return text
}

/** The reason below a `fetch failed`, such as a refused connection. Undefined for other errors. */
function networkProblem(error: unknown): Error | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.message !== 'fetch failed' || !(at.cause instanceof Error)) continue
    const { message, code } = at.cause as NodeJS.ErrnoException
    return new Error(`It cannot be reached: ${message === '' ? code : message}`)
  }
  return undefined
}

/** Ends the session of an HTTP server too, if the server answers soon. */
async function closeTransport(transport: HttpTransport | StdioTransport): Promise<void> {
  if (transport instanceof HttpTransport && transport.sessionId !== undefined)
    await new Promise<void>((resolve) => {
      systemClock.timer(endSessionMs, resolve)
      transport.terminateSession().then(resolve, () => resolve())
    })
  await transport.close()
}
