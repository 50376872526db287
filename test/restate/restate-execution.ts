// SPIKE: the engine port on Restate. One RestateInvocation is one execution of one attempt (see call-workflow.ts). Its
// operations are entries of that attempt's ordinal journal, except for data that other handlers read by name. That data
// is in durable promises of the call's workflow, used as cells: keyed, written once, the first writer wins.
// An ordinal journal requires the same entries in the same order on every execution. So nothing below branches on
// `interrupted`, on the clock or on an unrecorded random value.

import type { RestatePromise as Operation, WorkflowSharedContext } from '@restatedev/restate-sdk'
import { RestatePromise, TerminalError } from '@restatedev/restate-sdk'
import { randomUUID } from 'node:crypto'
import { difference } from '../../src/engine/replay-difference.ts'
import type {
  ApprovalWaitsPort,
  AttachedWritesPort,
  Execution,
  Stop,
  StepEnd,
  StepSpec,
  Wait,
  WaitSpec,
} from '../../src/engine/engine.ts'
import type {
  CallOptions,
  CallTerms,
  CallRequest,
  Interruption,
  Resolution,
} from '../../src/store/records/call-record.ts'
import { PawlError } from '../../src/core/errors.ts'
import type { AttachmentRecord } from '../../src/store/store.ts'
import { deriveBytes, hashKey, newSalt, waitKey } from '../../src/engine/wait-key.ts'
import { decodeResolution, encodeResolution } from '../../src/store/records/wait-resolution.ts'
import { Pump } from './promise-pump.ts'

/** The input of an attempt. It passes through Restate, so it is plain JSON without secrets. */
export interface AttemptRequest {
  readonly request: CallRequest
  /** The number of the attempt within its call, used in its cell names. */
  readonly number: number
  readonly args: string | null
  readonly interrupted: Interruption | null
  /** The Resolution in recorded form. */
  readonly landed: string | null
  /** Number of bodies started so far. */
  readonly begun: number
}

/** Written before the body runs, for the handler that finds the attempt dead. */
export interface Begun {
  readonly at: number
  readonly args: string | null
}

/** The storable part of a wait: the hash of the key, never the key. */
export interface WaitCell {
  readonly salt: string
  readonly keyHash: string
  readonly deadline: number
}

export const cells = {
  begun: (number: number): string => `begun:${number}`,
  wait: (name: string): string => `wait:${name}`,
  answer: (name: string): string => `answer:${name}`,
}

/** Writes a cell. Returns false if it was already written. */
export async function write(cell: Promise<void>): Promise<boolean> {
  try {
    await cell
    return true
  } catch (error) {
    if (error instanceof TerminalError && error.code === 409) return false
    throw error
  }
}

/** The answer to a wait. The deadline competes like any resolver: if it writes the cell first, it is the answer. */
export async function answerOf(
  ctx: WorkflowSharedContext,
  { name, deadline }: Pick<Wait, 'name' | 'deadline'>,
  keep: <T>(operation: Promise<T>) => Promise<T>,
): Promise<string> {
  const cell = ctx.promise<string>(cells.answer(name))
  const answered = cell.get()
  // Restate records the end of a sleep, so the remaining time matters only on the first execution.
  const over: Operation<void> = ctx.sleep(Math.max(0, deadline - Date.now()), `deadline:${name}`)
  const late = await keep(RestatePromise.race([answered.map(() => false), over.map(() => true)]))
  if (late) await write(keep(cell.resolve(encodeResolution({ timeout: true }))))
  return keep(answered)
}

interface Started {
  readonly by: string
  readonly at: number
}

type StepEntry = { readonly input: string | null } & ({ readonly end: StepEnd } | { readonly unknownSince: number })

