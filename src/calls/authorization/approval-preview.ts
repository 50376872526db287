// The preview that a person reads before deciding: from the tool's `preview`, or a sentence built from the arguments.
// If `preview` fails or times out, the built sentence is used, so the person is asked in any case.

import type { Preview } from '../../store/records/approval-request.ts'
import type { Json } from '../../core/tool-value.ts'
import { maskArgs } from '../../tools/hidden-arguments.ts'
import type { ApprovalFacts, PreviewGiven, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import { runCallback, type StageContext, CallbackAbandoned } from '../run-host-callback.ts'

const maxSummary = 500
const maxDetails = 8 * 1024
const maxValue = 80
const maxFields = 12

export const approvalFacts = ({ execution }: StageContext): ApprovalFacts => {
  const { position, principal } = execution.request
  return { tenant: position.tenant, session: position.session, principal, callId: execution.callId }
}

export async function previewOf(stage: StageContext, input: ValidatedInput): Promise<Preview> {
  const { tool, execution, host } = stage
  const { preview } = tool
  const masked = (args: Json): Json => maskArgs(tool, args, () => host.toolsets.toolsetFor(execution.request))
  // Redact before truncating and escaping: the redactor does not recognize a truncated secret.
  const redacted = <T>(value: T): T => (host.redact.active ? host.redact.deep(value) : value)
  const fallback = { summary: defaultSummary(tool, redacted(masked(input.args))) }
  if (!preview) return fallback
  try {
    const run = preview as (input: Json, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>
    const given = await runCallback('preview', stage, () => run(masked(input.copy().args), approvalFacts(stage)))
    return checkPreview(redacted(given)) ?? fallback
  } catch (error) {
    if (error instanceof CallbackAbandoned && error.reason !== 'callback') throw error
    host.logger.error('`preview` failed; the arguments are shown instead', {
      tool: tool.name,
      callId: execution.callId,
      error,
    })
    return fallback
  }
}

function checkPreview(result: PreviewGiven): Preview | undefined {
  const { summary, details, format } =
    typeof result === 'string' ? { summary: result } : ((result ?? {}) as Partial<Preview>)
  if (typeof summary !== 'string' || summary.trim() === '') return undefined
  const known = format === 'markdown' || format === 'diff' ? format : 'text'
  return {
    // One line, so that no part of an argument can look like a sentence of its own.
    summary: truncate(escapeInvisible(summary).replaceAll(/[\n\t]/g, escapeCharacter), maxSummary),
    ...(typeof details === 'string' ? { details: truncate(escapeInvisible(details), maxDetails), format: known } : {}),
  }
}

/** `Refund an order: order "A1", cents 4200.` */
function defaultSummary({ title, description, name }: Tool, args: Json): string {
  const what = (title ?? description.split(/(?<=[.!?])\s|\n/)[0] ?? name).replace(/[.!?\s]+$/, '')
  const entries = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.entries(args) : []
  if (entries.length === 0) return truncate(`${what}.`, maxSummary)
  const fields = entries
    .slice(0, maxFields)
    .map(
      ([key, value]) =>
        `${keyName(key)} ${isSecretName(key) ? '[hidden]' : truncate(escapeInvisible(JSON.stringify(value)), maxValue)}`,
    )
  const more = entries.length > maxFields ? ` and ${entries.length - maxFields} more` : ''
  return truncate(`${what}: ${fields.join(', ')}${more}.`, maxSummary)
}

/**
 * A model may also choose field names; one that is not a plain name is shown quoted, so that it cannot imitate text.
 */
const keyName = (key: string): string =>
  /^[\w$.-]{1,64}$/.test(key) ? key : truncate(escapeInvisible(JSON.stringify(key)), maxValue)

/** Escapes characters that hide, reorder or move others, so that the person reads exactly what would run. */
const escapeInvisible = (text: string): string =>
  text.replaceAll(/[\p{Cf}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]|(?![\n\t])\p{Cc}/gu, escapeCharacter)
const escapeCharacter = (hidden: string): string => `\\u{${hidden.codePointAt(0)?.toString(16)}}`

/** Values of fields with such names are not shown in summaries. */
const isSecretName = (key: string): boolean =>
  /pass(word|phrase)|secret|token|api[-_]?key|credential|private[-_]?key|\bpin\b/i.test(key)

/** Does not split surrogate pairs. */
const truncate = (text: string, max: number): string => {
  const whole = text.toWellFormed()
  return whole.length <= max
    ? whole
    : `${whole
        .slice(0, max - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`
}
