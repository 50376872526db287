// The parts of the HTML page beside the calls: open requests to people, the conversation, tasks and schedules.

import type { InboxItem, Message, StoredMessage } from '../../index.ts'
import { type CallIds, factList, usageText } from './call-view.ts'
import { block, type Html, markup, type Insertable, time, valueBlock } from './escape-html.ts'
import type { ExportedSchedule, ExportedTask } from './export-bundle.ts'

export const inboxView = (items: readonly InboxItem[], ids: CallIds): Html | '' =>
  items.length === 0
    ? ''
    : markup`<section aria-labelledby="inbox">
        <h2 id="inbox">Waiting for a person</h2>
        ${items.map(({ title, preview, reason, args, call, askedAt, expiresAt, approvals, quorum, question }) => {
          const id = ids.get(call)
          return markup`<article class="card ask">
            <h3>${id ? markup`<a href="#${id}">${title}</a>` : title}</h3>
            <p>${question?.text ?? preview.summary}</p>
            <p class="note">
              ${reason} Asked ${time(askedAt)}, expires ${time(expiresAt)}.
              ${quorum > 1 ? `${approvals.length} of ${quorum} approvals.` : ''}
            </p>
            ${preview.details === undefined ? '' : block(preview.details)}${valueBlock(args)}
          </article>`
        })}
      </section>`

export const conversationView = (messages: readonly StoredMessage[], ids: ReadonlyMap<string, string>): Html | '' =>
  messages.length === 0
    ? ''
    : markup`<section aria-labelledby="conversation">
        <h2 id="conversation">Conversation</h2>
        <ol class="conversation">
          ${messages.map((each) => messageView(each, ids))}
        </ol>
      </section>`

const roles: Readonly<Record<Message['role'], string>> = {
  user: 'User',
  assistant: 'Model',
  tool: 'Results',
  notice: 'Notice',
  summary: 'Summary of older messages',
  frame: 'Frame',
}

function messageView(
  { number, at, message, model, usage, finish }: StoredMessage,
  ids: ReadonlyMap<string, string>,
): Html {
  const { role } = message
  const isUnusual = finish !== undefined && finish !== 'stop' && finish !== 'calls'
  return markup`<li class="message ${role}" value="${number}">
    <h3>${roles[role] ?? role}${model === undefined ? '' : markup` <span class="note">${model}</span>`}</h3>
    <p class="note">
      ${time(at)}${usage && ` · ${usageText(usage)}`}${isUnusual && ` · ended with ${finish}`}
    </p>
    ${contentView(message, ids)}
  </li>`
}

function contentView(message: Message, ids: ReadonlyMap<string, string>): Insertable {
  switch (message.role) {
    case 'summary':
      return block(message.text, 'prose')
    case 'frame':
      return markup`<p>The turn continues in frame <code>${message.frame}</code>.</p>`
    case 'tool':
      return message.results.map(
        ({ callId, name, status, parts }) =>
          markup`<div class="result">
            <p><b>${callLink(callId, name, ids)}</b> <span class="state ${status}">${status}</span></p>
            ${partsView(parts)}
          </div>`,
      )
    case 'assistant':
      return message.parts.map((part) => {
        if (part.type === 'reasoning')
          return markup`<details class="reasoning">
            <summary>Reasoning</summary>
            ${block(part.text, 'prose')}
          </details>`
        if (part.type === 'call')
          return markup`<div class="asked">
            <p>Calls <b>${callLink(part.id, part.name, ids)}</b></p>
            ${block(part.input)}
          </div>`
        return partsView([part])
      })
    default:
      return partsView(message.parts)
  }
}

/** Call ids of a model may repeat, so the link leads to the last call of that id. */
function callLink(callId: string, name: string, ids: ReadonlyMap<string, string>): Html {
  const id = ids.get(callId)
  return id ? markup`<a href="#${id}">${name}</a>` : markup`${name}`
}

/** Texts as texts; files, sources and calls of the provider as JSON, bytes left out. */
const partsView = (parts: readonly { readonly type: string }[]): Html[] =>
  parts.map((part) => {
    const { text } = part as { text?: unknown }
    return part.type === 'text' && typeof text === 'string'
      ? markup`<div class="text">${block(text, 'prose')}</div>`
      : valueBlock(part)
  })

export const tasksView = (tasks: readonly ExportedTask[], ids: CallIds): Html | '' =>
  tasks.length === 0
    ? ''
    : markup`<section aria-labelledby="tasks">
        <h2 id="tasks">Tasks</h2>
        ${tasks.map((task) => taskView(task, ids))}
      </section>`

const taskClasses: Readonly<Record<string, string>> = {
  succeeded: 'success',
  failed: 'failure',
  cancelled: 'cancelled',
  abandoned: 'unknown',
  awaiting_input: 'waiting',
}

const artifactView = ({ name, type, path, url }: ExportedTask['artifacts'][number]): Html =>
  markup`<li>${name} <span class="note">${type} ${path ?? url}</span></li>`

const taskMessageView = ({ direction, at, text, data }: ExportedTask['messages'][number]): Html =>
  markup`<li>
    <span class="note">${direction === 'in' ? 'To the task' : 'From the task'}, ${time(at)}</span>
    ${block(text, 'prose')}
    ${data === undefined ? '' : valueBlock(data)}
  </li>`

const taskEventView = ({ type, at, payload }: ExportedTask['events'][number]): Html =>
  markup`<li><code>${type}</code> <span class="note">${time(at)}</span>${valueBlock(payload)}</li>`

function taskView(task: ExportedTask, ids: CallIds): Html {
  const { id, title, tool, kind, state, status, summary, artifacts, messages, events, createdAt, finishedAt } = task
  const callId = ids.get(task.call)
  return markup`<article class="card">
    <h3>${title}</h3>
    <p><span class="state ${taskClasses[state] ?? 'open'}">${state}</span> ${status}</p>
    ${summary === null ? '' : block(summary, 'prose')}
    ${factList([
      ['Task', id],
      ['Tool', callId ? markup`<a href="#${callId}">${tool}</a>` : tool],
      ['Kind', kind],
      ['Started', time(createdAt)],
      ['Ended', finishedAt !== null && time(finishedAt)],
      ['Asks', task.inputRequest?.prompt],
    ])}
    ${
      artifacts.length === 0
        ? ''
        : markup`<h4>Artifacts</h4>
            <ul>
              ${artifacts.map(artifactView)}
            </ul>`
    }
    ${
      messages.length === 0
        ? ''
        : markup`<h4>Messages</h4>
            <ul class="lines">
              ${messages.map(taskMessageView)}
            </ul>`
    }
    ${
      events.length === 0
        ? ''
        : markup`<h4>Events</h4>
            <ul class="lines">
              ${events.map(taskEventView)}
            </ul>`
    }
  </article>`
}

export const schedulesView = (schedules: readonly ExportedSchedule[]): Html | '' =>
  schedules.length === 0
    ? ''
    : markup`<section aria-labelledby="schedules">
        <h2 id="schedules">Schedules</h2>
        ${schedules.map(
          ({ id, title, state, tool, message, cron, at, timezone, nextAt, lastAt, runs }) =>
            markup`<article class="card">
              <h3>${title}</h3>
              ${factList([
                ['Schedule', id],
                ['State', state],
                ['When', cron === null ? at !== null && time(at) : markup`<code>${cron}</code> ${timezone}`],
                ['Starts', tool],
                ['Message', message],
                ['Next', nextAt !== null && time(nextAt)],
                ['Last', lastAt !== null && time(lastAt)],
                ['Runs', runs],
              ])}
            </article>`,
        )}
      </section>`
