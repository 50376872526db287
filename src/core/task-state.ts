// WORDS: tasks, as code, models and records speak of them.

import type { Json } from './value.ts'

/** Of the model's session: nothing is said; it hears when the task has ended; or also when it asks, tells or emits something. */
export type WakePolicy = 'silent' | 'on_terminal' | 'on_activity'

/** What becomes of a task when what it belongs to ends: it is cancelled, or left to go on by itself. */
export type OnEnd = 'cancel' | 'abandon'

/** The model's tool that starts other tools. */
export const spawnName = 'spawn_background'
/** And the one that tells them something. */
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

/** What belongs to it elsewhere. */
export interface TaskLinks {
  /** Sessions in which agents work for it. */
  readonly agents?: readonly string[]
  /** What those who do the work call it. */
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

/** The kind of a task that stands for a schedule. */
export const monitorKind = 'monitor'
