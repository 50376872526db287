// `pawl prune`: deletes calls that settled long ago.

import type { Run } from '../cli.ts'
import { requireConfirmation } from '../confirm.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import { count } from '../output/format.ts'
import { dim, green } from '../output/output.ts'
import { readCount, readDuration } from '../read-arguments.ts'

interface PruneFlags {
  readonly olderThan?: string
  readonly limit?: string
  readonly yes?: boolean
}

/** Calls per request, so that progress shows and Ctrl-C ends between two of them. */
const portion = 1_000

export const prune: Run<PruneFlags> = async (cli, _, { olderThan: text, limit, yes }) => {
  const { output, signal } = cli
  if (text === undefined) throw new CliError(exitCodes.usage, 'Say what is old: pawl prune --older-than 30d')
  const olderThan = readDuration(text, '--older-than')
  const most = limit === undefined ? Infinity : readCount(limit, '--limit', 1, 1_000_000)
  await requireConfirmation(cli, yes, `Delete all calls that settled more than ${text} ago, with all their data?`)
  const client = await cli.client()
  const sum = { calls: 0, events: 0, attachments: 0, more: true }
  while (sum.more && sum.calls < most && !signal.aborted) {
    const part = await client.store.prune({ olderThan, limit: Math.min(portion, most - sum.calls) })
    for (const name of ['calls', 'events', 'attachments'] as const) sum[name] += part[name]
    sum.more = part.more
    if (sum.more) output.note(dim(`${count(sum.calls, 'call')} deleted …`))
  }
  output.result(sum, () =>
    output.line(
      green('✓'),
      ` Deleted ${count(sum.calls, 'call')}, ${count(sum.events, 'event')}, ${count(sum.attachments, 'attachment')}.`,
    ),
  )
}
