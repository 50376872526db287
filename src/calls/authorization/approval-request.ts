// People decide (POL-2 to POL-4). A call that has to ask opens a wait, bound to the fingerprint of exactly what would run, and parks: it costs
// a row, no clock of it runs, and it survives whatever happens to this process. Its answer brings it back here, on whatever worker.
//
// An approval counts only for the same fingerprint, and only if it is enough for what the policy asks now; anything else asks again, under
// the next number. A denial, an answer and silence end the call, whatever the policy says by then.

import type { AskedWait, Execution, ToSettle, Wait } from '../../engine/engine.ts'
import { type Decided, decidedOf, type Vote } from '../../store/records/approval-request.ts'
import { failure } from '../../core/outcome.ts'
import { fingerprintOf } from '../../policy/approval-fingerprint.ts'
import { isEnough } from '../../policy/approvers.ts'
import { type Decision, together } from '../../policy/evaluate.ts'
import { answeredBy } from '../../policy/match-remembered.ts'
import { shownText } from '../../tools/hidden-fields.ts'
import { acceptAgain, stillTaken } from '../admission/validate-input.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { finish } from '../attempts/complete.ts'
import { itemOf } from './inbox-item.ts'

/** It may run, with these arguments; or it ends here; or it waits for people. `note`: what they did, for the model. */
export type Permit = { readonly go: ValidatedInput; readonly note?: string } | ToSettle | { readonly park: Wait }

const nameOf = (number: number): string => `pawl:approval:${number}`

interface Approval {
  readonly fingerprint: string
  readonly votes: readonly Vote[]
}

/** What people have said so far. */
export interface Heard {
  /** The arguments, with what they changed. */
  readonly accepted: ValidatedInput
  readonly approvals: readonly Approval[]
  /** The number under which it would ask next. */
  readonly next: number
  readonly note?: string
  /** Still being asked. */
  readonly open?: { readonly asked: AskedWait; readonly name: string; callOff(): Promise<boolean> }
}

export const nothingHeard = (accepted: ValidatedInput): Heard => ({ accepted, approvals: [], next: 1 })

/** Reads what was decided; what is an end is one. */
export async function heard(asking: Asking, accepted: ValidatedInput): Promise<Heard | ToSettle> {
  const { execution, tool } = asking
  const { asks } = execution
  const approvals: Approval[] = []
  let current = accepted
  let note: string | undefined
  let changed = false
  for (let number = 1; ; number++) {
    const name = nameOf(number)
    const asked = asks.found(name)
    if (asked && asked.asks.tool !== tool.fingerprint && !changed) {
      changed = true
      const stop = await stillTaken(asking, current)
      if (stop) return stop
    }
    const said = { accepted: current, approvals, ...(note === undefined ? {} : { note }) }
    if (!asked) return { ...said, next: number }
    const { resolution } = asked
    if (resolution === null) {
      return {
        ...said,
        next: number + 1,
        open: { asked, name, callOff: () => asks.callOff(name, 'What would have run has changed') },
      }
    }
    if ('timeout' in resolution) return expired
    const decided = decidedOf(resolution)
    // Called off: something had changed, and it was asked anew.
    if (!decided) continue
    if (decided.decision === 'deny') return denied(decided)
    if (decided.decision === 'answer') return answered(asking, current, decided)
    if (decided.decision === 'edit') {
      if (number > (execution.terms?.edited ?? 0)) {
        const again = await acceptAgain(asking, decided.input, number)
        if ('settle' in again) return again
        current = again
      }
      note = editNote(decided, shownFor(asking, current))
    }
    approvals.push({
      fingerprint: decided.decision === 'edit' ? decided.fingerprint : (asked.asks.fingerprint ?? ''),
      votes: decided.votes,
    })
  }
}

/** An approval that was denied, or that nobody gave in time. */
export function approvalOver({ asks }: Execution): ToSettle | null {
  for (let number = 1; ; number++) {
    const asked = asks.found(nameOf(number))
    if (!asked) return null
    if (asked.resolution && 'timeout' in asked.resolution) return expired
    const decided = decidedOf(asked.resolution)
    if (decided?.decision === 'deny') return denied(decided)
  }
}

/** What the model is told of a call that ran with arguments a person changed, and waited for the outside since. */
export function noteOfEdit(asking: Asking, accepted: ValidatedInput): string | undefined {
  const { asks } = asking.execution
  let note: string | undefined
  for (let number = 1; asks.any; number++) {
    const asked = asks.found(nameOf(number))
    if (!asked) break
    const decided = decidedOf(asked.resolution)
    if (decided?.decision === 'edit') note = editNote(decided, shownFor(asking, accepted))
  }
  return note
}

