// Starts a task (TASK-1): a call at a place of its own, on record together with what makes a task of it. Any worker that has the tool runs it.

import { sameContent } from '../engine/call-content.ts'
import { eventOf } from '../store/records/event.ts'
import {
  childName,
  endName,
  logPath,
  orderName,
  taskBatch,
  taskName,
  type TaskRow,
  wakeName,
} from '../store/records/task-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import { filePath } from '../storage/files/file-path.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { decode, encode } from '../core/value.ts'
import type { Change, Guard, DocumentName } from '../store/store.ts'
import { hides, untoldProblem } from '../tools/hidden-fields.ts'
import type { Problem } from '../tools/schema.ts'
import type { StartTask } from '../tools/context/tasks.ts'
import type { Tool } from '../tools/tool.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { openTasks } from './read-task.ts'

/** What started it, besides what was asked for. */
export interface HowStarted {
  readonly kind: string
  /** The task whose body starts it. */
  readonly parent?: string
  readonly links?: TaskRow['links']
  /** Tasks that must have settled before it begins. */
  readonly after?: readonly string[]
  /** Written with it; should a guard refuse, nothing is. */
  readonly also?: Pick<Change, 'guards' | 'documents'> & Partial<Pick<Change, 'events'>>
}

/** Null if a guard of `also` refused it. `there`: it was started before, and nothing was written now. */
export async function startTask(
  host: BackgroundHost,
  owner: Owner,
  spec: StartTask,
  how: HowStarted,
): Promise<{ id: string; there?: true } | null> {
  if (typeof spec !== 'object' || spec === null) throw new PawlError('task_invalid', 'A task is { tool, input, … }.')
  const { kind, parent, links = {}, after = [], also } = how
  const tool = backgroundTool(host, owner, spec)
  if (spec.byModel) return startForModel(host, owner, { ...spec, byModel: false }, tool, how)
  const id = checkedId(spec.id ?? `task_${host.ids.next()}`)
  const { wake = 'on_terminal', onEnd = 'cancel', deadline } = spec
  checkWords(spec)
  const terms: TaskTerms = {
    id,
    wake,
    ...(parent === undefined ? {} : { parent }),
    ...(after.length === 0 ? {} : { after }),
  }
  const call = { id, name: tool.name, input: spec.input, ...(deadline === undefined ? {} : { deadline }) }
  const asked = host.ask(owner, call, { batch: taskBatch, task: terms })
  const at = host.clock.now()
  const { tenant, session } = owner
  const title = titleOf(spec.title, tool)
  const put = await host.engine().put(asked, (uid) => {
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
        { kind: 'kept', ...endName(owner, ''), revision: 0 },
        // What stands for a schedule has no call, and has its id all the same.
        { kind: 'kept', ...taskName(owner, id), revision: 0 },
        ...(also?.guards ?? []),
      ],
      documents: [
        { ...taskName(owner, id), value: JSON.stringify(row) },
        { ...orderName(owner, uid), value: id },
        ...(wake === 'silent' ? [] : [{ ...wakeName(owner, id), value: '1' }]),
        ...(parent === undefined ? [] : [{ ...childName(owner, parent, id), value: '1' }]),
        ...(also?.documents ?? []),
      ],
      events: [
        eventOf({ tenant, session, call: uid }, 'task.created', at, { task: id, kind, tool: tool.name }),
        ...(also?.events ?? []),
      ],
    }
  })
  // Which of several guards is told is the store's affair.
  const there = put.as === 'put' ? undefined : await host.store.callAt(asked.position)
  if (put.as === 'refused' && !there) {
    if (await host.store.document(endName(owner, ''))) throw new PawlError('session_ended')
    if (await host.store.document(taskName(owner, id))) throw new PawlError('task_conflict', `The id is '${id}'.`)
    return null
  }
  if (put.as === 'put') return { id }
  if (there && !sameContent(there, asked)) throw new PawlError('task_conflict', `The id is '${id}'.`)
  return { id, there: true }
}

/** Which starts of a session went before: two that count at once must not both find the last place. */
export const startsCollection = 'task-starts'
const startsName = ({ tenant, session }: Owner): DocumentName => ({ of: startsCollection, tenant, session, key: '' })

