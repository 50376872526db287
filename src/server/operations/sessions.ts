// Operations of sessions, tools and changed tool definitions.

import { toMcp } from '../../index.ts'
import type { Input } from '../routes/routes.ts'
import { type Download, found, type Operation, type OperationContext, sessionOf, without } from './context.ts'

/** The session in which a tool is looked up if the request names none. It has no tools of its own. */
const noSession = 'pawl-tools'

const listTools: Operation<'tools.list'> = ({ runtime }) => [...runtime.tools.list()]

const getTool: Operation<'tools.get'> = async (context, { tool: wanted, session = noSession }) => {
  const tools = await sessionOf(context, { session }).loadTools()
  const tool = tools.find(({ name }) => name === wanted)
  const listed = context.runtime.tools.list().find(({ name }) => name === wanted)
  const [shown] = toMcp([found(tool, 'tool')])
  const { name, description = '', inputSchema, outputSchema = null, annotations = {} } = found(shown, 'tool')
  return {
    name,
    description,
    input: { ...inputSchema },
    output: outputSchema === null ? null : { ...outputSchema },
    hints: { ...annotations },
    available: listed?.available ?? true,
  }
}

const listProviders: Operation<'providers.list'> = ({ runtime }) => [...runtime.tools.providers()]

const reconnect: Operation<'providers.reconnect'> = async ({ runtime }, { provider }) => {
  found(
    runtime.tools.providers().find(({ name }) => name === provider),
    'provider',
  )
  return { changed: await runtime.tools.reconnect(provider) }
}

const listQuarantined: Operation<'quarantine.list'> = async ({ runtime }) => [...(await runtime.quarantine.list())]

const acceptDefinition: Operation<'quarantine.accept'> = async ({ runtime, caller }, change) => {
  await runtime.quarantine.accept({ ...change, by: caller.principal })
  return { changed: true }
}

const list: Operation<'sessions.list'> = ({ runtime, caller: { tenant } }, { after, ...page }) =>
  runtime.sessions.list({ tenant, ...page, ...(after === undefined ? {} : { after: { tenant, session: after } }) })

const get: Operation<'sessions.get'> = async (context, input) => {
  const session = sessionOf(context, input)
  const [first] = await session.calls.list({ limit: 1 })
  found(first, 'session')
  const of = { tenant: session.tenant, session: session.id }
  const [open, items, usage] = await Promise.all([
    session.turns.open(),
    context.runtime.inbox({ ...of, limit: 1_000 }),
    session.usage(),
  ])
  return { ...of, openTurn: open?.id ?? null, inbox: items.length, usage }
}

const cancel: Operation<'sessions.cancel'> = async (context, input) => ({
  cancelled: await sessionOf(context, input).cancel(input.reason, context.caller.principal),
})

const end: Operation<'sessions.end'> = async (context, input) => ({
  changed: await sessionOf(context, input).end({ ...without(input, 'session'), by: context.caller.principal }),
})

async function exportSession(context: OperationContext, input: Input<'sessions.export'>): Promise<Download> {
  const { runtime, caller, clock } = context
  const { session, call, format = 'jsonl' } = input
  const request = { tenant: caller.tenant, session, now: clock.now(), ...(call === undefined ? {} : { call }) }
  const name = `${session}${call === undefined ? '' : `-${call}`}.${format}`
  if (format === 'html') {
    const [{ collectExport }, { exportHtml }] = await Promise.all([
      import('../export/collect-export.ts'),
      import('../export/export-html.ts'),
    ])
    const bundle = found(await collectExport(runtime, request), 'call')
    return { mediaType: 'text/html; charset=utf-8', name, body: exportHtml(bundle) }
  }
  const { exportJsonl } = await import('../export/export-jsonl.ts')
  const body = found(await exportJsonl(runtime, request), 'call')
  return { mediaType: 'application/jsonl', name, body }
}

const erase: Operation<'sessions.erase'> = ({ runtime, caller }, input) =>
  runtime.erase({ tenant: caller.tenant, ...input })

export const sessions = {
  'tools.list': listTools,
  'tools.get': getTool,
  'providers.list': listProviders,
  'providers.reconnect': reconnect,
  'quarantine.list': listQuarantined,
  'quarantine.accept': acceptDefinition,
  'sessions.list': list,
  'sessions.get': get,
  'sessions.cancel': cancel,
  'sessions.end': end,
  'sessions.erase': erase,
  'sessions.export': exportSession,
}