/** Approved already, or remembered, or asked now. Null: an answer came first. */
export async function askPeople(asking: Asking, said: Heard, decision: Decision): Promise<Permit | null> {
  const { execution, tool, host } = asking
  const { request, options } = execution
  const { position, principal } = request
  const { accepted, approvals, open } = said
  const of = decision.asking ?? together([])
  const fingerprint = fingerprintOf({
    tenant: position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: accepted.text,
  })
  const votes = approvals
    .filter((approval) => approval.fingerprint === fingerprint)
    .flatMap((approval) => approval.votes)
  const go = { go: accepted, ...(said.note === undefined ? {} : { note: said.note }) }
  if (isEnough(of, principal, votes)) return open && !(await open.callOff()) ? null : go
  if (open) {
    if (open.asked.asks.fingerprint === fingerprint) return { park: await asked(asking, open.name) }
    if (!(await open.callOff())) return null
  }
  const rules = await host.remembered(position)
  const facts = { session: position.session, principal, toolId: tool.id, toolFingerprint: tool.fingerprint }
  const rule = answeredBy(rules, { ...facts, args: accepted.anew().args, now: host.clock.now() }, of)
  if (rule) {
    const by = rule.votes[0]?.by ?? ''
    execution.asks.tell('decision.remembered', { rule: rule.id, decision: rule.then, by, fingerprint })
    return rule.then === 'approve' ? go : denied({ decision: 'deny', at: rule.madeAt, votes: rule.votes }, true)
  }
  if (options.unattended) return unattended(decision.reason)
  const left =
    options.deadline === undefined ? of.expiresMs : Math.min(of.expiresMs, options.deadline - host.clock.now())
  if (left <= 0) return notStarted('total')
  const about = { kind: 'approval' as const, reason: decision.reason, of, fingerprint, votes }
  const { item, terms } = await itemOf(asking, accepted, about, {}, { tool: tool.fingerprint })
  return { park: await execution.wait({ name: nameOf(said.next), deadlineMs: left, terms, item }) }
}

/** The wait of that name, which is on record. */
const asked = ({ execution }: Asking, name: string): Promise<Wait> => execution.wait({ name, deadlineMs: 0, terms: {} })

type Denial = Extract<Decided, { decision: 'deny' }>

function denied({ votes }: Denial, before = false): ToSettle {
  const { reason } = votes.at(-1) ?? {}
  const who = before ? 'A person denied such calls earlier' : 'A person denied this call'
  const message = `${who}${reason === undefined ? '' : `: ${sentenceOf(reason)}`}${reason === undefined ? '.' : ''} It was not run. Do not ask for it again unchanged: do something else, or ask the user.`
  return { settle: failure({ class: 'permission_denied', code: 'denied_by_person', message, source: 'policy' }) }
}

const sentenceOf = (reason: string): string => (/[.!?…]$/.test(reason) ? reason : `${reason}.`)

const expired: ToSettle = {
  settle: failure({
    class: 'permission_denied',
    code: 'approval_expired',
    message:
      'Nobody decided about this call in time, so it was not run. Tell the user that it needs an approval; it may be asked for again.',
    source: 'policy',
  }),
}

const unattended = (reason: string): ToSettle => ({
  settle: failure({
    class: 'permission_denied',
    code: 'approval_required',
    message: `${reason} Nobody is there to approve it, so it was not run. Go on without it.`,
    source: 'policy',
  }),
})

async function answered(
  asking: Asking,
  accepted: ValidatedInput,
  decided: Extract<Decided, { decision: 'answer' }>,
): Promise<ToSettle> {
  const { settle } = await finish(asking, accepted, { settle: { status: 'success', value: decided.value } })
  const { reason } = decided.votes.at(-1) ?? {}
  const note = `A person answered instead of this tool, which was not run${reason === undefined ? '' : `: ${reason}`}`
  return { settle: { ...settle, note } }
}

const shownFor = ({ execution, tool, host }: Asking, accepted: ValidatedInput): string =>
  shownText(tool, accepted, () => host.toolsOf(execution.request))

const mostShown = 1_000

function editNote({ votes }: Decided, text: string): string {
  const { reason } = votes.at(-1) ?? {}
  const args = text.length <= mostShown ? text : `${text.slice(0, mostShown).toWellFormed()}…`
  return `A person changed the arguments of this call before it ran${reason === undefined ? '' : ` (${reason})`}. It ran with: ${args}`
}