/** Of a model nothing waits in line: it is told so, and can mend what it asked for. */
async function startForModel(
  host: BackgroundHost,
  owner: Owner,
  spec: StartTask,
  tool: Tool,
  how: HowStarted,
): Promise<{ id: string } | null> {
  if (tool.internal) throw new PawlError('task_invalid', `Unknown tool: ${tool.name}`)
  const { input = {} } = spec
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new PawlError('task_invalid', 'Missing required parameter: args (object expected)')
  const checked = await tool.input.check(decode(encode(input)))
  if (!checked.ok)
    throw new PawlError(
      'task_invalid',
      `The arguments of '${tool.name}' are not valid: ${problemsIn(tool, checked.problems)}`,
    )
  for (;;) {
    // A rerun of whoever asked finds what it had started.
    if (spec.id !== undefined && (await host.store.document(taskName(owner, spec.id))))
      return startTask(host, owner, spec, how)
    const room = await roomForModel(host, owner)
    const also = {
      guards: [...(how.also?.guards ?? []), ...room.guards],
      documents: [...(how.also?.documents ?? []), ...room.documents],
      events: how.also?.events ?? [],
    }
    const started = await startTask(host, owner, spec, { ...how, also })
    if (started || !(await room.isGone())) return started // else another start was first
  }
}

/** As many tasks of a session as a model may have; throws if they are open. What it gives makes the count hold until the write. */
export async function roomForModel(
  { store, mostTasks }: BackgroundHost,
  owner: Owner,
): Promise<{ guards: Guard[]; documents: NonNullable<Change['documents']>; isGone(): Promise<boolean> }> {
  const place = startsName(owner)
  const revision = (await store.document(place))?.revision ?? 0
  let open = 0
  for await (const { value } of openTasks(store, owner)) if ((JSON.parse(value) as TaskRow).kind !== monitorKind) open++
  if (open >= mostTasks)
    throw new PawlError(
      'tasks_full',
      `Maximum ${mostTasks} active background runs per session. Wait for an existing run to finish before starting another.`,
    )
  return {
    guards: [{ kind: 'kept', ...place, revision }],
    documents: [{ ...place, value: '1' }],
    isGone: async () => ((await store.document(place))?.revision ?? 0) !== revision,
  }
}

const problemsIn = (tool: Tool, problems: readonly Problem[]): string =>
  problems
    .slice(0, 10)
    .map((each) => (hides(tool) ? untoldProblem(each) : each))
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ')

/** The tool that is meant, if it can run in the background. */
export function backgroundTool(host: BackgroundHost, owner: Owner, { tool: named }: Pick<StartTask, 'tool'>): Tool {
  const name = typeof named === 'string' ? named.trim() : (named as { name?: unknown } | undefined)?.name
  if (typeof name !== 'string' || name === '') throw new PawlError('task_invalid', 'Missing required parameter: tool')
  const tool = host.tool(owner, name)
  if (!tool) throw new PawlError('task_invalid', `Unknown tool: ${name.slice(0, 80)}`)
  if (!tool.background) throw new PawlError('task_invalid', `Tool does not support background execution: ${name}`)
  return tool
}

const longestTitle = 200

/** What people call it, if nobody has said: by the title of its tool. Null: it is a message. */
export function titleOf(given: unknown, tool: Pick<Tool, 'name' | 'title'> | null): string {
  const said = typeof given === 'string' ? given.toWellFormed().trim().slice(0, longestTitle).toWellFormed() : ''
  if (said !== '') return said
  return tool ? (tool.title ?? `Background ${tool.name}`) : 'Message'
}

/** What it writes has a folder by its name. */
export function namesFolder(id: string): boolean {
  const path = logPath(id)
  try {
    return filePath(path).path === path
  } catch {
    return false
  }
}

export function checkedId(id: unknown): string {
  // It stands in paths and keys.
  if (isName(id) && /^[A-Za-z0-9_.-]{1,128}$/.test(id) && namesFolder(id)) return id
  throw new PawlError(
    'task_invalid',
    `The id is ${formatValue(id)}; it must be 1 to 128 of A-Z a-z 0-9 _ . -, and be the name of a folder on every machine.`,
  )
}

const wakes: readonly unknown[] = [undefined, 'silent', 'on_terminal', 'on_activity']
const ends: readonly unknown[] = [undefined, 'cancel', 'abandon']

export function checkWords({ wake, onEnd }: Pick<StartTask, 'wake' | 'onEnd'>): void {
  if (!wakes.includes(wake))
    throw new PawlError('task_invalid', `wake is ${formatValue(wake)}, not 'silent', 'on_terminal' or 'on_activity'.`)
  if (!ends.includes(onEnd))
    throw new PawlError('task_invalid', `onEnd is ${formatValue(onEnd)}, not 'cancel' or 'abandon'.`)
}
