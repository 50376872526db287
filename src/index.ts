// The public API of `pawl`. Named exports only; test/project/public-surface.test.ts pins them.

export type { CallAsk, CallOutcome, OpenCall } from './sessions/call-request.ts'
export type { Run } from './sessions/run-handle.ts'
export type { CallHandle, Session } from './sessions/session.ts'
export type { RunOptions, RunUntil, SessionOptions } from './sessions/session-options.ts'
export type {
  CallDetails,
  CallRef,
  Calls,
  CallsQuery,
  CallSummary,
  CancelCallAnswer,
  CancelCallOptions,
  GetCallOptions,
} from './sessions/session-calls.ts'
export type { RuntimeSessions, SessionsQuery, SessionSummary } from './sessions/list-sessions.ts'
export type { PolicyRule, PolicyRulesQuery } from './policy/list-rules.ts'
export type { ProviderState } from './tools/tool-provider-connection.ts'
export type {
  ListedSchedule,
  RuntimeSchedules,
  SchedulePage,
  SchedulesQuery,
  StoppedSchedules,
} from './schedules/schedules-of-all-sessions.ts'
export type { RecentCall, RecentCallPage, RecentCallsOptions } from './sessions/recent-calls.ts'
export type { RuntimeCall, RuntimeCallOptions, RuntimeCalls } from './sessions/runtime-calls.ts'
export type { EventRecord, EventType } from './store/records/event.ts'
export type { FeedEvent, RecentEventPage } from './feed/event-feed.ts'
export type { RecentEventsQuery } from './feed/read-options.ts'
export type { LiveEvent } from './feed/live-events.ts'
export type { ExplainCall, Explained } from './calls/authorization/explain-decision.ts'
export type { AppFactory } from './calls/context/app-context.ts'
export type { Announce, Announcement, PersonAnnouncement, WaitAnnouncement } from './calls/deliver-wait-announcement.ts'
export type { ModelPart } from './models/outcome-to-model-parts.ts'
export type { AfterVerdict, BeforeVerdict, Hook, HookFacts, Projection } from './calls/admission/hook-definition.ts'
export type { DiagnosedCall, Diagnostics } from './calls/record-diagnostics.ts'
export type { Limits } from './calls/scheduling/limits.ts'
export type { OutputBudget } from './calls/output/truncate.ts'
export type { BudgetLimits, Budgets, TenantLimits } from './policy/budgets.ts'
export type { Decision, Explanation, Vote as PolicyVote } from './policy/evaluate.ts'
export type { DecisionLink, DecisionLinks, SignLink } from './access/decision-links.ts'
export type { CreatedToken, CreateToken, Tokens } from './access/tokens.ts'
export type { Role, TokenFacts } from './store/records/access-token.ts'
export type { AcceptChange, Quarantine, QuarantinedTool } from './approvals/definition-pins.ts'
export type { PolicyDefinition, Rule } from './policy/rules.ts'
export type { RememberedRule } from './policy/match-remembered-rules.ts'
export type { Preview, Vote } from './store/records/approval-request.ts'
export type { ClientCall, ClientCallAt } from './approvals/pending-client-calls.ts'
export type { ConnectionListed, ConnectionOf, Connections } from './approvals/account-connections.ts'
export type { DecideAnswer, EndedItem } from './approvals/decide.ts'
export type { InboxItem, InboxKind, InboxQuery, InboxVerb } from './approvals/inbox.ts'
export type { RememberedRules } from './approvals/remembered-rules.ts'
export type { InboxDecision, Remember } from './approvals/decision-input.ts'
export type { ResolveAnswer } from './engine/engine.ts'
export { duration, type Duration } from './core/duration.ts'
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
} from './core/outcome.ts'
export type { Sizes } from './core/size-limits.ts'
export type { Clock } from './core/clock.ts'
export type {
  ObservedCall,
  ObservedEvent,
  ObservedTexts,
  ObservedUsage,
  Observer,
  TracedSpan,
  Tracing,
} from './core/observer.ts'
export { withTraceparent } from './engine/trace-scope.ts'
export { jsonLogger, type JsonLoggerOptions, type LogLevel } from './runtime/json-logger.ts'
export type { Ids } from './core/ids.ts'
export type { Answer } from './store/records/wait-resolution.ts'
export type { AttachmentRef, Json, Recorded } from './core/tool-value.ts'
export type {
  AskedQuestion,
  CancelledWait,
  Connection,
  Later,
  LaterOptions,
  Logger,
  NestedOutcome,
  OutputPage,
  Outputs,
  Progress,
  Question,
  QuestionAnswer,
  Step,
  StepOptions,
  AgentOutcome,
  AgentTurn,
  Completion,
  CompletionRequest,
  App,
  Register,
  ToolContext,
} from './tools/context/tool-context.ts'
export type { HealthIssue, HealthReport } from './maintenance/health.ts'
export type { Erased, EraseResult, EraseOptions, PruneOptions } from './maintenance/retention.ts'
export type { SessionEnd } from './sessions/session-end.ts'
export type { Notice, Notices } from './tasks/notices.ts'
export type { FileContent, FilePage, FileStat, SessionFiles } from './core/session-files-interface.ts'
export type {
  BodySecrets,
  ListValues,
  SecretStat,
  SessionSecrets,
  SessionValues,
  ValueEntry,
  ValuePage,
  ValueStat,
} from './core/session-values-interface.ts'
export type { ScheduleLimits } from './schedules/schedule-limits.ts'
export type { CreateSchedule, Schedules } from './schedules/schedules.ts'
export type { Overlap, Schedule, ScheduleSlot } from './schedules/schedule-row.ts'
export type { EmittedEvent } from './schedules/emit-event.ts'
export type { Delivery, Subscription } from './schedules/trigger-row.ts'
export type { Emit, Subscribe, Triggers } from './schedules/triggers.ts'
export type { CatchUp } from './schedules/due-slots.ts'
export type { InputRequest, OnEnd, TaskArtifact, TaskState, WakePolicy } from './core/task-state.ts'
export type { Background, TaskEvent } from './tools/background-options.ts'
export type { Hints, OnCrash } from './tools/tool-hints.ts'
export type {
  AdoptTask,
  CallAt,
  TaskEventRecord,
  SignalAnswer,
  StartTask,
  Task,
  TaskContext,
  TaskMessage,
  TaskQuery,
  Tasks,
  TaskSink,
  WaitForTask,
  When,
} from './tools/context/task-interfaces.ts'
export { type AnySchema, type JsonSchema, jsonSchema, type TypedSchema } from './tools/schema.ts'
export type { ToolSearch } from './tools/tool-search.ts'
export {
  type Narrate,
  type Narrating,
  type Phase,
  narrate,
  type Narration,
} from './tools/narration/narration-templates.ts'
export type { Manifest, Provider, ProviderDetails } from './tools/tool-provider.ts'
export type { RuntimeTools, ToolListing } from './tools/registry.ts'
export type { ApprovalFacts, ReconcileResult, Prepared, PreviewGiven, Tool, ToolDefinition } from './tools/tool.ts'
export type { Timeouts, Rate, Retry, ToolLimits } from './tools/tool-options.ts'
export type { RequiredConnection, ResultOptions, ToolResult } from './tools/result.ts'
import type { Runtime, RuntimeOptions } from './runtime-options.ts'

