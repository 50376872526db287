// Starts a task: records a call at a position of its own in one commit with the task row. Any worker that has the tool
// runs it. Called by tasks.start, the scheduler and event delivery.

import { option, type OptionTable } from '../core/check-options.ts'
import { sameContent } from '../engine/compare-call-content.ts'
import { eventOf } from '../store/records/event.ts'
import { logPath, type TaskRow } from '../store/records/task-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import { filePath } from '../storage/files/file-path.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { decode, encode } from '../core/tool-value.ts'
import type { Change, Guard, DocumentWrite } from '../store/store.ts'
import { mayHideFields, withoutReceived } from '../tools/hidden-arguments.ts'
import type { Problem } from '../tools/schema.ts'
import type { StartTask } from '../tools/context/task-interfaces.ts'
import type { Tool } from '../tools/tool.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind, onEndOption, wakeOption } from '../core/task-state.ts'
import { iterateOpenTasks } from './read-task.ts'
import { collections } from '../store/collections.ts'
import { taskBatch } from '../store/journal-keys.ts'

/** Where a task comes from, in addition to its spec. */
export interface TaskOrigin {
  readonly kind: string
  /** The task whose body starts this one. */
  readonly parent?: string
  readonly links?: TaskRow['links']
  /** Ids of tasks that must settle before this one begins. */
  readonly after?: readonly string[]
  /** Attached writes, committed with the task. If one of the guards is rejected, nothing is written. */
  readonly also?: Pick<Change, 'guards' | 'documents'> & Partial<Pick<Change, 'events'>>
}

/**
 * Null if a guard of `also` rejected the commit. `existed`: the task was started before, and nothing was written now.
 */
export async function startTask(
  host: BackgroundHost,
  owner: Owner,
  spec: StartTask,
  origin: TaskOrigin,
): Promise<{ id: string; existed?: true } | null> {
  const { kind, parent, links = {}, after = [], also } = origin
  const tool = backgroundTool(host, owner, spec)
  if (spec.byModel) return startForModel(host, owner, { ...spec, byModel: false }, tool, origin)
  const id = checkTaskId(spec.id ?? `task_${host.ids.next()}`)
  const { wake = 'on_terminal', onEnd = 'cancel', deadline } = spec
  const terms: TaskTerms = {
    id,
    wake,
    ...(parent === undefined ? {} : { parent }),
    ...(after.length === 0 ? {} : { after }),
  }
  const call = { id, name: tool.name, input: spec.input, ...(deadline === undefined ? {} : { deadline }) }
  const request = host.buildCall(host, owner, call, { batch: taskBatch, task: terms })
  const at = host.clock.now()
  const { tenant, session } = owner
  const title = taskTitle(spec.title, tool)
  const put = await host.engine.submit(request, (uid) => {
    const row: TaskRow = {
      uid,
      kind,
      title,
      tool: tool.name,
      wake,
      parent: parent ?? null,
      onEnd,
      createdAt: at,
      links,
    }
    return {
      guards: [
        { kind: 'kept', ...collections.sessionEnd.name(owner), revision: 0 },
        // A monitor has a task id but no call, so the position of the call alone does not exclude it.
        { kind: 'kept', ...collections.task.name(owner, id), revision: 0 },
        ...(also?.guards ?? []),
      ],
      documents: [
        collections.task.write(row, owner, id),
        { ...collections.taskOrder.name(owner, uid), value: id },
        ...(wake === 'silent' ? [] : [{ ...collections.taskWake.name(owner, id), value: '1' }]),
        ...(parent === undefined ? [] : [{ ...collections.taskChild.name(owner, parent, id), value: '1' }]),
        ...(also?.documents ?? []),
      ],
      events: [
        eventOf({ tenant, session, call: uid }, 'task.created', at, { task: id, kind, tool: tool.name }),
        ...(also?.events ?? []),
      ],
    }
  })
  // The store may report any of several failed guards, so the state is read instead of the reported guard.
  const existing = put.as === 'put' ? undefined : await host.store.callAt(request.position)
  if (put.as === 'refused' && !existing) {
    if (await host.store.document(collections.sessionEnd.name(owner))) throw new PawlError('session_ended')
    if (await host.store.document(collections.task.name(owner, id)))
      throw new PawlError('task_conflict', `The id is '${id}'.`)
    return null
  }
  if (put.as === 'put') return { id }
  if (existing && !sameContent(existing, request)) throw new PawlError('task_conflict', `The id is '${id}'.`)
  return { id, existed: true }
}

/** Serializes model starts of a session: two that count open tasks at once must not both get the last free slot. */

