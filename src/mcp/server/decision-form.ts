// Asks the user of the client about an approval or a question of their own call: the form, and what its answer means.

import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { CallDetails, InboxItem, Runtime } from '../../index.ts'
import { escapeJson, escapeLine, escapeLines } from './escape-text.ts'
import type { McpCaller } from './exchange.ts'

/** A longer form is not shown: what a person does not see, they cannot approve. */
const maxFormLength = 16_384

/** Waits for the answer to a question that its tool has named. */
const namedQuestion = /^pawl:question:(?<name>[\w-]{1,100})$/

/** The name of the request for a form: the name of the question, else the id of the item. */
export function formKey(item: string, waits: CallDetails['waits']): string {
  const wait = waits.find(({ id }) => id === item)
  return namedQuestion.exec(wait?.name ?? '')?.groups?.name ?? `decision:${item}`
}

/** The open item, if this caller decides it alone and a form can show all of it. */
export async function decidableItem(
  runtime: Runtime,
  { tenant, principal, mayDecide = true }: McpCaller,
  id: string,
): Promise<InboxItem | undefined> {
  if (!mayDecide) return undefined
  const [item] = await runtime.inbox({ tenant, id })
  if (!item || item.separate || item.quorum > 1 || item.principal !== principal) return undefined
  if (!item.approvers.every((list) => list.includes(principal) || list.includes('*'))) return undefined
  return formOf(item) ? item : undefined
}

/** Undefined if the item cannot be asked in a form. Secrets must not be typed into forms of a host. */
export function formOf(item: InboxItem): ElicitRequestFormParams | undefined {
  const form = item.kind === 'approval' ? approvalForm(item) : item.kind === 'question' ? questionForm(item) : undefined
  return form && form.message.length <= maxFormLength ? form : undefined
}

function approvalForm(item: InboxItem): ElicitRequestFormParams {
  const { title, tool, preview, args, reason, effect } = item
  const lines = [
    `Allow ${escapeLine(title)}${title === tool ? '' : ` (${escapeLine(tool)})`}?`,
    '',
    escapeLine(preview.summary),
    // Marked on every line, so that no part of the details looks like a line of this form.
    ...(preview.details === undefined ? [] : [escapeLines(preview.details).replaceAll(/^/gm, '> ')]),
    '',
    'Arguments:',
    escapeJson(args),
    '',
    `Why you are asked: ${escapeLine(reason)}`,
    `Effect: ${escapeLine(effect)}`,
    '',
    'always: approve this call, and run later calls of this tool without asking, for one day.',
  ]
  return {
    mode: 'form',
    message: lines.join('\n'),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: { type: 'string', title: 'Decision', enum: ['approve', 'always', 'deny'] },
        reason: { type: 'string', title: 'Reason', description: 'The model reads it.', maxLength: 1_000 },
      },
      required: ['decision'],
    },
  }
}

function questionForm({ question, title }: InboxItem): ElicitRequestFormParams | undefined {
  if (!question || question.kind === 'secret') return undefined
  const { text } = question
  const choice = { type: 'string' as const, ...(question.kind === 'choice' ? { enum: [...question.choices] } : {}) }
  const isList = question.kind === 'choice' && question.several
  const answer = isList ? { type: 'array' as const, title: 'Answer', items: choice } : { ...choice, title: 'Answer' }
  return {
    mode: 'form',
    message: `${escapeLine(title)} asks:\n\n${escapeLines(text)}`,
    requestedSchema: { type: 'object', properties: { answer }, required: ['answer'] },
  } as ElicitRequestFormParams
}

/** The answer of a client to a form; it may be anything. */
interface FormAnswer {
  readonly action?: unknown
  readonly content?: unknown
}

/**
 * Records the decision that the form was answered with. Declining denies; cancelling the form leaves the item open, as
 * does an answer that is none.
 */
export async function decideByForm(
  runtime: Runtime,
  { tenant, principal }: McpCaller,
  { id, kind }: Pick<InboxItem, 'id' | 'kind'>,
  fingerprint: string | undefined,
  given: unknown,
): Promise<'decided' | 'open' | 'dismissed'> {
  if (typeof given !== 'object' || given === null) return 'open'
  const { action, content } = given as FormAnswer
  if (action === 'cancel') return 'dismissed'
  const decision =
    action === 'decline' ? { deny: true as const } : action === 'accept' ? acceptedOf(kind, content) : null
  if (!decision) return 'open'
  const by = { by: principal, door: 'mcp', tenant, ...(fingerprint === undefined ? {} : { fingerprint }) }
  const { answer } = await runtime.decide(id, { ...decision, ...by })
  if (answer === 'invalid') return 'open'
  return answer === 'accepted' || answer === 'already_decided' || answer === 'unknown' ? 'decided' : 'dismissed'
}

type Accepted =
  | { readonly approve: true; readonly reason?: string; readonly remember?: true }
  | { readonly deny: true; readonly reason?: string }
  | { readonly answer: unknown }

function acceptedOf(kind: InboxItem['kind'], content: unknown): Accepted | null {
  if (typeof content !== 'object' || content === null) return null
  const { decision, reason } = content as Record<string, unknown>
  if (kind === 'question') return answerIn(content)
  const why =
    typeof reason === 'string' && reason.trim() !== '' ? { reason: reason.slice(0, 1_000).toWellFormed() } : {}
  if (decision === 'approve') return { approve: true, ...why }
  if (decision === 'always') return { approve: true, remember: true, ...why }
  return decision === 'deny' ? { deny: true, ...why } : null
}

/** The form of a question has one field. Its value is the answer, whatever the client calls the field. */
function answerIn(content: object): Accepted | null {
  const [answer, ...more] = Object.values(content) as unknown[]
  if (answer === undefined || more.length > 0) return null
  return { answer: typeof answer === 'boolean' || typeof answer === 'number' ? String(answer) : answer }
}