export type { Runtime, RuntimeOptions }

/**
 * Opens a runtime on a store. Its implementation is loaded on the first call, so a program that only defines tools
 * starts faster.
 *
 * @example
 * const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
 * const session = runtime.session('chat-42', { principal: 'user:ada' })
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { openRuntime } = await import('./runtime.ts')
  return openRuntime(options)
}

export { tool } from './tools/tool.ts'
export { EffectUnknown, effectUnknown, type EffectUnknownOptions, fail, retry, ToolFailure } from './core/outcome.ts'
export { connectionRequired, result } from './tools/result.ts'
export { Attachment } from './core/tool-value.ts'
export { type ErrorCode, PawlError } from './core/errors.ts'
export { notice } from './sessions/placeholder-result.ts'
export { readOutputTool } from './tools/read-output-tool.ts'
export { StepError } from './calls/context/steps.ts'
export { WaitError } from './store/records/wait-resolution.ts'
export { fromAnthropic, fromMcp, fromOpenAI, toAnthropic, toMcp, toOpenAI } from './tools/convert-tool-formats.ts'
export type {
  AssistantMessage,
  AssistantPart,
  CallPart,
  FrameMessage,
  Message,
  ModelMessage,
  NoticeMessage,
  ProviderCallPart,
  ProviderResultPart,
  ResultPart,
  SourcePart,
  SummaryMessage,
  ToolMessage,
  UserMessage,
} from './models/message.ts'
export {
  type FinishReason,
  type Model,
  type ModelAnswer,
  type ModelCall,
  type ModelDelta,
  ModelFailure,
  type ModelPrice,
  type ModelRequest,
  type ModelSettings,
  type ModelTool,
  type ProviderTool,
  type ToolChoice,
  type Usage,
} from './models/model.ts'
export type { RecordedCall, Recording } from './sessions/export-recording.ts'
export type { Capability } from './sessions/define-capability.ts'
export type { SessionCapabilities } from './sessions/capability-switches.ts'
export { agent, type AgentDefinition } from './turns/agents/agent.ts'
export type {
  Compaction,
  CompactionBudget,
  CompactionMessage,
  CompactionPlan,
  Frame,
  Messages,
  SessionTurnHandles,
  SessionUsage,
  StartTurn,
  StoredMessage,
  Turn,
  TurnLimits,
  TurnOutcome,
  TurnOutput,
  TurnUsage,
  TurnValue,
  UiStreamOptions,
  UsageOf,
  UserFile,
  UserMessageInput,
} from './models/turn-interface.ts'
export type { UiChunk, UiDecision, UiMessage, UiPart, UiToolPart } from './models/ui-message.ts'
