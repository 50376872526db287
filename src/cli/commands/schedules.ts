// `pawl schedules`: schedules of a session.

import type { Run } from '../cli.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Schedule } from '../../index.ts'
import { localIso, relativeTime, stateOf, timeWithDistance } from '../output/format.ts'
import { bold, dim, green, type Output, yellow } from '../output/output.ts'
import { given, notFound, readJson } from '../read-arguments.ts'

export const schedules: Run<object> = async (cli, [session = '', id]) => {
  const { output } = cli
  const client = await cli.client()
  const listed = await client.schedules.list({ session })
  if (id !== undefined) {
    if (!listed.some((each) => each.id === id))
      throw notFound(
        'schedule',
        id,
        listed.map((each) => each.id),
      )
    const found = await client.schedules.get({ session, schedule: id, count: 5 })
    const history = await client.schedules.history({ session, schedule: id })
    output.result({ ...found, history }, () => {
      show(found.schedule, output)
      output.line()
      for (const at of found.nextTimes) output.line(dim('next  '), timeWithDistance(at))
      if (history.length > 0) output.line()
      for (const { slot, outcome, task, why } of history)
        output.line(dim('was   '), localIso(slot), '  ', outcome, dim(`  ${task ?? ''}${why ?? ''}`))
    })
    return
  }
  output.list(listed, () => {
    if (listed.length === 0) return output.note(dim(`Session ${session} has no schedules.`))
    output.table(
      [
        { title: 'SCHEDULE' },
        { title: 'TITLE', flexible: true },
        { title: 'STATE' },
        { title: 'NEXT' },
        { title: 'LAST' },
      ],
      listed.map((each) => [
        each.id,
        bold(each.title),
        stateOf(each.state),
        each.nextAt === null ? '' : relativeTime(each.nextAt),
        dim(each.lastAt === null ? 'never' : relativeTime(each.lastAt)),
      ]),
    )
  })
}

function show({ id, title, state, tool, message, cron, timezone }: Schedule, output: Output): void {
  output.line(bold(title), '  ', stateOf(state))
  output.fields([
    ['schedule', id],
    ['cron', cron === null ? null : `${cron}  (${timezone})`],
    ['tool', tool],
    ['message', message],
  ])
}

interface CreateFlags {
  readonly cron?: string
  readonly at?: string
  readonly timezone?: string
  readonly tool?: string
  readonly input?: string
  readonly message?: string
  readonly title?: string
  readonly id?: string
}

export const createSchedule: Run<CreateFlags> = async (cli, [session = ''], flags) => {
  const { cron, at, timezone, tool, input, message, title, id } = flags
  const parsed = input === undefined ? {} : { input: await readJson(input, '--input') }
  const client = await cli.client({ tools: true, create: true })
  const created = await client.schedules.create({
    session,
    ...given({ cron, at, timezone, tool, message, title, id }),
    ...parsed,
  })
  cli.output.result(created, () => {
    cli.output.line(green('✓'), ' Created ', bold(created.id))
    if (created.nextAt !== null) cli.output.line(dim('next  '), timeWithDistance(created.nextAt))
  })
}

const change =
  (method: 'pause' | 'resume', done: string): Run<object> =>
  async (cli, [session = '', schedule = '']) => {
    const client = await cli.client({ tools: method === 'resume' })
    const changed = await client.schedules[method]({ session, schedule })
    cli.output.result(changed, () => cli.output.line(green('✓'), ` ${done}`))
  }

export const pauseSchedule = change('pause', 'Paused.')
export const resumeSchedule = change('resume', 'Resumed.')

export const runSchedule: Run<object> = async (cli, [session = '', schedule = '']) => {
  const client = await cli.client({ tools: true })
  const started = await client.schedules.run({ session, schedule })
  cli.output.result(started, () =>
    cli.output.line(green('✓'), started.task === null ? ' Done.' : ` Started task ${started.task}.`),
  )
}

export const cancelSchedule: Run<object> = async (cli, [session = '', schedule = '']) => {
  const client = await cli.client()
  const { changed } = await client.schedules.cancel({ session, schedule })
  cli.output.result({ changed }, () =>
    changed
      ? cli.output.line(green('✓'), ' Removed.')
      : cli.output.problem(yellow('! '), `There is no schedule '${schedule}'.`),
  )
  return changed ? exitCodes.ok : exitCodes.notFound
}
