// The public exports and the persisted words. Changing either is a decision, so both are pinned here.

import type { LiveEvent } from '../../src/feed/live-events.ts'
import type { TurnEventBodies } from '../../src/feed/turn-events.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as pawl from 'pawl'
import * as client from 'pawl/client'
import * as testing from 'pawl/testing'
import { legalMoves } from '../../src/store/records/call-record.ts'
import type { EventType } from '../../src/store/records/event.ts'
import { errorTable } from '../../src/core/errors.ts'

/** Event types persisted in every store; the compiler rejects a missing or an unused one. */
const eventWords: Readonly<Record<EventType, true>> = {
  'call.received': true,
  'call.started': true,
  'call.queued': true,
  'call.cancelling': true,
  'call.late': true,
  'call.parked': true,
  'call.settled': true,
  'step.started': true,
  'step.done': true,
  'step.failed': true,
  'wait.opened': true,
  'wait.announced': true,
  'decision.made': true,
  'decision.refused': true,
  'decision.remembered': true,
  'rule.revoked': true,
  'task.created': true,
  'task.updated': true,
  'task.output': true,
  'task.artifact': true,
  'task.message': true,
  'task.signal': true,
  'task.event': true,
  'task.ended': true,
  'schedule.created': true,
  'schedule.paused': true,
  'schedule.resumed': true,
  'schedule.ended': true,
  'schedule.cancelled': true,
  'schedule.fired': true,
  'schedule.missed': true,
  'trigger.subscribed': true,
  'trigger.unsubscribed': true,
  'trigger.paused': true,
  'trigger.resumed': true,
  'trigger.emitted': true,
  'trigger.delivered': true,
  'notice.added': true,
  'notice.acknowledged': true,
  'session.ended': true,
  'capability.switched': true,
  'agent.started': true,
  'file.changed': true,
  'value.changed': true,
  'secret.changed': true,
  'connection.changed': true,
  'definition.changed': true,
  'token.created': true,
  'token.revoked': true,
  'records.deleted': true,
  'message.sent': true,
  'message.added': true,
  'turn.answered': true,
  'wait.resolved': true,
}

test('pawl exports exactly the listed values', () => {
  expect(Object.keys(pawl).toSorted()).toMatchInlineSnapshot(`
    [
      "Attachment",
      "EffectUnknown",
      "ModelFailure",
      "PawlError",
      "StepError",
      "ToolFailure",
      "WaitError",
      "agent",
      "connectionRequired",
      "createRuntime",
      "duration",
      "effectUnknown",
      "fail",
      "fromAnthropic",
      "fromMcp",
      "fromOpenAI",
      "jsonLogger",
      "jsonSchema",
      "narrate",
      "notice",
      "readOutputTool",
      "result",
      "retry",
      "toAnthropic",
      "toMcp",
      "toOpenAI",
      "tool",
      "withTraceparent",
    ]
  `)
  expect(Object.keys(client).toSorted()).toEqual(['PawlHttpError', 'createClient'])
  expect(Object.keys(testing).toSorted()).toMatchInlineSnapshot(`
    [
      "CrashTestError",
      "crashTest",
      "failingTool",
      "flakyTool",
      "hangingTool",
      "manualClock",
      "memoryStore",
      "reasonToSkip",
      "record",
      "replay",
      "scriptedModel",
      "slowTool",
      "storeCases",
      "testRuntime",
      "titleOf",
    ]
  `)
})

test('the states of a call and their legal transitions are pinned', () => {
  expect(legalMoves).toMatchInlineSnapshot(`
    {
      "parked": [
        "queued",
        "settled",
      ],
      "queued": [
        "running",
        "parked",
        "settled",
      ],
      "received": [
        "queued",
        "running",
        "parked",
        "settled",
      ],
      "running": [
        "running",
        "queued",
        "parked",
        "settled",
      ],
      "settled": [],
    }
  `)
})

test('the event types are pinned, and each is documented in the guide', () => {
  const live: readonly LiveEvent['type'][] = ['call.progress', 'call.output', 'turn.delta', 'turn.retracted']
  const shown: readonly (keyof TurnEventBodies)[] = ['turn.started', 'turn.ended', 'turn.failed']
  const words = [...Object.keys(eventWords), ...live, ...shown]
  expect(words).toHaveLength(new Set(words).size)
  const page = readFileSync(join(import.meta.dirname, '../../docs/guide/feed.md'), 'utf8')
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([])
  const told = [...page.matchAll(/`((?:\w+)\.(?:\w+))`/g)].map(([, word]) => word as string)
  expect(
    told.filter(
      (word) =>
        !words.includes(word) &&
        !/^(?:session|runtime|ctx|details)\.(?:events|notices|emit|progress|cursor)$/.test(word),
    ),
  ).toEqual([])
})

test('the error codes are pinned', () => {
  expect(Object.keys(errorTable)).toMatchInlineSnapshot(`
    [
      "node_unsupported",
      "config_invalid",
      "tool_invalid",
      "tool_duplicate",
      "call_invalid",
      "value_invalid",
      "value_undecodable",
      "step_id_empty",
      "step_id_invalid",
      "step_id_duplicate",
      "step_nested",
      "step_unknown",
      "step_failed",
      "step_timeout",
      "step_too_large",
      "journal_full",
      "attachment_too_large",
      "batch_too_long",
      "replay_mismatch",
      "wait_name_empty",
      "wait_name_invalid",
      "wait_needs_rerun",
      "wait_failed",
      "wait_timeout",
      "wait_cancelled",
      "answer_unchecked",
      "quarantine_unknown",
      "quarantine_changed",
      "item_unknown",
      "item_decided",
      "would_deadlock",
      "attempt_over",
      "lease_lost",
      "keys_mismatch",
      "key_file_missing",
      "sealed_payload_broken",
      "store_unavailable",
      "store_newer",
      "store_not_pawl",
      "store_damaged",
      "output_unknown",
      "attachment_unknown",
      "cursor_invalid",
      "cursor_expired",
      "reader_too_slow",
      "stream_retracted",
      "erase_open",
      "program_unavailable",
      "runtime_closed",
      "file_path_invalid",
      "file_pattern_invalid",
      "file_not_found",
      "file_is_directory",
      "file_not_directory",
      "file_exists",
      "file_changed",
      "file_readonly",
      "file_not_plain",
      "directory_not_empty",
      "file_too_large",
      "files_full",
      "file_busy",
      "request_invalid",
      "unauthorized",
      "forbidden",
      "not_found",
      "method_not_allowed",
      "request_conflict",
      "precondition_failed",
      "request_too_large",
      "media_type_unsupported",
      "host_refused",
      "too_many_requests",
      "internal",
      "server_closing",
      "task_invalid",
      "task_unknown",
      "task_conflict",
      "tasks_full",
      "session_ended",
      "signal_conflict",
      "task_over",
      "emit_invalid",
      "emit_conflict",
      "schedule_invalid",
      "schedule_unknown",
      "schedule_conflict",
      "schedule_over",
      "schedules_full",
      "trigger_invalid",
      "trigger_unknown",
      "trigger_conflict",
      "triggers_full",
      "turn_invalid",
      "turn_conflict",
      "message_conflict",
      "capability_unknown",
      "model_invalid",
      "model_unknown",
      "frame_unknown",
      "value_key_invalid",
      "value_changed",
      "value_too_large",
      "values_full",
      "values_busy",
      "secret_name_invalid",
      "secret_reserved",
      "secret_invalid",
      "secrets_full",
    ]
  `)
})
