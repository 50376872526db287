// What a body is handed: ctx, on whatever engine runs the call. It keeps the rules of steps (a blank id, an id used twice, nothing
// recorded inside a step) and turns values into their recorded form and back, so the first run sees what a replay will see.

import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { Invocation, StepEnd, Wait } from '../engine/engine.ts'
import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { failure, type Failure, ToolFailure } from '../kernel/outcome.ts'
import { type Attachment, decode, encode, isAttachment, mintAttachment } from '../kernel/value.ts'
import type { Attachments, Later, LaterOptions, Logger, StepOptions, ToolContext } from '../tool/context.ts'
import { onCrashOf } from '../tool/hints.ts'
import type { Tool } from '../tool/tool.ts'
import { WaitError } from '../wait/resolution.ts'
import type { CallHost } from './host.ts'

/** Inside a step's function: the step's id. Steps are leaves on every engine, because an ordinal journal cannot nest them. */
const insideStep = new AsyncLocalStorage<string>()

const waits = new WeakMap<object, Wait>()
const defaultDeadline = '7d'
const defaultWaitName = 'later'

/** The wait behind a later that a body returned. */
export const waitOf = (returned: unknown): Wait | undefined =>
  typeof returned === 'object' && returned !== null ? waits.get(returned) : undefined

export interface Context {
  readonly ctx: ToolContext
  /** The attempt is over: the ctx records nothing more. */
  end(): void
}

export function contextOf(invocation: Invocation, tool: Tool, host: CallHost): Context {
  const { request } = invocation
  const { tenant, session, batch, id } = request.position
  const mayRerun = onCrashOf(tool) === 'rerun'
  const used = new Set<string>()
  const counts = { sleep: 0, now: 0, random: 0, uuid: 0 }
  let over = false
  let warned = false

  const leaf = (what: string): void => {
    if (over) throw new PawlError('attempt_over')
    const step = insideStep.getStore()
    if (step !== undefined) throw new PawlError('step_nested', `ctx.${what} was called in step '${step}'.`)
  }
  const warnIfStop = (what: string): void => {
    if (mayRerun || warned) return
    warned = true
    host.logger.warn(
      `Tool '${tool.name}' uses ctx.${what} but stops after a crash, so what it records is never replayed. Set onCrash: 'rerun'.`,
      {
        tool: tool.name,
      },
    )
  }
  const needsRerun = (what: string): void => {
    if (!mayRerun) throw new PawlError('wait_needs_rerun', `Tool '${tool.name}' used ${what}.`)
  }

  const step = async (stepId: string, ...rest: unknown[]): Promise<unknown> => {
    const withInput = typeof rest[0] !== 'function'
    const [run, options] = (withInput ? rest.slice(1) : rest) as [(input?: unknown) => unknown, StepOptions | undefined]
    if (typeof stepId !== 'string' || stepId.trim() === '') throw new PawlError('step_id_empty')
    leaf('step')
    if (used.has(stepId)) throw new PawlError('step_id_duplicate', `The id is '${stepId}'.`)
    used.add(stepId)
    warnIfStop('step')
    const input = withInput ? encode(rest[0]) : null
    const spec = { key: `step:${stepId}`, input, once: options?.once ?? false }
    const end = await invocation.run(spec, () =>
      insideStep.run(stepId, () => runStep(() => run(input === null ? undefined : decode(input)), stepId, options, host)),
    )
    if ('done' in end) return decode(end.done)
    throw stepError(stepId, end.failed)
  }

  const later = async <T>(options: LaterOptions = {}): Promise<Later<T>> => {
    const name = options.name ?? defaultWaitName
    if (name.trim() === '') throw new PawlError('wait_name_empty')
    leaf('later')
    warnIfStop('later')
    const wait = await invocation.wait({ name, deadlineMs: milliseconds(options.deadline ?? defaultDeadline, 'The deadline of a wait') })
    const handle = {
      key: wait.key,
      deadline: wait.deadline,
      /** A getter, so that a body that parks does not start to wait as well. */
      get value(): Promise<T> {
        return (async () => {
          leaf('later')
          needsRerun('await later.value')
          const resolution = await invocation.answer(wait)
          if ('value' in resolution) return resolution.value as T
          throw new WaitError(resolution)
        })()
      },
    }
    waits.set(handle, wait)
    return handle
  }

  const derived = (purpose: string, bytes: number): Buffer => Buffer.from(invocation.derive(purpose)).subarray(0, bytes)

  const ctx: ToolContext = {
    tenant,
    session,
    principal: request.principal,
    batch,
    callId: id,
    attempt: invocation.attempt,
    get idempotencyKey() {
      return derived('call', 24).toString('base64url')
    },
    key: (name) => derived(`key:${name}`, 24).toString('base64url'),
    signal: invocation.signal,
    step: step as ToolContext['step'],
    async sleep(duration) {
      const ms = milliseconds(duration, 'A sleep')
      leaf('sleep')
      needsRerun('ctx.sleep')
      await invocation.sleep(`sleep:${++counts.sleep}`, ms)
    },
    later,
    async now() {
      leaf('now')
      return invocation.now(`now:${++counts.now}`)
    },
    random() {
      leaf('random')
      return derived(`random:${++counts.random}`, 6).readUIntBE(0, 6) / 2 ** 48
    },
    uuid() {
      leaf('uuid')
      return uuidFrom(derived(`uuid:${++counts.uuid}`, 16))
    },
    log: callLogger(host.logger, { tool: tool.name, callId: id, call: request.uid, attempt: invocation.attempt }),
    attachments: attachmentsOf(invocation, leaf),
  }
  return {
    ctx,
    end() {
      over = true
    },
  }
}

