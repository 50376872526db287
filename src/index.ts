// The public API of `pawl`. Named exports only; test/surface.test.ts pins them.

export type { CallAsk, CallHandle, CallOutcome, RunOptions, Session, SessionOptions } from './session/session.ts'
export type { EventRecord, EventType } from './journal/event.ts'
export type { FeedEvent } from './feed/feed.ts'
export type { ModelPart } from './call/project.ts'
export type { ResolveAnswer } from './engine/engine.ts'
export type { Duration } from './kernel/duration.ts'
export type {
  Cancellation,
  Failure,
  FailOptions,
  FailureClass,
  Outcome,
  OutcomeSource,
  OutcomeStatus,
  RetryAdvice,
  Unknown,
} from './kernel/outcome.ts'
export type { Clock } from './kernel/time.ts'
export type { Ids } from './kernel/id.ts'
export type { Answer } from './wait/resolution.ts'
export type { AttachmentRef, Json, Recorded } from './kernel/value.ts'
export type { Later, LaterOptions, Logger, Step, StepOptions, ToolContext } from './tool/context.ts'
export type { Hints, OnCrash } from './tool/hints.ts'
export type { AnySchema, JsonSchema } from './tool/schema.ts'
export type { Finding, Tool, ToolDefinition } from './tool/tool.ts'
export type { Runtime, RuntimeOptions } from './runtime.ts'

export { createRuntime } from './runtime.ts'
export { tool } from './tool/tool.ts'
export { fail, ToolFailure } from './kernel/outcome.ts'
export { Attachment } from './kernel/value.ts'
export { type ErrorCode, PawlError } from './kernel/errors.ts'
export { StepError } from './call/context.ts'
export { WaitError } from './wait/resolution.ts'
