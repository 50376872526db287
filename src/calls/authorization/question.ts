// A body asks a person (POL-5): `ctx.ask`. A wait like any other, with a default for silence; its item lies in the inbox.

import type { Wait } from '../../engine/engine.ts'
import { type Answered, answeredOf, type QuestionShape } from '../../store/records/approval-request.ts'
import type { Resolution } from '../../store/records/call-record.ts'
import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { encode, type Json } from '../../core/value.ts'
import { together } from '../../policy/evaluate.ts'
import { fingerprintOf } from '../../policy/approval-fingerprint.ts'
import type { AskedQuestion, Question } from '../../tools/context/context.ts'
import { WaitError } from '../../store/records/resolution.ts'
import { FromRecord, none } from '../admission/validated-input.ts'
import { withinDeadline } from '../attempts/timeouts.ts'
import { closeNames } from '../../core/similar-names.ts'
import { untold } from './known-connections.ts'
import { itemOf } from './inbox-item.ts'
import { AskedHandle, parksOn } from '../context/later.ts'
import type { Around } from '../context/call-environment.ts'

const defaultDeadline = '5m'
const mostChoices = 50
const longestText = 4_000
const known: readonly string[] = [
  'text',
  'choices',
  'several',
  'secret',
  'default',
  'deadline',
  'name',
] satisfies (keyof Question)[]

/** How the body waits inside. */
interface Inside {
  /** Whether it may, now. */
  awaited(): void
  outside<T>(wait: () => Promise<T>): Promise<T>
}

export async function askQuestion(context: Around, question: Question, inside: Inside): Promise<AskedQuestion> {
  const { execution, tool, host, connections } = context
  const { request, options } = execution
  const shape = shapeOf(question, tool.name)
  const byDefault = question.default === undefined ? {} : { default: JSON.stringify(question.default) }
  const asked = options.unattended
    ? 0
    : milliseconds(question.deadline ?? defaultDeadline, 'The deadline of a question')
  const deadlineMs = withinDeadline(asked, options, host.clock.now())
  const fingerprint = fingerprintOf({
    tenant: request.position.tenant,
    call: request.uid,
    tool: '', // a tool that has changed may still ask the same
    args: encode({ question: shape as unknown as Json }),
  })
  // On record as people read it: another process, which does not know the secrets of this body, shows it too.
  const text = host.redact.text(untold(shape.text, connections))
  const { item, terms } = await itemOf(
    { execution, tool, host },
    new FromRecord(context.args ?? execution.args ?? none, none),
    { kind: 'question', reason: text, of: together([]), fingerprint },
    {
      preview: { summary: text },
      question: { ...shape, text, ...(question.default === undefined ? {} : { default: question.default as Json }) },
    },
    { ...byDefault, ...(shape.kind === 'secret' ? { secret: true as const } : {}) },
  )
  const wait = await execution.wait({ name: `pawl:question:${question.name ?? ''}`, deadlineMs, terms, item })
  if (wait.terms.asks?.fingerprint !== fingerprint)
    throw new PawlError(
      'replay_mismatch',
      `Another question was asked under ${question.name === undefined ? 'no name' : `the name '${question.name}'`}: give each its own name.`,
    )
  const handle = new AskedHandle<Answered>(wait, async () => {
    inside.awaited()
    const resolution = await inside.outside(() => execution.answer(wait, context.signal))
    return answerOf(resolution, wait, context)
  })
  return parksOn(handle, wait, request.uid)
}

function answerOf(resolution: Resolution, wait: Wait, { host, connections }: Around): Answered {
  if ('cancelled' in resolution) throw new WaitError(resolution)
  const answered = answeredOf(resolution, wait.terms.asks ?? { kind: 'question' })
  if (!wait.terms.asks?.secret || answered.status !== 'answered') return answered
  const answer = host.openSecret(wait.id, (answered.answer as { sealed: string }).sealed)
  if (typeof answer === 'string') {
    host.redact.learn(answer)
    connections.tokens.push(answer)
  }
  return { ...answered, answer }
}

function shapeOf(question: Question, tool: string): QuestionShape {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `ctx.ask in tool '${tool}': ${why}.`)
  }
  if (typeof question !== 'object' || question === null) return wrong('a question is { text, … }')
  for (const name of Object.keys(question)) {
    if (known.includes(name)) continue
    const [close] = closeNames(name, known)
    wrong(`there is no option '${name}'${close === undefined ? '' : `; did you mean '${close}'?`}`)
  }
  const { text, choices, several = false, secret = false, name, default: byDefault } = question
  if (typeof text !== 'string' || text.trim() === '' || text.length > longestText)
    return wrong(`text must have 1 to ${longestText} characters`)
  if (name !== undefined && !isName(name)) wrong('name must be a name')
  if (secret && (choices || byDefault !== undefined))
    wrong('a secret is a text, and has no default: that would be on record')
  if (secret) return { kind: 'secret', text }
  if (!choices) {
    if (several) wrong('several is for choices')
    if (byDefault !== undefined && typeof byDefault !== 'string') wrong('default must be a text')
    return { kind: 'text', text }
  }
  const areTexts = Array.isArray(choices) && choices.every((each) => typeof each === 'string' && each !== '')
  if (!areTexts || choices.length < 1 || choices.length > mostChoices || new Set(choices).size !== choices.length)
    wrong(`choices must be 1 to ${mostChoices} different texts`)
  const given = byDefault === undefined ? [] : typeof byDefault === 'string' ? [byDefault] : byDefault
  if (
    !given.every((each) => choices.includes(each)) ||
    (byDefault !== undefined && several !== Array.isArray(byDefault))
  )
    wrong('default must be one of the choices, or some where several are taken')
  return { kind: 'choice', text, choices: [...choices], several }
}
