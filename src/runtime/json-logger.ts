// jsonLogger(): one JSON object per log line, with the ids of the call and the trace that the code belongs to.

import { scope } from '../calls/async-context.ts'
import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { systemClock } from '../core/clock.ts'
import { truncateToLength } from '../core/size-limits.ts'
import { activeTraceparent } from '../engine/trace-scope.ts'
import { Redactor, type Secrets, secretsOption } from '../security/redact.ts'
import type { Logger } from '../tools/context/tool-context.ts'

/** Options of jsonLogger(). */
export interface JsonLoggerOptions {
  /** Lines below this level are not written. Default: `info`. */
  readonly level?: LogLevel
  /** Receives each line, with its line end. Default: they are written to stderr. */
  readonly write?: (line: string) => void
  /** Texts to remove. A runtime removes its own secrets before. */
  readonly secrets?: Secrets
}

/** Levels of log lines, the lowest first. */
export type LogLevel = (typeof levels)[number]

const levels = ['debug', 'info', 'warn', 'error'] as const

export const jsonLoggerOptions = {
  level: option.oneOf(...levels),
  write: option.func,
  secrets: secretsOption,
} satisfies OptionTable<JsonLoggerOptions>

const maxText = 4_096
const maxItems = 50
const maxDepth = 6
const maxLine = 32_768

/**
 * A logger that writes one JSON object per line: `time`, `level`, `message`, and where they are known `call`, `tool`,
 * `session`, `tenant`, `trace_id` and `span_id`, then the fields. Texts, lists and lines are bounded.
 *
 * @example
 * const runtime = await createRuntime({ store: 'sqlite:agent.db', tools, logger: jsonLogger() })
 */
export function jsonLogger(options: JsonLoggerOptions = {}): Logger {
  checkOptions(options, jsonLoggerOptions, 'jsonLogger()')
  const { level: lowest = 'info', secrets = [] } = options
  const write = options.write ?? ((line: string) => void process.stderr.write(line))
  const redact = new Redactor(secrets)
  const at =
    (level: LogLevel) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      if (levels.indexOf(level) < levels.indexOf(lowest)) return
      const line = { ...idsOf(fields), ...(bounded(redact.deep(fields), 0) as object) }
      const head = { time: new Date(systemClock.now()).toISOString(), level, message: bounded(redact.text(message), 0) }
      write(`${lineOf({ ...head, ...line, ...head })}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Fields of the code that logs; a field of the same name, which may be about another call, wins. */
function idsOf(fields: Record<string, unknown>): Record<string, string> {
  const ids: Record<string, string> = {}
  const running = scope.getStore()
  if (running && running.call !== '' && (fields.call ?? running.call) === running.call) {
    const { call, tool, session, tenant } = running
    Object.assign(ids, {
      call,
      tool,
      ...(session === undefined ? {} : { session }),
      ...(tenant === undefined ? {} : { tenant }),
    })
  }
  const [, trace, span] = activeTraceparent()?.split('-') ?? []
  if (trace !== undefined && span !== undefined) Object.assign(ids, { trace_id: trace, span_id: span })
  return ids
}

/** A line that is too long keeps its ids and message. */
function lineOf(line: Record<string, unknown>): string {
  const text = JSON.stringify(line)
  if (text.length <= maxLine) return text
  const { time, level, message, call, tool, session, tenant, trace_id, span_id } = line
  return JSON.stringify({ time, level, message, call, tool, session, tenant, trace_id, span_id, truncated: true })
}

/** A copy that can be written as JSON: texts, lists and depth are cut, and what cannot be read is left out. */
function bounded(value: unknown, depth: number): unknown {
  try {
    if (typeof value === 'string') return truncateToLength(value, maxText)
    if (typeof value === 'bigint') return String(value)
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
    if (typeof value === 'function' || typeof value === 'symbol') return undefined
    if (typeof value !== 'object' || value === null) return value
    if (depth >= maxDepth) return '[too deep]'
    if (value instanceof Error) return errorOf(value, depth)
    if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => bounded(item, depth + 1) ?? null)
    if (value instanceof Date) return value.toISOString()
    const entries = Object.entries(value).slice(0, maxItems)
    return Object.fromEntries(entries.map(([name, item]) => [truncateToLength(name, 256), bounded(item, depth + 1)]))
  } catch {
    return '[cannot be shown]'
  }
}

function errorOf(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, code } = error as Error & { code?: unknown }
  return {
    name: bounded(name, depth + 1),
    message: bounded(message, depth + 1),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: bounded(code, depth + 1) } : {}),
    ...(typeof stack === 'string' ? { stack: bounded(stack, depth + 1) } : {}),
    ...(cause === undefined ? {} : { cause: bounded(cause, depth + 1) }),
  }
}
