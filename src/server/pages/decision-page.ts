// The page behind a signed link: a person sees what would run and decides. GET shows and changes nothing; only POST
// decides, and an item can be decided once.

import type { DecideAnswer, InboxItem, Runtime } from '../../index.ts'
import { type Html, markup } from '../export/escape-html.ts'
import { htmlPage } from './page.ts'

type Link = NonNullable<Awaited<ReturnType<Runtime['links']['verify']>>>

const gone = (): Response =>
  htmlPage(
    'Nothing to decide',
    markup`<h1>There is nothing to decide here.</h1>
<p>The link is not valid, has expired, or the request was decided or withdrawn.</p>
<p class="soft">Nothing was changed.</p>`,
    404,
  )

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))

function argumentRows(args: unknown): Html {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return markup`<pre>${textOf(args)}</pre>`
  const rows = Object.entries(args).map(
    ([name, value]) => markup`<tr><th scope="row">${name}</th><td>${textOf(value)}</td></tr>`,
  )
  return rows.length === 0 ? markup`<p class="soft">No arguments.</p>` : markup`<table>${rows}</table>`
}

function answerField(question: NonNullable<InboxItem['question']>): Html {
  const label = markup`<label for="answer">${question.text}</label>`
  switch (question.kind) {
    case 'text':
      return markup`${label}<textarea id="answer" name="answer" rows="2"></textarea>`
    case 'secret':
      return markup`${label}<input id="answer" name="answer" type="password" autocomplete="off">`
    case 'choice': {
      const options = question.choices.map((choice) => markup`<option>${choice}</option>`)
      return markup`${label}<select id="answer" name="answer"${question.several ? markup` multiple` : ''}>${options}</select>`
    }
  }
}

/** The answer as the kind of the question needs it. */
function answerOf({ question }: InboxItem, form: URLSearchParams): string | string[] {
  return question?.kind === 'choice' && question.several ? form.getAll('answer') : (form.get('answer') ?? '')
}

/** The consequence of the decision, in words. A finding is a call whose outcome is not known. `by`: who would decide. */
function consequences(item: InboxItem, by: string, expires: string): string {
  const { kind, question } = item
  if (kind === 'finding')
    return `If you approve, the tool runs again with these arguments. If you deny, its outcome stays unknown, as it does without a decision until ${expires}.`
  if (question !== undefined) {
    const without =
      question.default === undefined
        ? 'the tool continues without an answer'
        : `the answer is ${JSON.stringify(question.default)}`
    return `Your answer goes to the tool. If you deny, the tool continues without an answer. Without a decision until ${expires} ${without}.`
  }
  return `${approvalText(item, by)} If you deny, it does not run. Without a decision until ${expires} it is denied.`
}

function approvalText({ quorum, approvals }: InboxItem, by: string): string {
  const missing = quorum - approvals.length
  if (approvals.some((vote) => vote.by === by)) return `You have approved it already; ${missing} more must approve.`
  return missing > 1
    ? `Your approval is one of ${quorum}: the tool runs when ${missing - 1} more have approved.`
    : 'If you approve, the tool runs with exactly these arguments.'
}

/** The effect, unless the reason has said it already. */
const effectOf = ({ reason, effect }: InboxItem): string =>
  reason.includes(effect.replace(/^It |\.$/g, '')) ? '' : effect

function itemPage(item: InboxItem, by: string, console: string | null): Response {
  const expires = `${new Date(item.expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const canApprove = item.verbs.includes('approve')
  const buttons = [
    item.question ? markup`<button name="decision" value="answer">Answer</button>` : '',
    canApprove ? markup`<button name="decision" value="approve">Approve</button>` : '',
    item.verbs.includes('deny') ? markup`<button class="stop" name="decision" value="deny">Deny</button>` : '',
  ]
  const details = item.preview.details === undefined ? '' : markup`<pre>${item.preview.details}</pre>`
  return htmlPage(
    item.preview.summary,
    markup`<h1>${item.preview.summary}</h1>
<p>${item.reason}</p>
${details}
<h2>Arguments of ${item.title}</h2>
${argumentRows(item.args)}
<h2>What happens then</h2>
<p>${consequences(item, by, expires)}</p>
<p class="soft">${effectOf(item)} Asked for ${item.principal ?? 'no one in particular'} in session
${item.session}. You decide as ${by}.</p>
${consoleLink(item, console)}
<form method="post">${item.question ? answerField(item.question) : ''}
<label for="reason">Reason (optional; the model reads it)</label><textarea id="reason" name="reason" rows="2"></textarea>
${buttons}</form>`,
  )
}

/** The console needs a login, which may be of another person than the link. */
const consoleLink = ({ id }: InboxItem, console: string | null): Html | '' =>
  console === null
    ? ''
    : markup`<p class="soft"><a href="${console}/inbox/${encodeURIComponent(id)}">What led here, and earlier decisions</a>
(in the console, with your own login)</p>`

async function openItem(runtime: Runtime, text: string): Promise<{ link: Link; item: InboxItem } | null> {
  const link = await runtime.links.verify(text)
  if (!link) return null
  const [item] = await runtime.inbox({ id: link.item, tenant: link.tenant })
  return item ? { link, item } : null
}

/** `console`: the path under which the console is served; null if it is not. */
export async function showDecision(runtime: Runtime, text: string, console: string | null): Promise<Response> {
  const open = await openItem(runtime, text)
  return open ? itemPage(open.item, open.link.by, console) : gone()
}

/** `form`: the posted fields. */
export async function postDecision(runtime: Runtime, text: string, form: URLSearchParams): Promise<Response> {
  const open = await openItem(runtime, text)
  if (!open) return gone()
  const { link, item } = open
  const reason = form.get('reason')?.trim() ?? ''
  const about = {
    by: link.by,
    door: 'link',
    tenant: link.tenant,
    fingerprint: link.fingerprint,
    ...(reason === '' ? {} : { reason }),
  }
  switch (form.get('decision')) {
    case 'approve':
      return answerPage(await runtime.decide(item.id, { approve: true, ...about }))
    case 'deny':
      return answerPage(await runtime.decide(item.id, { deny: true, ...about }))
    case 'answer':
      return answerPage(await runtime.decide(item.id, { answer: answerOf(item, form), ...about }))
    default:
      return htmlPage(
        'No decision',
        markup`<h1>No decision was sent.</h1><p>Go back and use one of the buttons.</p>`,
        400,
      )
  }
}

const done: Readonly<Record<string, string>> = {
  approved: 'Approved. The tool runs now.',
  denied: 'Denied. The tool does not run.',
  answered: 'Answered.',
  edited: 'Approved with changed arguments.',
  pending: 'Your approval is recorded. More people must approve before the tool runs.',
}

function answerPage(answer: DecideAnswer): Response {
  switch (answer.answer) {
    case 'accepted':
      return htmlPage('Recorded', markup`<h1>${done[answer.status]}</h1><p>You can close this page.</p>`)
    case 'already_decided':
      return htmlPage('Already decided', markup`<h1>Another decision came first.</h1><p>Nothing was changed.</p>`, 409)
    case 'refused':
      return htmlPage('Refused', markup`<h1>Not recorded.</h1><p>${answer.message}</p>`, 403)
    case 'invalid':
      return htmlPage('Not recorded', markup`<h1>Not recorded.</h1><p>${answer.problems.join(' ')}</p>`, 400)
    case 'unknown':
      return gone()
  }
}
