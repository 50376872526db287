// What has arrived since the model was last asked: words of the user, notices of the runtime, results of calls for which placeholders stand. Each goes
// into the conversation in the write that takes it off its list, so it is told exactly once.

import type { Execution } from '../../engine/engine.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import { owedName, type OwedRow, sentName, type SentRow } from '../../store/records/conversation.ts'
import { noticeName, wakeName } from '../../store/records/task-record.ts'
import { isSealedUid } from '../../store/records/sealed-uid.ts'
import { interrupted } from '../../models/conversation.ts'
import type { Message } from '../../models/message.ts'
import { notice } from '../../sessions/placeholder-result.ts'
import { iterateDocuments } from '../../store/iterate-documents.ts'
import { unlessUnreadable } from '../../store/read-or-report.ts'
import type { Change } from '../../store/store.ts'
import type { Scope, TurnHost } from '../ports.ts'
import { partsOf } from './user-message.ts'

export interface Arrival {
  readonly message: Message
  /** What goes from its list. */
  readonly rows: NonNullable<Change['documents']>
  /** The notice that has been told then. */
  readonly notice?: string
  /** It tells of what is sealed. */
  readonly secret?: true
}

/** Where what has arrived stands: what is owed and sent, and of notices those on record and those of tasks that have ended. */
const lists = [owedName, sentName, noticeName, wakeName].map((name) => name({ tenant: '', session: '' }, '').of)

const secrets = 'secret'

/** `begins`: a turn that begins reads what was meant for after the one before, too. */
export async function arrivals(
  host: TurnHost,
  execution: Execution,
  { begins, reads }: { begins: boolean; reads: boolean },
): Promise<Arrival[]> {
  const { tenant, session } = execution.request.position
  // Most often there is nothing: that is found out at one look.
  const found = await host.store.keptIn([...lists, secrets], { tenant, session })
  // Somebody may have set one since, and what has arrived may hold it.
  if (found.includes(secrets)) await host.learn({ tenant, session })
  if (!found.some((list) => list !== secrets)) return []
  return [
    ...(await results(host, execution, reads)),
    ...(await notices(host, { tenant, session })),
    ...(await sent(host, { tenant, session }, begins)).map(({ key, row: { text } }): Arrival => ({
      message: { role: 'user', parts: partsOf(text, execution, host) },
      rows: [{ ...sentName({ tenant, session }, key), value: null }],
    })),
  ]
}

/** Whether a user has said something that the open turn is to hear. */
export async function isSaid(host: TurnHost, of: Scope): Promise<boolean> {
  return (await sent(host, { tenant: of.tenant, session: of.session }, false)).length > 0
}

async function sent({ store }: TurnHost, of: Scope, begins: boolean): Promise<{ key: string; row: SentRow }[]> {
  const found: { key: string; row: SentRow }[] = []
  for await (const { key, value } of iterateDocuments(store, { of: sentName(of, '').of, ...of })) {
    const row = JSON.parse(value) as SentRow
    if (row.when !== 'after' || begins) found.push({ key, row })
  }
  return found
}

async function notices(host: TurnHost, of: Scope): Promise<Arrival[]> {
  return (await host.notices(of)).map(({ text, ...about }) => ({
    message: { role: 'notice', parts: [{ type: 'text', text }] },
    ...about,
  }))
}

async function results(
  host: TurnHost,
  { request: { position: at }, attached: beside }: Execution,
  reads: boolean,
): Promise<Arrival[]> {
  const of = { tenant: at.tenant, session: at.session }
  const found: Arrival[] = []
  for await (const { key, value } of iterateDocuments(host.store, { of: owedName(of, '').of, ...of })) {
    const { batch, id, occurrence, name, shown } = JSON.parse(value) as OwedRow
    const position: CallPosition = { ...of, batch, id, occurrence }
    const call = await unlessUnreadable(() => host.store.callAt(position))
    if (call && call.state !== 'settled') continue
    const rows = [{ ...owedName(of, key), value: null }]
    // It went on in the background: the notice of its task tells what came of it.
    if (call && (await host.noticeOf(of, call.uid))) {
      beside.keep(...rows)
      continue
    }
    // Forgotten meanwhile, or not to be opened: then nobody can tell.
    const parts = call ? await host.shown(call, reads) : interrupted
    const secret = call && isSealedUid(call.uid) ? { secret: true as const } : {}
    found.push({ message: { role: 'notice', parts: notice({ callId: shown ?? id, name, parts }) }, rows, ...secret })
  }
  return found
}
