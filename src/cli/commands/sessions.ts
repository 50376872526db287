// `pawl sessions`: the sessions, one of them with its last calls, and what ends them.

import type { Run } from '../cli.ts'
import { requireConfirmation } from '../confirm.ts'
import { count, inline, problemOf, relativeTime, stateOf } from '../output/format.ts'
import { bold, dim, green, type Piece, yellow } from '../output/output.ts'
import { given, notFound, readCount } from '../read-arguments.ts'

interface SessionsFlags {
  readonly limit?: string
}

export const sessions: Run<SessionsFlags> = async (cli, [id], { limit }) => {
  const { output } = cli
  const client = await cli.client()
  if (id !== undefined) {
    const calls = await client.calls.list({ session: id, limit: 1_000 })
    if (calls.length === 0)
      throw notFound(
        'session',
        id,
        (await client.sessions.list({ limit: 1_000 })).map((each) => each.session),
      )
    const shown = await client.sessions.get({ session: id })
    const last = calls.slice(-readCount(limit, '--limit', 20))
    output.result({ ...shown, calls: last }, () => {
      const { inputTokens, outputTokens, cost } = shown.usage.total
      output.fields([
        ['session', bold(shown.session)],
        ['tenant', shown.tenant === 'default' ? null : shown.tenant],
        ['open turn', shown.openTurn],
        ['inbox', shown.inbox === 0 ? null : yellow(count(shown.inbox, 'item'))],
        ['tokens', inputTokens + outputTokens === 0 ? null : `${inputTokens} in, ${outputTokens} out`],
        ['cost', cost === null || cost === 0 ? null : cost],
      ])
      output.line()
      output.table(
        [
          { title: 'CALL' },
          { title: 'TOOL' },
          { title: 'STATE' },
          { title: 'RESULT', flexible: true },
          { title: 'WHEN' },
        ],
        last.map(({ uid, name, state, outcome, createdAt }) => [
          dim(uid),
          bold(name),
          stateOf(outcome?.status ?? state),
          resultOf(outcome),
          dim(relativeTime(createdAt)),
        ]),
      )
    })
    return
  }
  const listed = await client.sessions.list({ limit: readCount(limit, '--limit', 50) })
  output.list(listed, () => {
    if (listed.length === 0) return output.note(dim('There are no sessions yet.'))
    output.table(
      [{ title: 'SESSION', flexible: true }, { title: 'LAST CALL' }],
      listed.map(({ session, lastCallAt }) => [bold(session), dim(relativeTime(lastCallAt))]),
    )
    output.note()
    output.note(dim(`${count(listed.length, 'session')}. One with its calls: pawl sessions <session>`))
  })
}

function resultOf(outcome: { readonly status: string } | null): Piece {
  if (outcome === null) return ''
  const ended = outcome as Parameters<typeof problemOf>[0] & { readonly value?: unknown }
  return ended.status === 'success' ? inline(ended.value) : problemOf(ended)
}

export const cancelSession: Run<{ reason?: string }> = async (cli, [session = ''], { reason }) => {
  const client = await cli.client()
  const ended = await client.sessions.cancel({ session, ...given({ reason }) })
  cli.output.result(ended, () => cli.output.line(green('✓'), ` Cancelled ${count(ended.cancelled, 'call')}.`))
}

export const endSession: Run<{ tasks?: 'cancel' | 'abandon' }> = async (cli, [session = ''], { tasks }) => {
  const client = await cli.client()
  const ended = await client.sessions.end({ session, ...given({ tasks }) })
  cli.output.result(ended, () =>
    cli.output.line(ended.changed ? green('✓') : dim('·'), ended.changed ? ' Ended.' : ' It had ended already.'),
  )
}

export const eraseSession: Run<{ yes?: boolean; cancel?: boolean }> = async (cli, [session = ''], { yes, cancel }) => {
  await requireConfirmation(cli, yes, `Erase everything that is recorded of session '${session}'?`)
  const client = await cli.client()
  const erased = await client.sessions.erase({ session, ...(cancel ? { open: 'cancel' } : {}) })
  cli.output.result(erased, () => {
    cli.output.line(
      green('✓'),
      ` Erased ${count(erased.calls, 'call')}, ${count(erased.events, 'event')}, ${count(erased.attachments, 'attachment')}.`,
    )
    if (erased.traces) cli.output.note(dim('Erased bytes may remain in unused parts of the disk for a while.'))
  })
}
