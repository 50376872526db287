// `pawl approve`, `pawl deny` and `pawl answer`: a person's decision, bound to the fingerprint of what was shown.

import type { Client } from '../../client/client-types.ts'
import { isName } from '../../core/ids.ts'
import type { DecideAnswer, InboxItem } from '../../index.ts'
import type { Cli, Run } from '../cli.ts'
import { CliError, type ExitCode, exitCodeOfAnswer, exitCodeOfError, exitCodes } from '../exit-codes.ts'
import { allItems, findOpenItem, noOpenItem } from '../find-item.ts'
import { dim } from '../output/output.ts'
import { answerOf, given, readDuration, readJson, textOrStdin } from '../read-arguments.ts'
import { type Decision, showAnswer } from '../show-answer.ts'

interface DecisionFlags {
  readonly reason?: string
  readonly fingerprint?: string
}

interface ApproveFlags extends DecisionFlags {
  readonly edit?: string
  readonly remember?: 'session' | 'principal' | 'tenant'
  readonly for?: string
  readonly session?: string
}

export const approve: Run<ApproveFlags> = async (cli, [id], flags) => {
  const { edit, reason, remember, session } = flags
  if (id === undefined) return decideOneByOne(cli, session)
  if (flags.for !== undefined && remember === undefined)
    throw new CliError(exitCodes.usage, '--for needs --remember: it says how long to remember.')
  const forTime = flags.for === undefined ? {} : { for: readDuration(flags.for, '--for') }
  const decision: Decision = {
    ...(edit === undefined ? { approve: true } : { edit: await readJson(edit, '--edit') }),
    ...(remember === undefined ? {} : { remember: { scope: remember, ...forTime } }),
    ...given({ reason }),
  }
  // Edited arguments are checked against the schema of the tool.
  return decideById(cli, id, decision, flags.fingerprint, edit !== undefined)
}

export const deny: Run<DecisionFlags> = (cli, [id = ''], { reason, fingerprint }) =>
  decideById(cli, id, { deny: true, ...given({ reason }) }, fingerprint, false)

export const answer: Run<DecisionFlags> = async (cli, [id = '', words = ''], { reason }) => {
  const text = await textOrStdin(words)
  const decision = (item?: InboxItem): Decision => ({
    answer: item ? answerOf(text, item) : text,
    ...given({ reason }),
  })
  return decideById(cli, id, decision, undefined, true)
}

async function decideById(
  cli: Cli,
  id: string,
  decision: Decision | ((item?: InboxItem) => Decision),
  fingerprint: string | undefined,
  tools: boolean,
): Promise<ExitCode> {
  const client = await cli.client({ tools })
  const item = await findOpenItem(client, id)
  const decided = typeof decision === 'function' ? decision(item) : decision
  const unattended = await hasNoWorker(cli, client)
  const answered = item
    ? // Without the flag the decision is for what the item is now: the person named it.
      await client.inbox.decide({ item: item.id, ...decided, fingerprint: fingerprint ?? item.fingerprint })
    : await decideClosedItem(client, id, decided)
  cli.output.result(answered, () => showAnswer(answered, item ?? { tool: '' }, cli.output))
  if (answered.answer === 'accepted' && unattended) noteMissingWorker(cli)
  return exitCodeOfAnswer(answered)
}

/** Someone may have decided first: the answer says who. Nothing was shown, so no fingerprint can match. */
async function decideClosedItem(client: Client, id: string, decision: Decision): Promise<DecideAnswer> {
  if (!isName(id)) throw noOpenItem(id)
  try {
    const answered = await client.inbox.decide({ item: id, ...decision, fingerprint: 'none' })
    if (answered.answer !== 'unknown') return answered
  } catch (error) {
    if (exitCodeOfError(error) !== exitCodes.notFound) throw error
  }
  throw noOpenItem(id)
}

/** Whether only this process, which runs nothing, has the local store open. A server has its own worker. */
async function hasNoWorker(cli: Cli, client: Client): Promise<boolean> {
  const { remote } = await cli.settings()
  if (remote !== null || cli.output.quiet || cli.output.format !== 'human') return false
  return (await client.workers.list({})).length <= 1
}

const noteMissingWorker = ({ output }: Cli): void =>
  output.note(
    dim('  No worker runs now. The call continues when its MCP gateway, `pawl serve` or `pawl worker` starts.'),
  )

async function decideOneByOne(cli: Cli, session: string | undefined): Promise<ExitCode | void> {
  if (!cli.interactive)
    throw new CliError(
      exitCodes.usage,
      'Without an id, `pawl approve` asks in a terminal. Name the item: pawl approve <id>. `pawl inbox` lists them.',
    )
  const client = await cli.client({ tools: true })
  const items = await allItems(client, given({ session }))
  if (items.length === 0) return cli.output.note(dim('Nothing waits for a person.'))
  const { decideInteractively } = await import('../decide-interactively.ts')
  const unattended = await hasNoWorker(cli, client)
  const end = await decideInteractively(cli, client, items)
  if (unattended) noteMissingWorker(cli)
  return end
}
