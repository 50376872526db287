// The commands `pawl inbox, approve, deny, answer` and `sessions cancel` as a door for the attacks on approvals, in this
// process: on a local store, or on a server. What no command line can say is the library's.

import { Writable } from 'node:stream'
import type { DecideAnswer, InboxItem, InboxQuery } from 'pawl'
import { createClient } from 'pawl/client'
import { createServer } from 'pawl/server'
import { expect } from 'vitest'
import { Cli, type Run } from '../../../src/cli/cli.ts'
import { type ExitCode, exitCodeOfError } from '../../../src/cli/exit-codes.ts'
import { localClient } from '../../../src/cli/local-client.ts'
import { Output } from '../../../src/cli/output/output.ts'
import { buildProgram, isCommanderError } from '../../../src/cli/program.ts'
import { type GlobalFlags, readSettings } from '../../../src/cli/settings.ts'
import type { Client } from '../../../src/client/client-types.ts'
import { type LibraryDoor, libraryDoor, type Place } from '../../approvals/attacks/library-target.ts'

export type Where = 'local store' | 'server'

interface Ran {
  readonly code: number
  /** The JSON on stdout; undefined if the command printed none. */
  readonly printed: unknown
}

export interface CliDoor extends LibraryDoor {
  /** Decisions that a command line made. */
  readonly decided: number
}

