// What a person reads before they decide (POL-6): the tool's own words, or a sentence made of the arguments. What fails or lies too long in
// coming is left out: a person is asked all the same, and sees the arguments.

import type { Preview } from '../../store/records/approval-request.ts'
import type { Json } from '../../core/value.ts'
import { shownArgs } from '../../tools/hidden-fields.ts'
import type { ApprovalFacts, PreviewGiven, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import { ask, type Asking, Unanswered } from '../host-callback.ts'

const mostSummary = 500
const mostDetails = 8 * 1024
const mostValue = 80
const mostFields = 12

export const factsFor = ({ execution }: Asking): ApprovalFacts => {
  const { position, principal } = execution.request
  return { tenant: position.tenant, session: position.session, principal, callId: execution.callId }
}

export async function previewOf(asking: Asking, accepted: ValidatedInput): Promise<Preview> {
  const { tool, execution, host } = asking
  const { preview } = tool
  const shown = (args: Json): Json => shownArgs(tool, args, () => host.toolsOf(execution.request))
  const byDefault = { summary: sentence(tool, shown(accepted.args)) }
  if (!preview) return byDefault
  try {
    const run = preview as (input: Json, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>
    return checked(await ask('preview', asking, () => run(shown(accepted.anew().args), factsFor(asking)))) ?? byDefault
  } catch (error) {
    if (error instanceof Unanswered && error.why !== 'patience') throw error
    host.logger.error('A preview failed; the arguments are shown instead', {
      tool: tool.name,
      callId: execution.callId,
      error,
    })
    return byDefault
  }
}

function checked(given: PreviewGiven): Preview | undefined {
  const { summary, details, format } =
    typeof given === 'string' ? { summary: given } : ((given ?? {}) as Partial<Preview>)
  if (typeof summary !== 'string' || summary.trim() === '') return undefined
  const known = format === 'markdown' || format === 'diff' ? format : 'text'
  return {
    summary: cut(visible(summary), mostSummary),
    ...(typeof details === 'string' ? { details: cut(visible(details), mostDetails), format: known } : {}),
  }
}

/** `Refund an order: order "A1", cents 4200.` */
function sentence({ title, description, name }: Tool, args: Json): string {
  const what = (title ?? description.split(/(?<=[.!?])\s|\n/)[0] ?? name).replace(/[.!?\s]+$/, '')
  const entries = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.entries(args) : []
  if (entries.length === 0) return cut(`${what}.`, mostSummary)
  const fields = entries
    .slice(0, mostFields)
    .map(
      ([key, value]) =>
        `${keyName(key)} ${isSecretName(key) ? '[hidden]' : cut(visible(JSON.stringify(value)), mostValue)}`,
    )
  const more = entries.length > mostFields ? ` and ${entries.length - mostFields} more` : ''
  return cut(`${what}: ${fields.join(', ')}${more}.`, mostSummary)
}

/** A model may choose names of fields too: one that reads like a sentence is shown as the text that it is. */
const keyName = (key: string): string =>
  /^[\w$.-]{1,64}$/.test(key) ? key : cut(visible(JSON.stringify(key)), mostValue)

/** What would turn, hide or move other characters is shown as its number: what is read must be what would run. */
const visible = (text: string): string =>
  text.replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]|(?![\n\t])\p{Cc}/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
  )

/** Fields that are named like secrets are not put into sentences. */
const isSecretName = (key: string): boolean =>
  /pass(word|phrase)|secret|token|api[-_]?key|credential|private[-_]?key|\bpin\b/i.test(key)

/** No character is cut in half. */
const cut = (text: string, most: number): string => {
  const whole = text.toWellFormed()
  return whole.length <= most
    ? whole
    : `${whole
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`
}
