// `ctx.ask`: a body asks a person. The question is a wait with an inbox item and an optional default answer for a
// timeout.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { Wait } from '../../engine/engine.ts'
import { type QuestionAnswer, questionAnswerOf, type QuestionShape } from '../../store/records/approval-request.ts'
import type { Resolution } from '../../store/records/call-record.ts'
import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { encode, type Json } from '../../core/tool-value.ts'
import { combineTerms } from '../../policy/evaluate.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import type { AskedQuestion, Question } from '../../tools/context/tool-context.ts'
import { WaitError } from '../../store/records/wait-resolution.ts'
import { RecordedInput, noPayload } from '../admission/read-arguments.ts'
import { withinDeadline } from '../attempts/attempt-timeouts.ts'
import { withoutUsedSecrets } from './used-connections.ts'
import { buildInboxItem } from './inbox-item.ts'
import { QuestionHandle, registerWait } from '../context/deferred-result.ts'
import type { CallEnvironment } from '../context/call-environment.ts'
import { waitNames } from '../../store/journal-keys.ts'

const defaultDeadline = '5m'
const maxChoices = 50
const maxTextChars = 4_000
const questionOptions = {
  text: option.required(option.string),
  choices: option.listOf(option.string),
  several: option.boolean,
  secret: option.boolean,
  default: option.either(option.string, option.listOf(option.string)),
  deadline: option.duration,
  name: option.string,
} satisfies OptionTable<Question>

export async function askQuestion(
  context: CallEnvironment,
  question: Question,
  /** Waits for the answer outside the attempt. Throws if the body may not wait now. */
  waitOutside: <T>(wait: () => Promise<T>) => Promise<T>,
): Promise<AskedQuestion> {
  const { execution, tool, host, connections } = context
  const { request, options } = execution
  const shape = checkQuestion(question, tool.name)
  const defaultTerm = question.default === undefined ? {} : { default: JSON.stringify(question.default) }
  const limitMs = options.unattended
    ? 0
    : milliseconds(question.deadline ?? defaultDeadline, 'The deadline of a question')
  const deadlineMs = withinDeadline(limitMs, options, host.clock.now())
  const fingerprint = approvalFingerprint({
    tenant: request.position.tenant,
    call: request.uid,
    tool: '', // the question stays the same when the tool's definition changes
    args: encode({ question: shape as unknown as Json }),
  })
  // Redacted before it is stored: another process that shows the question may not know the secrets of this body.
  const text = host.redact.text(withoutUsedSecrets(shape.text, connections))
  const { item, terms } = await buildInboxItem(
    { execution, tool, host },
    new RecordedInput(context.args ?? execution.args ?? noPayload, noPayload),
    { kind: 'question', reason: text, of: combineTerms([]), fingerprint },
    {
      preview: { summary: text },
      question: { ...shape, text, ...(question.default === undefined ? {} : { default: question.default as Json }) },
    },
    { ...defaultTerm, ...(shape.kind === 'secret' ? { secret: true as const } : {}) },
  )
  const wait = await execution.openWait({ name: waitNames.question(question.name ?? ''), deadlineMs, terms, item })
  if (wait.terms.asks?.fingerprint !== fingerprint) {
    const name = question.name === undefined ? 'without a name' : `under the name '${question.name}'`
    throw new PawlError(
      'replay_mismatch',
      `The body has asked another question ${name}. Give each question its own \`name\`.`,
    )
  }
  const handle = new QuestionHandle<QuestionAnswer>(wait, async () => {
    const resolution = await waitOutside(() => execution.awaitAnswer(wait, context.signal))
    return answerOf(resolution, wait, context)
  })
  return registerWait(handle, wait, request.uid)
}

function answerOf(
  resolution: Resolution,
  wait: Wait,
  { host, execution, connections }: CallEnvironment,
): QuestionAnswer {
  if ('cancelled' in resolution) throw new WaitError(resolution)
  const answered = questionAnswerOf(resolution, wait.terms.asks ?? { kind: 'question' })
  if (!wait.terms.asks?.secret || answered.status !== 'answered') return answered
  const answer = host.approvals.openSecret(wait.id, (answered.answer as { sealed: string }).sealed)
  if (typeof answer === 'string') {
    host.knownSecrets.learn(execution.request.position, answer)
    connections.tokens.push(answer)
  }
  return { ...answered, answer }
}

const areValidChoices = (choices: readonly string[]): boolean =>
  !choices.includes('') &&
  choices.length >= 1 &&
  choices.length <= maxChoices &&
  new Set(choices).size === choices.length

function checkQuestion(question: Question, tool: string): QuestionShape {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `ctx.ask in tool '${tool}': ${why}.`)
  }
  checkRequiredOptions(question, questionOptions, 'ctx.ask()')
  const { text, choices, several = false, secret = false, name, default: defaultAnswer } = question
  if (text.trim() === '' || text.length > maxTextChars)
    return wrong(`\`text\` must be a string of 1 to ${maxTextChars} characters`)
  if (name !== undefined && !isName(name)) wrong('`name` is not a valid name')
  if (secret && (choices || defaultAnswer !== undefined))
    wrong('a `secret` question has no `choices` and no `default`, because they would be recorded')
  if (secret) return { kind: 'secret', text }
  if (!choices) {
    if (several) wrong('`several` needs `choices`')
    if (Array.isArray(defaultAnswer)) wrong('`default` must be a string')
    return { kind: 'text', text }
  }
  if (!areValidChoices(choices)) wrong(`\`choices\` must be 1 to ${maxChoices} different strings that are not empty`)
  const defaults =
    defaultAnswer === undefined ? [] : typeof defaultAnswer === 'string' ? [defaultAnswer] : defaultAnswer
  if (
    !defaults.every((each) => choices.includes(each)) ||
    (defaultAnswer !== undefined && several !== Array.isArray(defaultAnswer))
  )
    wrong('`default` must be one of the choices, or a list of choices with `several`')
  return { kind: 'choice', text, choices: [...choices], several }
}