/** Runs the function of a step: its tries, its timeout; every end is a value to record. */
async function runStep(run: () => unknown, id: string, options: StepOptions | undefined, host: CallHost): Promise<StepEnd> {
  const attempts = options?.once ? 1 : (options?.retry?.attempts ?? 1)
  let delay = milliseconds(options?.retry?.delay ?? 500, `The retry delay of step '${id}'`)
  for (let attempt = 1; ; attempt++) {
    try {
      return { done: encode(await timed(run, id, options, host)) }
    } catch (error) {
      if (attempt >= attempts) return { failed: encode(describe(error)) }
      await new Promise<void>((resolve) => void host.clock.timer(delay, resolve))
      delay = Math.min(delay * 2, 30_000)
    }
  }
}

async function timed(run: () => unknown, id: string, options: StepOptions | undefined, host: CallHost): Promise<unknown> {
  if (options?.timeout === undefined) return run()
  const ms = milliseconds(options.timeout, `The timeout of step '${id}'`)
  let callOff = (): void => {}
  const late = new Promise<never>((_, reject) => {
    callOff = host.clock.timer(ms, () => reject(new PawlError('step_timeout', `Step '${id}' had ${ms} ms.`)))
  })
  try {
    return await Promise.race([run(), late])
  } finally {
    callOff()
  }
}

type StepFault = { failure: Failure } | { code: string; message: string }

/** What is recorded of a step's error. A declared failure keeps all of itself; of others, what a body may branch on. */
function describe(error: unknown): StepFault {
  if (error instanceof ToolFailure) return { failure: error.failure }
  const { code, message } = (typeof error === 'object' && error !== null ? error : { message: String(error) }) as Record<string, unknown>
  return { code: typeof code === 'string' ? code : 'step_failed', message: typeof message === 'string' ? message.toWellFormed() : '' }
}

/** What a body catches when a step failed: the recorded error, on the first run as on every replay. */
export class StepError extends Error {
  override readonly name = 'StepError'
  /** The code of what the step threw, or `step_failed`. */
  readonly code: string
  readonly step: string
  constructor(step: string, fault: { code: string; message: string }) {
    super(fault.message)
    this.step = step
    this.code = fault.code
  }
}

function stepError(step: string, recorded: string): Error {
  const fault = decode(recorded) as unknown as StepFault
  return 'failure' in fault ? new ToolFailure(failure(fault.failure).failure) : new StepError(step, fault)
}

function uuidFrom(bytes: Buffer): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80 // version 8: derived
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function callLogger(logger: Logger, about: Record<string, unknown>): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void =>
      logger[level](message, { ...fields, ...about })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function attachmentsOf(invocation: Invocation, leaf: (what: string) => void): Attachments {
  const { tenant } = invocation.request.position
  return {
    create(data, { mediaType, name }): Attachment {
      leaf('attachments.create')
      const bytes = typeof data === 'string' ? Buffer.from(data) : Uint8Array.from(data) // a copy: the caller's buffer may change
      // Content-addressed: the same bytes of a tenant are one attachment, on a replay too.
      const id = `att_${createHash('sha256').update(mediaType).update('\0').update(bytes).digest('base64url')}`
      invocation.attach({ id, tenant, mediaType, name: name ?? null, data: bytes })
      return mintAttachment({ id, mediaType, bytes: bytes.length, ...(name === undefined ? {} : { name }) })
    },
    async read(attachment) {
      if (!isAttachment(attachment)) throw new PawlError('value_invalid', 'This is not an attachment of the record.')
      const found = await invocation.attachment(attachment.ref.id)
      if (!found) throw new PawlError('value_undecodable', `The attachment ${attachment.ref.id} is not in this tenant.`)
      return found.data
    },
  }
}