export class RestateInvocation implements Execution {
  readonly request: CallRequest
  readonly interrupted: Interruption | null
  readonly landed: Resolution | null
  /** Restate has its own retry policy. */
  readonly deaths = 0
  readonly interruptions = 0
  readonly claimed = false
  readonly generation = 1
  readonly lostWorker = false
  readonly isSuspended = false
  readonly hasWaits = false
  /** Semaphores across workers are not part of the spike. */
  readonly semaphores = { release: () => {}, acquire: () => Promise.resolve(), awaitSlot: () => Promise.resolve() }
  /** Approvals are not part of the spike: this engine has no inbox. */
  readonly approvals: ApprovalWaitsPort = {
    any: false,
    find: () => null,
    withdraw: () => Promise.resolve(true),
    amend: () => {},
    appendEvent: () => {},
    decidingMs: 0,
  }
  /** Tasks are not part of the spike. */
  readonly idleWhile: Execution['idleWhile'] = (wait) => wait()
  readonly attached: AttachedWritesPort = {
    read: () => Promise.resolve(null),
    writeDocuments: () => {},
    submit: () => {},
    fence: () => [],
    appendEvent: () => {},
    deferToOutcome: () => {},
    flush: () => Promise.resolve(),
  }
  readonly signal: AbortSignal
  readonly #ctx: WorkflowSharedContext
  readonly #pump: Pump
  readonly #secret: Uint8Array
  readonly #given: AttemptRequest
  readonly #me: string
  readonly #first: Started
  readonly #waits = new Map<string, Promise<Wait>>()
  readonly #attachments = new Map<string, AttachmentRecord>()
  #args: string | null
  #attempt: number