/** A start by a model is checked at once instead of being queued, so that the model can correct its request. */
async function startForModel(
  host: BackgroundHost,
  owner: Owner,
  spec: StartTask,
  tool: Tool,
  origin: TaskOrigin,
): Promise<{ id: string } | null> {
  if (tool.internal) throw new PawlError('task_invalid', `Unknown tool: ${tool.name}`)
  const { input = {} } = spec
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new PawlError('task_invalid', 'Missing required parameter: args (object expected)')
  const checked = await tool.input.check(decode(encode(input)))
  if (!checked.ok)
    throw new PawlError(
      'task_invalid',
      `The arguments of '${tool.name}' are not valid: ${describeProblems(tool, checked.problems)}. Fix them and call again.`,
    )
  for (;;) {
    // A rerun of the body that made the request finds the task it started before.
    if (spec.id !== undefined && (await host.store.document(collections.task.name(owner, spec.id))))
      return startTask(host, owner, spec, origin)
    const slot = await reserveModelSlot(host, owner)
    const also = {
      guards: [...(origin.also?.guards ?? []), ...slot.guards],
      documents: [...(origin.also?.documents ?? []), ...slot.documents],
      events: origin.also?.events ?? [],
    }
    const started = await startTask(host, owner, spec, { ...origin, also })
    if (started || !(await slot.isGone())) return started // otherwise another start won: count again
  }
}

/**
 * Throws tasks_full if the session has as many open tasks as a model may have. The returned guards and documents keep
 * the count valid until the commit.
 */
export async function reserveModelSlot(
  { store, queue: { tasksPerSession: maxTasks } }: BackgroundHost,
  owner: Owner,
): Promise<{ guards: Guard[]; documents: readonly DocumentWrite[]; isGone(): Promise<boolean> }> {
  const name = collections.taskStarts.name(owner)
  const revision = (await store.document(name))?.revision ?? 0
  let open = 0
  for await (const { value } of iterateOpenTasks(store, owner))
    if (collections.task.parse(value).kind !== monitorKind) open++
  if (open >= maxTasks)
    throw new PawlError(
      'tasks_full',
      `Maximum ${maxTasks} active background runs per session. Wait for an existing run to finish before starting another.`,
    )
  return {
    guards: [{ kind: 'kept', ...name, revision }],
    documents: [{ ...name, value: '1' }],
    isGone: async () => ((await store.document(name))?.revision ?? 0) !== revision,
  }
}

const describeProblems = (tool: Tool, problems: readonly Problem[]): string =>
  problems
    .slice(0, 10)
    .map((each) => (mayHideFields(tool) ? withoutReceived(each) : each))
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ')

/** Resolves the tool of a spec. Throws task_invalid if there is none or it cannot run in the background. */
export function backgroundTool(host: BackgroundHost, owner: Owner, spec: Pick<StartTask, 'tool' | 'byModel'>): Tool {
  const name = typeof spec.tool === 'string' ? spec.tool.trim() : (spec.tool as { name?: unknown } | undefined)?.name
  if (typeof name !== 'string' || name === '') throw new PawlError('task_invalid', 'Missing required parameter: tool')
  const tool = host.registry.tool(owner, name)
  if (!tool) throw new PawlError('task_invalid', `Unknown tool: ${name.slice(0, 80)}`)
  if (!tool.background) {
    const advice = spec.byModel ? '' : '. Set `background: true` in its definition.'
    throw new PawlError('task_invalid', `Tool does not support background execution: ${name}${advice}`)
  }
  return tool
}

const maxTitleLength = 200

/** The title shown to people: the requested one, or one derived from the tool. `tool` is null for a message. */
export function taskTitle(requested: unknown, tool: Pick<Tool, 'name' | 'title'> | null): string {
  const title =
    typeof requested === 'string' ? requested.toWellFormed().trim().slice(0, maxTitleLength).toWellFormed() : ''
  if (title !== '') return title
  return tool ? (tool.title ?? `Background ${tool.name}`) : 'Message'
}

/** The log and the result of a task are in a folder named after its id, so the id must be a valid file name. */
export function isFolderName(id: string): boolean {
  const path = logPath(id)
  try {
    return filePath(path).path === path
  } catch {
    return false
  }
}

export function checkTaskId(id: unknown): string {
  // The id is part of file paths and document keys.
  if (isName(id) && /^[A-Za-z0-9_.-]{1,128}$/.test(id) && isFolderName(id)) return id
  throw new PawlError(
    'task_invalid',
    `The task id is ${formatValue(id)}; it must be 1 to 128 characters of A-Z a-z 0-9 _ . -, and a valid folder name on every operating system.`,
  )
}

/** The options of tasks.start(). `tool` and `input` are checked by the functions above: a model reads their errors. */
export const startTaskOptions = {
  tool: option.anything,
  input: option.anything,
  title: option.string,
  id: option.anything,
  wake: wakeOption,
  onEnd: onEndOption,
  deadline: option.either(option.nonNegativeNumber, option.validDate),
  byModel: option.boolean,
} satisfies OptionTable<StartTask>
