// States and shared types of tasks, used by the records, the API and the task tools of the model.

import { option } from './check-options.ts'
import type { Json } from './tool-value.ts'

/**
 * When the session is notified about a task: never, when it has ended, or also when it asks for input, sends a message
 * or emits an event.
 */
export type WakePolicy = 'silent' | 'on_terminal' | 'on_activity'

/** When the parent of a task (session or task) ends, the task is cancelled or continues on its own. */
export type OnEnd = 'cancel' | 'abandon'

export const wakeOption = option.oneOf('silent', 'on_terminal', 'on_activity')
export const onEndOption = option.oneOf('cancel', 'abandon')

/** The tool with which a model starts a task. */
export const spawnName = 'spawn_background'
/** The tool with which a model sends a message to a task. */
export const messageTaskName = 'message_task'

export type TaskState = 'queued' | 'running' | 'awaiting_input' | 'succeeded' | 'failed' | 'cancelled' | 'abandoned'

export const terminalStates: readonly TaskState[] = ['succeeded', 'failed', 'cancelled', 'abandoned']
export const taskStates: readonly TaskState[] = ['queued', 'running', 'awaiting_input', ...terminalStates]

export const isTerminal = (state: TaskState): boolean => terminalStates.includes(state)

export interface TaskProgress {
  readonly current?: number
  readonly total?: number
  readonly unit?: string
  readonly label?: string
}

/** References to related work. */
/** What started a task: the uid of a call, a schedule with its slot, or a trigger. */
export interface TaskStarters {
  readonly call?: string
  readonly schedule?: string
  readonly trigger?: string
  readonly slot?: number
}

export interface TaskLinks {
  /** Sessions of agents that work for the task. */
  readonly agents?: readonly string[]
  /** Ids of the work in external systems. */
  readonly remote?: readonly string[]
}

export interface TaskArtifact {
  readonly name: string
  readonly type: string
  readonly path?: string
  readonly url?: string
}

export interface InputRequest {
  readonly id: string
  readonly prompt: string
  readonly expected?: Json
}

/** The kind of a task that represents a schedule. */
export const monitorKind = 'monitor'
