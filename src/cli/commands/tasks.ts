// `pawl tasks`: background tasks of a session.

import type { Client } from '../../client/client-types.ts'
import type { Run } from '../cli.ts'
import { exitCodeOfOutcome, exitCodes } from '../exit-codes.ts'
import type { Task } from '../../index.ts'
import { count, indented, problemOf, relativeTime, stateOf, timeWithDistance } from '../output/format.ts'
import { bold, dim, green, type Output, type Piece, red, yellow } from '../output/output.ts'
import { progressBar } from '../progress-bar.ts'
import { given, notFound, readDuration, readJson, textOrStdin } from '../read-arguments.ts'

interface TasksFlags {
  readonly state?: string
  readonly wait?: string
}

type State = NonNullable<Parameters<Client['tasks']['list']>[0]['state']>

export const tasks: Run<TasksFlags> = async (cli, [session = '', id], { state, wait }) => {
  const { output } = cli
  const client = await cli.client()
  if (id !== undefined) {
    const task = await client.tasks
      .get({ session, task: id, ...(wait === undefined ? {} : { wait: readDuration(wait, '--wait') }) })
      .catch(async (error: unknown) => {
        if ((error as { code?: string }).code !== 'not_found') throw error
        throw notFound(
          'task',
          id,
          (await client.tasks.list({ session })).map((each) => each.id),
        )
      })
    output.result(task, () => show(task, output))
    if (wait === undefined) return
    return exitCodeOfOutcome(task.outcome ?? { status: task.state === 'awaiting_input' ? 'waiting' : 'open' })
  }
  const listed = await client.tasks.list({ session, limit: 500, ...given({ state: state as State | undefined }) })
  output.list(listed, () => {
    if (listed.length === 0) return output.note(dim(`Session ${session} has no such tasks.`))
    output.table(
      [{ title: 'TASK' }, { title: 'TITLE' }, { title: 'STATE' }, { title: 'NOW', flexible: true }, { title: 'BEGAN' }],
      listed.map((task) => [
        task.id,
        bold(task.title),
        stateOf(task.state),
        nowOf(task),
        dim(relativeTime(task.createdAt)),
      ]),
    )
  })
}

function nowOf({ progress, status, summary, inputRequest }: Task): Piece {
  if (inputRequest) return yellow(inputRequest.prompt)
  if (summary !== null) return summary
  return [...(progress ? [progressBar(progress), ' '] : []), status ?? '']
}

function show(task: Task, output: Output): void {
  output.line(bold(task.title), '  ', stateOf(task.state))
  output.fields([
    ['task', task.id],
    ['tool', task.tool],
    ['now', task.outcome === null ? nowOf(task) : null],
    ['attempt', task.attempt],
    ['created', timeWithDistance(task.createdAt)],
    ['started', task.startedAt === null ? null : timeWithDistance(task.startedAt)],
    ['finished', task.finishedAt === null ? null : timeWithDistance(task.finishedAt)],
    ['log', task.logPath],
    ['result', task.resultPath],
    ['call', task.call],
  ])
  if (task.outcome === null) return
  output.line()
  if (task.outcome.status === 'success') output.block(indented(task.outcome.value))
  else output.line(red('✗'), ' ', problemOf(task.outcome))
}

export const startTask: Run<{ title?: string; id?: string }> = async (cli, [session = '', tool = '', text], flags) => {
  const input = text === undefined ? {} : await readJson(text, 'The input')
  const client = await cli.client({ tools: true, create: true })
  const task = await client.tasks.start({ session, tool, input, ...given({ title: flags.title, id: flags.id }) })
  cli.output.result(task, () => {
    cli.output.line(green('✓'), ' Started ', bold(task.id))
    cli.output.note(dim(`Watch it: pawl tail ${session}    Wait for it: pawl tasks ${session} ${task.id} --wait 5m`))
  })
}

export const cancelTask: Run<{ reason?: string }> = async (cli, [session = '', task = ''], { reason }) => {
  const client = await cli.client()
  const { changed } = await client.tasks.cancel({ session, task, ...given({ reason }) })
  cli.output.result({ changed }, () =>
    changed ? cli.output.line(green('✓'), ' Cancelled.') : cli.output.problem(yellow('! '), 'It had ended already.'),
  )
  return changed ? exitCodes.ok : exitCodes.conflict
}

export const messageTask: Run<{ replyTo?: string }> = async (
  cli,
  [session = '', task = '', text = ''],
  { replyTo },
) => {
  const client = await cli.client()
  const message = { text: await textOrStdin(text), ...given({ inReplyTo: replyTo }) }
  const sent = await client.tasks.message({ session, task, ...message })
  cli.output.result(sent, () => cli.output.line(green('✓'), ` Sent ${count(sent.text.length, 'character')}.`))
}
