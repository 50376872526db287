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

/** Where a task is. The last four are final. */
export type TaskState = 'queued' | 'running' | 'awaiting_input' | 'succeeded' | 'failed' | 'cancelled' | 'abandoned'

export const terminalStates: readonly TaskState[] = ['succeeded', 'failed', 'cancelled', 'abandoned']
export const taskStates: readonly TaskState[] = ['queued', 'running', 'awaiting_input', ...terminalStates]

export const isTerminal = (state: TaskState): boolean => terminalStates.includes(state)

/** How far a call or task is. All fields are optional. */
export interface TaskProgress {
  /** How much is done. */
  readonly current?: number
  /** How much there is in all. */
  readonly total?: number
  /** What is counted, such as 'files'. */
  readonly unit?: string
  /** What it does now. */
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

/** A file or link that a task produced. */
export interface TaskArtifact {
  /** Name for people. */
  readonly name: string
  /** Kind of artifact, such as a media type. */
  readonly type: string
  /** Path in the files of the session. */
  readonly path?: string
  /** Address outside. */
  readonly url?: string
}

/** What a task asks for. */
export interface InputRequest {
  /** For the answer: `inReplyTo`. */
  readonly id: string
  /** The question. */
  readonly prompt: string
  /** What kind of answer is expected, as the task described it. */
  readonly expected?: Json
}

/** The kind of a task that represents a schedule. */
export const monitorKind = 'monitor'
