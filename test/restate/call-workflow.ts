// SPIKE: a call as a Restate workflow whose key is the call's place. The body never shares a journal with the decision what to do
// about it: `run` decides, and every drive of the pipeline is an execution of its own (a shared handler of the same
// workflow, so that it can write the call's cells). Two reasons, both because the journal is ordinal. After a crash a tool
// that stops takes another path than the one on record, which in one journal is a mismatch that retries for ever. And a parked
// call would have to walk through the body again to come to where it waits.
//
// `replayed` is for bodies that may rerun: Restate executes it again until it ends. `single` is for bodies that must not: its
// first failure kills it, and `run` reads from the cell `begun` whether the body had started.

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
import type { Asked, Driven, ResolveAnswer } from '../../src/engine/engine.ts'
import type { CallPosition, CallRequest, Resolution } from '../../src/store/records/call-record.ts'
import { frame } from '../../src/core/ids.ts'
import { failure, internalErrorMessage } from '../../src/core/outcome.ts'
import { encode } from '../../src/core/value.ts'
import { onCrashOf } from '../../src/tools/hints.ts'
import { hashKey, looksLikeKey } from '../../src/engine/wait-key.ts'
import { decodeResolution, encodeResolution } from '../../src/store/records/resolution.ts'
import { answerOf, type AttemptRequest, type Begun, cells, RestateInvocation, type WaitCell, write } from './restate-execution.ts'

/** How an attempt ended, in recorded form. The key of a wait stays out of the journal. */
interface AttemptEnd {
  readonly driven: { readonly settle: string } | { readonly park: { readonly name: string; readonly deadline: number } }
  readonly args: string | null
  readonly begun: number
}

/** What `run` answers with: recorded form of the outcome. */
export interface SettledText {
  readonly attempts: number
  readonly outcome: string
}

export interface ResolveRequest {
  /** Its name. A key alone does not say which call to ask; an engine needs an index by hash for that. */
  readonly wait: string
  readonly key: string
  readonly resolution: Resolution
}

export const placeOf = (p: CallPosition): string => frame(p.tenant, p.session, p.batch, p.id, p.occurrence)

const name = 'PawlCall'
const attemptSerdes = { inputSerde: serde.json as Serde<AttemptRequest>, outputSerde: serde.json as Serde<AttemptEnd> }
/** A worker that died is soon back in a test. */
const quick = { initialInterval: 50, maxInterval: 500 }
/** A suspension would execute the body again as surely as a retry, and a body off the record looks inactive for as long as it takes. */
const single = { retryPolicy: { maxAttempts: 1, onMaxAttempts: 'kill' }, inactivityTimeout: { days: 365 } } as const

export function callWorkflow(host: CallHost, secret: Uint8Array) {
  const drive = callPipeline(host)

  /** The pipeline answers with values; should it throw, that is our fault and the call still gets its one outcome. */
  const driven = async (execution: RestateInvocation): Promise<Driven> => {
    try {
      return await drive(execution)
    } catch (error) {
      if (execution.signal.aborted) throw error
      host.logger.error('The pipeline threw', { error })
      return { settle: failure({ class: 'internal', code: 'internal_error', message: internalErrorMessage }) }
    }
  }

  const attempt = async (ctx: WorkflowSharedContext, given: AttemptRequest, mayReplay: boolean): Promise<AttemptEnd> => {
    const execution = await RestateInvocation.open(ctx, given, secret)
    // The server counts executions in memory, so after its own restart it comes again. Nothing may be issued here that is not on
    // record, an end least of all. A plain error is no entry, and kills this attempt.
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
      run: async (ctx: WorkflowContext, asked: Asked): Promise<SettledText> => {
        const made = await ctx.run('request', () => ({ uid: randomUUID(), createdAt: Date.now() }))
        const request: CallRequest = { ...asked, options: asked.options && JSON.stringify(asked.options), ...made }
        const tool = host.toolsOf(request).get(asked.tool)
        const method = await ctx.run('kind', () => (tool && onCrashOf(tool) === 'stop' ? 'single' : 'replayed'))
        let given: AttemptRequest = { request, number: 1, args: null, interrupted: null, landed: null, begun: 0 }
        for (;;) {
          const next = given.number + 1
          let end: AttemptEnd
          try {
            end = await ctx.genericCall({ service: name, key: ctx.key, method, parameter: given, ...attemptSerdes })
          } catch (error) {
            // A replayed attempt only fails when somebody kills it, and its recorded steps went with its journal.
            if (!(error instanceof TerminalError) || method === 'replayed') throw error
            const begun = await ctx.promise<Begun>(cells.begun(given.number)).peek()
            const count = given.begun + (begun ? 1 : 0)
            if (begun) given = { ...given, args: begun.args, interrupted: { attempt: count, startedAt: begun.at }, begun: count }
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

      /** First writer wins: the cell refuses a second. Wrong and unknown keys look the same. */
      resolve: async (ctx: WorkflowSharedContext, { wait: of, key, resolution }: ResolveRequest): Promise<ResolveAnswer> => {
        const wait = await ctx.promise<WaitCell>(cells.wait(of)).peek()
        if (!wait || !looksLikeKey(key) || !sameText(hashKey(key), wait.keyHash)) return { answer: 'unknown_or_revoked' }
        const cell = ctx.promise<string>(cells.answer(of))
        // Past the deadline the clock was first, even if its timer has not fired yet.
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