export function cliDoor(place: Place, where: Where): CliDoor {
  const library = libraryDoor(place)
  const tenants = new Set(['acme'])
  const clientOf = (tenant: string, principal: string): Promise<Client> =>
    where === 'server' ? clientOfServer(library, place, tenant, principal) : clientOfStore(library, tenant, principal)

  /** A run of `pawl` without its process: command line, settings, command, output and exit code are its own. */
  async function pawl(...argv: string[]): Promise<Ran> {
    let text = ''
    const stdout = new Writable({ write: (part, _, done) => ((text += String(part)), done()) })
    const stderr = new Writable({ write: (_part, _encoding, done) => done() })
    const start = async (run: Run<never>, args: readonly string[], flags: GlobalFlags): Promise<ExitCode> => {
      const settings = await readSettings(flags, {}, '/')
      const output = new Output({ format: 'json', quiet: false, stdout, stderr })
      const signal = new AbortController().signal
      const cli = new Cli({ output, settings: async () => settings, signal, interactive: false })
      cli.client = () => clientOf(settings.tenant.value, settings.principal.value)
      return (await run(cli, args, flags as never)) ?? 0
    }
    let code: number = 0
    const program = buildProgram(async (...command) => void (code = await start(...command)), 'test')
    for (const each of [program, ...program.commands]) each.configureOutput({ writeErr() {} })
    try {
      await program.parseAsync(argv, { from: 'user' })
    } catch (error) {
      code = isCommanderError(error) ? 2 : exitCodeOfError(error)
    }
    return { code, printed: text === '' ? undefined : JSON.parse(text) }
  }

  async function inboxOf(tenant: string, { session, kind }: InboxQuery): Promise<InboxItem[]> {
    const flags = [...(session === undefined ? [] : [`--session=${session}`]), ...(kind ? [`--kind=${kind}`] : [])]
    const { code, printed } = await pawl('inbox', `--tenant=${tenant}`, ...flags)
    expect(code).toBe(0)
    return printed as InboxItem[]
  }

  let decided = 0
  async function decide(id: string, decision: unknown): Promise<DecideAnswer> {
    const argv = commandLineOf(decision)
    // The commands accept the beginning of an id: that names the item, and is no forged id.
    const isBeginning = typeof id === 'string' && (await begins(id))
    if (typeof id !== 'string' || argv === null || isBeginning) return library.decide(id, decision)
    decided += 1
    const [command = '', ...flags] = argv.flags
    const { code, printed } = await pawl(command, ...flags, '--', id, ...argv.words)
    if (printed === undefined) {
      expect([2, 3, 4]).toContain(code)
      return code === 3 ? { answer: 'unknown' } : { answer: 'invalid', problems: ['It is a wrong command line.'] }
    }
    const answer = printed as DecideAnswer
    expect(code, JSON.stringify(answer)).toBe(expectedCode(answer))
    return answer
  }

  async function begins(text: string): Promise<boolean> {
    const items = (await Promise.all([...tenants].map((tenant) => library.inbox({ tenant })))).flat()
    return items.some(({ id }) => id !== text && id.startsWith(text.toLowerCase()))
  }

  return {
    ran: library.ran,
    secret: library.secret,
    start: library.start,
    rest: library.rest,
    crash: library.crash,
    close: library.close,
    submit: library.submit,
    supersede: library.supersede,
    answer: library.answer,
    resolve: library.resolve,
    rules: library.rules,
    revoke: library.revoke,
    advance: library.advance,
    stolen: library.stolen,
    get runtime() {
      return library.runtime
    },
    get decided() {
      return decided
    },
    ask(call, who = {}) {
      tenants.add(who.tenant ?? 'acme')
      return library.ask(call, who)
    },
    async inbox(query = {}) {
      const { tenant, ...rest } = query
      if (Object.keys(rest).some((name) => name !== 'session' && name !== 'kind')) return library.inbox(query)
      const found = await Promise.all(
        (tenant === undefined ? [...tenants] : [tenant]).map((each) => inboxOf(each, rest)),
      )
      return found.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    decide,
    async cancel({ tenant = 'acme', session = 'chat', ...who } = {}) {
      if (Object.keys(who).length > 0) return library.cancel({ tenant, session, ...who })
      const { printed } = await pawl('sessions', 'cancel', `--tenant=${tenant}`, '--reason=never mind', '--', session)
      return (printed as { cancelled: number }).cancelled
    },
  }
}

const clientOfStore = ({ runtime }: LibraryDoor, tenant: string, principal: string): Promise<Client> =>
  localClient({ runtime, tenant, principal, turnDefaults: {}, signal: new AbortController().signal })

/** The token is the identity, so that every person of an attack has one. */
async function clientOfServer(
  { runtime }: LibraryDoor,
  { clock }: Place,
  tenant: string,
  principal: string,
): Promise<Client> {
  const server = createServer(runtime, {
    clock,
    limits: { requestsPerSecond: 1e9, refusalsPerMinute: 1e9 },
    authenticate: ({ headers }) => {
      const text = Buffer.from((headers.get('authorization') ?? '').slice('Bearer '.length), 'base64url').toString()
      return { ...(JSON.parse(text) as { tenant: string; principal: string }), roles: ['approver', 'operator'] }
    },
  })
  const token = Buffer.from(JSON.stringify({ tenant, principal })).toString('base64url')
  const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    server.fetch(new Request(input, init))
  return createClient({ url: 'http://localhost', token, fetch })
}

/** The command with its flags, and the words after the id; null if no command line says this. */
function commandLineOf(decision: unknown): { readonly flags: string[]; readonly words: string[] } | null {
  let given: Record<string, unknown>
  try {
    given = JSON.parse(JSON.stringify(decision) ?? 'null') as typeof given
  } catch {
    return null
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null
  const { by, tenant = 'acme', reason, remember, fingerprint, approve, deny, edit, answer, ...rest } = given
  const texts = [by, tenant, ...[reason, fingerprint].filter((text) => text !== undefined)]
  if (Object.keys(rest).length > 0 || !texts.every((text) => typeof text === 'string')) return null
  const verb = [approve ?? (edit === undefined ? undefined : true), deny, answer === undefined ? undefined : true]
  if (verb.filter((each) => each !== undefined).length !== 1 || !verb.includes(true)) return null
  if (deny !== undefined && edit !== undefined) return null
  const remembered = remember === undefined ? [] : flagsOf(remember)
  if (remembered === null || (remember !== undefined && approve === undefined)) return null
  const command = deny ? 'deny' : answer === undefined ? 'approve' : 'answer'
  if (command === 'answer' && fingerprint !== undefined) return null
  const flags = [
    command,
    ...flag('as', by),
    ...flag('tenant', tenant),
    ...flag('reason', reason),
    ...flag('fingerprint', fingerprint),
    ...flag('edit', edit === undefined ? undefined : JSON.stringify(edit)),
    ...remembered,
  ]
  return { flags, words: command === 'answer' ? [JSON.stringify(answer)] : [] }
}

const flag = (name: string, value: unknown): string[] => (value === undefined ? [] : [`--${name}=${value as string}`])

function flagsOf(remember: unknown): string[] | null {
  if (remember === true) return ['--remember=session']
  if (typeof remember !== 'object' || remember === null) return null
  const { scope = 'session', for: time, ...rest } = remember as Record<string, unknown>
  if (Object.keys(rest).length > 0 || typeof scope !== 'string' || !['string', 'undefined'].includes(typeof time))
    return null
  return [...flag('remember', scope), ...flag('for', time)]
}

/** The table of exit codes in docs/reference/cli.md. */
function expectedCode(answer: DecideAnswer): number {
  if (answer.answer === 'refused') return answer.why === 'fingerprint_mismatch' ? 6 : 4
  return { accepted: 0, already_decided: 6, invalid: 2, unknown: 3 }[answer.answer]
}
