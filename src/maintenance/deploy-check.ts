// Finds open calls that the tools, models and frames of this worker cannot continue, before a worker claims them. Runs
// nothing but input schemas, and those only for calls whose recorded schema digest differs. Called by health.ts.

import { type CallJournal, changedArguments, hasUnusedDecision } from '../calls/admission/input-form.ts'
import { runSchema, type ValidationPorts } from '../calls/authorization/validate-external-input.ts'
import { isStoreOrLeaseLost } from '../core/errors.ts'
import { decode } from '../core/tool-value.ts'
import type { Model } from '../models/model.ts'
import type { Frame } from '../models/turn-interface.ts'
import { collections } from '../store/collections.ts'
import { taskBatch } from '../store/journal-keys.ts'
import { isDecisionKind } from '../store/records/approval-request.ts'
import {
  type CallRecord,
  parseCallOptions,
  parseCallTerms,
  type WaitRecord,
  waitTermsOf,
} from '../store/records/call-record.ts'
import { isTurn, turnTool } from '../store/records/conversation.ts'
import { decodeResolution } from '../store/records/wait-resolution.ts'
import type { Store, Unsettled } from '../store/store.ts'
import { schemaDigest } from '../tools/schema-digest.ts'
import type { Tool } from '../tools/tool.ts'
import { frameNameOf, readMessage } from '../turns/conversation/history.ts'

export interface DeployProblem {
  readonly kind: 'no_tool' | 'tool_changed' | 'no_model' | 'no_frame'
  /** Completes a sentence about the call. */
  readonly problem: string
  readonly remedy: string
}

export interface DeployPorts extends ValidationPorts {
  readonly store: Store
  readonly models: ReadonlyMap<string, Model>
  readonly frames: ReadonlyMap<string, Frame>
}

/**
 * Why this worker cannot continue the call; null if it can, as far as that can be known without running the call.
 * `localTools`: record keys of everything this worker can claim. `wait`: the wait that the call is parked on.
 */
export async function findDeployProblem(
  call: Unsettled,
  wait: WaitRecord | undefined,
  localTools: ReadonlySet<string>,
  ports: DeployPorts,
): Promise<DeployProblem | null> {
  if (isTurn(call)) return turnProblem(call, ports)
  if (!localTools.has(call.tool))
    return {
      kind: 'no_tool',
      problem: 'its tool is not registered here',
      remedy: remedyOfMissingTool(call.tool),
    }
  // Undefined for the runtime's own chores and for a provider's tool that is not loaded yet.
  const { tool } = ports.toolsets.toolsetFor(call).findByKey(call.tool) ?? {}
  if (!tool) return null
  if (call.position.batch === taskBatch && !tool.background)
    return changed('its tool can no longer run in the background', 'Set `background` on it again')
  // Arguments that are not recorded yet are validated like those of a new call. An answered call runs no body.
  if (call.terms === null || (wait && !isDecisionKind(waitTermsOf(wait).asks?.kind ?? 'question'))) return null
  const { version, schema } = parseCallTerms(call.terms)
  if (version !== tool.version)
    return tool.upgrade
      ? null
      : changed(
          `it was accepted under version ${version ?? 'none'}, its tool is at ${tool.version ?? 'none'} and has no \`upgrade\``,
          'Add an `upgrade` or deploy the earlier version',
        )
  if (schema === schemaDigest(tool.input) || (await acceptsRecorded(call, tool, ports))) return null
  return changed(
    'the input schema of its tool has changed and does not accept its arguments',
    'Deploy a schema that accepts them, or a new `version` with an `upgrade`',
  )
}

/** Tools of providers are not registered by hand: the worker needs the provider. */
function remedyOfMissingTool(key: string): string {
  const [name, provider] = key.split('@provider:')
  if (provider === undefined) return `Register '${key}', or start a worker that has it.`
  return `Start the worker or the MCP gateway that has '${name}' of the provider '${provider}'.`
}

const changed = (problem: string, remedy: string): DeployProblem => ({
  kind: 'tool_changed',
  problem,
  remedy: `${remedy}, before a worker claims the call; otherwise it ends without running.`,
})

/** Whether the current schema accepts the arguments in input form. True if that cannot be known. */
async function acceptsRecorded({ uid }: Unsettled, tool: Tool, ports: DeployPorts): Promise<boolean> {
  const { store } = ports
  try {
    const [call, steps, waits] = await Promise.all([store.call(uid), store.steps(uid), store.waitsOf(uid)])
    if (!call?.terms) return true
    const journal = journalOf(call, steps, waits)
    if (hasUnusedDecision(journal)) return true
    const changedInput = changedArguments(journal)
    // Text that needs the tool's `repair` is not repaired here.
    if (changedInput === undefined && parseCallOptions(call.options).unreadable !== undefined) return true
    const input = changedInput ?? decode(call.input)
    return (await runSchema(ports, call, tool, 'An input schema', () => tool.input.check(input)))?.ok ?? false
  } catch (error) {
    if (isStoreOrLeaseLost(error)) throw error
    return true // the record cannot be decrypted with the keys of this worker
  }
}

function journalOf(
  { terms, attempt }: CallRecord,
  steps: Awaited<ReturnType<Store['steps']>>,
  waits: readonly WaitRecord[],
): CallJournal {
  return {
    edited: (terms === null ? undefined : parseCallTerms(terms).edited) ?? 0,
    attempt,
    stepValue: (key) => steps.find((step) => step.key === key && step.state === 'done')?.value ?? null,
    answer(name) {
      const resolution = waits.find((wait) => wait.name === name)?.resolution ?? null
      return resolution === null ? null : decodeResolution(resolution)
    },
  }
}

/** A turn needs the model it began with. If it has switched its frame, it needs that frame and its model instead. */
async function turnProblem(call: Unsettled, { store, models, frames }: DeployPorts): Promise<DeployProblem | null> {
  const { tenant, session, id } = call.position
  const first = call.tool.slice(turnTool('').length)
  if (!models.has(first)) return noModel(first)
  const newest = { of: collections.message.of, tenant, session, after: '~', limit: 1, newest: true }
  const [row] = await store.documentsOf(newest)
  const last = row && readMessage(row)
  const name = last?.turn === id ? frameNameOf(last) : undefined
  if (name === undefined) return null
  const frame = frames.get(name)
  if (!frame)
    return {
      kind: 'no_frame',
      problem: `it works in the frame '${name}', which is not registered here`,
      remedy: 'Add it to createRuntime({ frames }), or start a worker that has it; otherwise the turn fails.',
    }
  const model = typeof frame.model === 'object' ? undefined : (frame.model ?? last?.frameModel)
  return model === undefined || models.has(model) ? null : noModel(model)
}

const noModel = (name: string): DeployProblem => ({
  kind: 'no_model',
  problem: `its model '${name}' is not registered here`,
  remedy: 'Add it to createRuntime({ models }), or start a worker that has it.',
})
