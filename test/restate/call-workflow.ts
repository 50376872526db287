// SPIKE: a call as a Restate workflow whose key is the call's position. `run` decides what to do, and every drive of
// the pipeline is a separate execution: a shared handler of the same workflow, so that it can write the call's cells.
// The two never share a journal, because the journal is ordinal. After a crash, a tool with onCrash 'stop' takes
// another path than the recorded one; in one journal that is a mismatch that retries forever. A parked call would also
// have to run through its body again to reach its wait.
// `replayed` is for bodies that may rerun: Restate executes it again until it ends. `single` is for bodies that must
// not: its first failure kills it, and `run` reads from the cell `begun` whether the body had started.

import {
  handlers,
  type Serde,
  serde,
  TerminalError,
  workflow,
  type WorkflowContext,
  type WorkflowSharedContext,
} from '@restatedev/restate-sdk'
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { callPipeline } from '../../src/calls/pipeline.ts'
import type { CallHost } from '../../src/calls/ports.ts'
import type { NewCall, Driven, ResolveAnswer } from '../../src/engine/engine.ts'
import type { CallPosition, CallRequest, Resolution } from '../../src/store/records/call-record.ts'
import { lengthPrefixed } from '../../src/core/ids.ts'
import { failure, internalErrorMessage } from '../../src/core/outcome.ts'
import { encode } from '../../src/core/tool-value.ts'
import { onCrashOf } from '../../src/tools/tool-hints.ts'
import { hashKey, looksLikeKey } from '../../src/engine/wait-key.ts'
import { decodeResolution, encodeResolution } from '../../src/store/records/wait-resolution.ts'
import {
  answerOf,
  type AttemptRequest,
  type Begun,
  cells,
  RestateInvocation,
  type WaitCell,
  write,
} from './restate-execution.ts'

/** The end of an attempt in recorded form. The wait key stays out of the journal. */
interface AttemptEnd {
  readonly driven: { readonly settle: string } | { readonly park: { readonly name: string; readonly deadline: number } }
  readonly args: string | null
  readonly begun: number
}

/** The result of `run`: the outcome in recorded form. */
export interface SettledText {
  readonly attempts: number
  readonly outcome: string
}

export interface ResolveRequest {
  /** The name of the wait. A key alone does not identify the call; an engine needs an index by hash for that. */
  readonly wait: string
  readonly key: string
  readonly resolution: Resolution
}

export const placeOf = (p: CallPosition): string => lengthPrefixed(p.tenant, p.session, p.batch, p.id, p.occurrence)

const name = 'PawlCall'
const attemptSerdes = { inputSerde: serde.json as Serde<AttemptRequest>, outputSerde: serde.json as Serde<AttemptEnd> }
/** Short retry intervals, because the test restarts a dead worker quickly. */
const quick = { initialInterval: 50, maxInterval: 500 }
/**
 * No retry and no suspension: both would execute the body again, and a body looks inactive while it runs without
 * journal entries.
 */
const single = { retryPolicy: { maxAttempts: 1, onMaxAttempts: 'kill' }, inactivityTimeout: { days: 365 } } as const

export function callWorkflow(host: CallHost, secret: Uint8Array) {
  const drive = callPipeline(host)

  /** The pipeline returns values. If it throws, that is a bug, and the call still gets one outcome. */
  const driven = async (execution: RestateInvocation): Promise<Driven> => {
    try {
      return await drive(execution)
    } catch (error) {
      if (execution.signal.aborted) throw error
      host.logger.error('The pipeline threw', { error })
      return { settle: failure({ class: 'internal', code: 'internal_error', message: internalErrorMessage }) }
    }
  }

  const attempt = async (
    ctx: WorkflowSharedContext,
    given: AttemptRequest,
    mayReplay: boolean,
  ): Promise<AttemptEnd> => {
    const execution = await RestateInvocation.open(ctx, given, secret)
    // The server counts executions in memory, so after its own restart it executes this again. Nothing that is not
    // recorded may be issued here, in particular no end. A plain error adds no entry and kills this attempt.
    if (execution.executedAgain && !mayReplay) throw new Error('This attempt must not be executed twice')
    const end = await driven(execution)
    const { args, attempt: begun } = execution
    if ('settle' in end) return { driven: { settle: encode(end.settle) }, args, begun }
    const { name, deadline } = end.park
    return { driven: { park: { name, deadline } }, args, begun }
  }

  return workflow({
    name,
    options: { retryPolicy: quick },
    handlers: {
      run: async (ctx: WorkflowContext, asked: NewCall): Promise<SettledText> => {
        const made = await ctx.run('request', () => ({ uid: randomUUID(), createdAt: Date.now() }))
        const request: CallRequest = { ...asked, options: asked.options && JSON.stringify(asked.options), ...made }
        const tool = host.toolsets.toolsetFor(request).get(asked.tool)
        const method = await ctx.run('kind', () => (tool && onCrashOf(tool) === 'stop' ? 'single' : 'replayed'))
        let given: AttemptRequest = { request, number: 1, args: null, interrupted: null, landed: null, begun: 0 }
        for (;;) {
          const next = given.number + 1
          let end: AttemptEnd
          try {
            end = await ctx.genericCall({ service: name, key: ctx.key, method, parameter: given, ...attemptSerdes })
          } catch (error) {
            // A replayed attempt fails only if it is killed, and its recorded steps are lost with its journal.
            if (!(error instanceof TerminalError) || method === 'replayed') throw error
            const begun = await ctx.promise<Begun>(cells.begun(given.number)).peek()
            const count = given.begun + (begun ? 1 : 0)
            if (begun)
              given = { ...given, args: begun.args, interrupted: { attempt: count, startedAt: begun.at }, begun: count }
            given = { ...given, number: next }
            await ctx.sleep(100)
            continue
          }
          const { args, begun } = end
          if ('settle' in end.driven) return { attempts: begun, outcome: end.driven.settle }
          const landed = await answerOf(ctx, end.driven.park, (operation) => operation)
          given = { request, number: next, args, interrupted: null, landed, begun }
        }
      },

      replayed: (ctx: WorkflowSharedContext, given: AttemptRequest) => attempt(ctx, given, true),
      single: handlers.workflow.shared(single, (ctx, given: AttemptRequest) => attempt(ctx, given, false)),

      /** The first writer wins; the cell rejects a second. Wrong and unknown keys are not distinguished. */
      resolve: async (
        ctx: WorkflowSharedContext,
        { wait: of, key, resolution }: ResolveRequest,
      ): Promise<ResolveAnswer> => {
        const wait = await ctx.promise<WaitCell>(cells.wait(of)).peek()
        if (!wait || !looksLikeKey(key) || !sameText(hashKey(key), wait.keyHash))
          return { answer: 'unknown_or_revoked' }
        const cell = ctx.promise<string>(cells.answer(of))
        // Past the deadline the timeout wins, even if its timer has not fired yet.
        const late = (await ctx.date.now()) >= wait.deadline
        const first = await write(cell.resolve(encodeResolution(late ? { timeout: true } : resolution)))
        if (first && !late) return { answer: 'accepted' }
        return { answer: 'already_resolved', terminal: decodeResolution(await cell.get()) }
      },
    },
  })
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

export type CallWorkflow = ReturnType<typeof callWorkflow>
