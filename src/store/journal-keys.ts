// Every name that the runtime itself records with a call: the keys of its steps, and its reserved names of waits,
// batches, sessions and tools. They are persisted: records in existing stores are not found under a changed name.

/** Names given by a host or a tool cannot start with it. */
export const reservedPrefix = 'pawl:'
export const isReserved = (name: string): boolean => name.startsWith(reservedPrefix)

/** Keys of steps. A number counts the uses in a body; a name is given by the tool. */
export const stepKeys = {
  cancel: 'cancel',
  /** Worker deaths, and whether code of the call runs. Written only after the first death, or while the body waits for a task. */
  deaths: 'deaths',
  budget: 'budget',
  budgetInvalid: 'budget:invalid',
  budgetParked: (attempt: number) => `budget:parked:${attempt}`,
  budgetSettled: 'budget:settled',
  beforeHooks: 'hooks:before',
  prepare: 'prepare',
  /** Appended to the two keys above when they run on edited arguments. */
  editSuffix: (edit: number) => `:edit:${edit}`,
  retry: (round: number) => `retry:${round}`,
  /** An attempt that ended after its call was settled. */
  late: (attempt: number) => `late:${attempt}`,
  recoverySleep: (attempt: number) => `sleep:recovery:${attempt}`,
  step: (id: string) => `step:${id}`,
  sleep: (number: number) => `sleep:${number}`,
  now: (number: number) => `now:${number}`,
  taskWait: (number: number) => `task-wait:${number}`,
  message: (number: number) => `message:${number}`,
  /** What the nth wait for a signal received. */
  signal: (name: string, number: number) => `signal:${number}:${name}`,
  emit: (number: number) => `emit:${number}`,
  emitWithKey: (key: string) => `emit:key:${key}`,
  /** The event that ends a task. */
  lastEmit: 'emitted',
  /** A completion by its name, or by its number among the completions without one. */
  completion: (name: string | undefined, nextNumber: () => number) =>
    name === undefined ? `completion:${nextNumber()}` : `complete:${name}`,
  valueWrite: (what: 'values' | 'secrets', retries: number, number: number, key: string) =>
    `${what}:${retries}:${number}:${key}`,
  /** The answer of a model, and the summary that replaces older messages, in a turn. */
  model: (step: number) => `model:${step}`,
  summary: (upTo: number) => `summary:${upTo}`,
}

/** The key of a retry. */
export const isRetry = (key: string): boolean => /^retry:\d+$/.test(key)

/** Keys of ctx.sleep(). */
export const isBodySleep = (key: string): boolean => /^sleep:\d+$/.test(key)

/** Keys of ctx.step() begin with it. */
export const stepPrefix = stepKeys.step('')

/** Names of waits. */
export const waitNames = {
  approval: (number: number) => `pawl:approval:${number}`,
  connection: (number: number) => `pawl:connection:${number}`,
  finding: (attempt: number) => `pawl:finding:${attempt}`,
  question: (name: string) => `pawl:question:${name}`,
  client: 'pawl:client',
  /** The prefix of waits for the session's reply to a task. */
  reply: 'pawl:reply:',
  signal: (name: string) => `pawl:signal:${name}`,
}

/** The signal that carries messages to a task. */
export const messageSignal = 'pawl:message'

/** Batches: calls with an idempotency key, nested calls, tasks, turns, and the calls of a model's answer. */
export const keyBatch = 'pawl:key'
export const nestedBatchPrefix = 'pawl:under:'
export const taskBatch = 'pawl:task'
export const turnBatch = 'pawl:turn'
export const stepBatchPrefix = 'pawl:step:'

/** The session of the call that announces a wait. */
export const announceSession = (wait: string): string => `pawl:announcement:${wait}`

/**
 * Recorded tool names of internal calls. No user tool can have such a name: its name and id never contain a colon
 * before an @. A turn is recorded as its batch and its model.
 */
export const announceTool = 'pawl:announce'
/** Ends the tasks of a session or task that has ended. */
export const endTool = 'pawl:end'
/**
 * Recorded for a call to a tool that does not exist. Any worker can settle such a call. The requested name is in the
 * options.
 */
export const absentTool = 'pawl:absent'