  private constructor(
    ctx: WorkflowSharedContext,
    pump: Pump,
    given: AttemptRequest,
    secret: Uint8Array,
    me: string,
    first: Started,
  ) {
    this.#ctx = ctx
    this.#pump = pump
    this.#secret = secret
    this.#given = given
    this.#me = me
    this.#first = first
    this.request = given.request
    this.signal = ctx.request().attemptCompletedSignal
    this.landed = given.landed === null ? null : decodeResolution(given.landed)
    this.#args = given.args
    const again = first.by !== me
    this.#attempt = given.begun + (again ? 1 : 0)
    this.interrupted = again ? { attempt: this.#attempt, startedAt: first.at } : given.interrupted
  }

  awaitTrial(): void {}

  runAtRisk<T>(run: () => Promise<T>): Promise<T> {
    return run()
  }

  /**
   * The first journal entry of an attempt is a nonce. An execution that reads another nonce than its own is not the
   * first.
   */
  static async open(ctx: WorkflowSharedContext, given: AttemptRequest, secret: Uint8Array): Promise<RestateInvocation> {
    const pump = new Pump()
    const me = randomUUID()
    const first = await pump.keep(ctx.run('execution', (): Started => ({ by: me, at: Date.now() })))
    return new RestateInvocation(ctx, pump, given, secret, me, first)
  }

  /** True if Restate executes this attempt again, after a crash or a suspension. */
  get executedAgain(): boolean {
    return this.#first.by !== this.#me
  }
  get args(): string | null {
    return this.#args
  }
  get attempt(): number {
    return this.#attempt
  }

  get options(): CallOptions {
    return this.request.options === null ? {} : (JSON.parse(this.request.options) as CallOptions)
  }
  get callId(): string {
    return this.request.position.id
  }

  // Cancels and retries are not part of the spike, which covers steps, waits, sleeps and crashes.
  readonly terms: CallTerms | null = null
  readonly retries = 0
  readonly stopped: Stop | null = null
  onStop(): () => void {
    return () => {}
  }
  end(over: PawlError): void {
    throw over
  }
  async scheduleRetry(delayMs: number): Promise<void> {
    await this.sleep('retry', delayMs)
  }
  async awaitRetryDelay(): Promise<void> {}
  async recordLateEnd(): Promise<void> {}
  /** Documents belong to Pawl's store, which the spike does not have, so budgets are not supported. */
  async updateCounters(): Promise<never> {
    throw new PawlError('config_invalid', 'Budgets are not part of the spike.')
  }
  async cancelWaits(): Promise<readonly Wait[]> {
    return []
  }

  async accept(args: string): Promise<string> {
    this.#args = await this.#record('args', () => args)
    return this.#args
  }

  /**
   * Always durable and always the same entry: `durable` differs between executions of one journal, so it must not
   * matter.
   */
  async begin<T>(_: { durable: boolean }, body: () => T): Promise<Awaited<T>> {
    this.#attempt++
    const begun: Begun = { at: this.#first.at, args: this.#args }
    await write(this.#pump.keep(this.#ctx.promise<Begun>(cells.begun(this.#given.number)).resolve(begun)))
    return await body()
  }

  recordedSteps(): readonly string[] {
    return []
  }

  recordedStep(): null {
    return null // the journal returns a recorded step when it is run again
  }

  async runStep(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const { key, input } = spec
    const start = spec.once
      ? await this.#record(`start ${key}`, (): Started => ({ by: this.#me, at: Date.now() }))
      : null
    const entry = await this.#record(key, async (): Promise<StepEntry> => {
      // Runs only if no end is recorded. If another execution had started the step, its progress is unknown.
      if (start && start.by !== this.#me) return { input, unknownSince: start.at }
      return { input, end: await body() }
    })
    const differs = difference(entry.input, input)
    if (differs.length > 0)
      throw new PawlError('replay_mismatch', `Step '${key}': ${differs.join('; ')}.`, {
        details: { step: key, differs },
      })
    if ('end' in entry) return entry.end
    throw new PawlError('step_unknown', `The step is '${key}'.`, {
      details: { step: key, startedAt: entry.unknownSince },
    })
  }

  openWait(spec: WaitSpec): Promise<Wait> {
    // Two callers of one name share one wait and one set of entries.
    const opening = this.#waits.get(spec.name) ?? this.#open(spec)
    this.#waits.set(spec.name, opening)
    return opening
  }

  async awaitAnswer(wait: Wait): Promise<Resolution> {
    return decodeResolution(await answerOf(this.#ctx, wait, (operation) => this.#pump.keep(operation)))
  }

  async sleep(key: string, ms: number): Promise<void> {
    await this.#pump.keep(this.#ctx.sleep(ms, key))
  }

  now(key: string): Promise<number> {
    return this.#record(key, () => Date.now())
  }

  // For operators; not recorded in the spike.
  recordDiagnostics(): void {}
  derive(purpose: string): Uint8Array {
    return deriveBytes(this.#secret, this.request.position, purpose)
  }

  // A replay attaches the same bytes again, so memory is enough within an attempt. Across attempts they belong in
  // Pawl's store, because the whole journal is sent to the worker.
  attach(attachment: AttachmentRecord): void {
    this.#attachments.set(attachment.id, attachment)
  }
  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    return this.#attachments.get(id)
  }

  async #open({ name, deadlineMs, terms }: WaitSpec): Promise<Wait> {
    const { uid, position } = this.request
    const keyOf = (salt: string): string => waitKey(this.#secret, { tenant: position.tenant, call: uid, name, salt })
    const fresh = await this.#record(`wait ${name}`, () => ({ salt: newSalt(), deadline: Date.now() + deadlineMs }))
    const cell = this.#ctx.promise<WaitCell>(cells.wait(name))
    const mine = await write(this.#pump.keep(cell.resolve({ ...fresh, keyHash: hashKey(keyOf(fresh.salt)) })))
    // An earlier attempt of this call opened the wait: the same name gives the same wait and key.
    const { salt, deadline } = mine ? fresh : await this.#pump.keep(cell.get())
    return { id: `${uid}:${name}`, name, key: keyOf(salt), deadline, terms }
  }

  #record<T>(name: string, make: () => T | Promise<T>): Promise<T> {
    return this.#pump.keep(this.#ctx.run(name, async () => make()))
  }
}
