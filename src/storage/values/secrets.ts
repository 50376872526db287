// The secrets of one session: strings by name, always sealed at rest, readable only by tool bodies.

import { checkOptions, option } from '../../core/check-options.ts'
import { PawlError } from '../../core/errors.ts'
import { maxSecrets, type SecretStat, type SessionSecrets } from '../../core/session-values-interface.ts'
import type { Scope } from '../../core/scope.ts'
import { planWrite, readMark, documentNames, type Refusal, type Row, parseRow, rowName } from './value-rows.ts'
import type { Foundation } from '../../engine/foundation.ts'
import { writerFor, type Writer } from './write-value.ts'
import { collections } from '../../store/collections.ts'

const quota = { keys: maxSecrets, bytes: 1024 * 1024 }
const setOptions = { tools: option.listOf(option.nonEmptyString) }
const maxSecretLength = 16 * 1024
const nameShape = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
/** Names reserved for the runtime. */
const reserved = /^pawl(?:$|[_.-])/i

/** The redactor learns every secret that is set or read, so that it is removed from all output. */
export type SecretParts = Pick<Foundation, 'store' | 'clock' | 'knownSecrets'>

/** Secrets as tool bodies get them: with read access. */
export interface OpenedSecrets extends SessionSecrets {
  /** Undefined if there is no secret with this name that the tool may read. */
  value(name: string, tool: string): Promise<string | undefined>
}

/** `writer`: set if a body writes; without it the host program does. */
export function openSecrets(
  { store, clock, knownSecrets }: SecretParts,
  { tenant, session }: Scope,
  writer?: Writer,
): OpenedSecrets {
  const scope = { tenant, session }
  const by = writer ? 'body' : 'host'
  const write = writerFor({ store, clock }, scope, writer)
  const readRow = async (name: string): Promise<Row | undefined> => {
    const stored = await store.document(rowName('secret', scope, name))
    return stored && parseRow(stored.value)
  }
  const change = async (
    op: 'set' | 'delete',
    name: string,
    row: Omit<Row, 'v' | 'revision' | 'bytes'> | null,
  ): Promise<Row | null> => {
    const refuse = (was: Row | null): Refusal | null =>
      by === 'body' && was?.by === 'host'
        ? { code: 'secret_reserved', message: `'${name}' was set by the program.` }
        : null
    const count = planWrite({ op, row, key: name, most: quota, refuse, full: 'secrets_full' })
    const event = { type: 'secret.changed', body: { name, change: op === 'set' ? 'set' : 'deleted' } } as const
    const names = documentNames('secret', scope, name)
    return readMark(await write({ kind: 'secret', key: name, names, count, event }), op, name)
  }
  return {
    async set(given, value, options) {
      const name = checkName(given)
      checkOptions(options, setOptions, 'secrets.set()')
      const tools = options?.tools
      if (typeof value !== 'string' || value === '' || value.length > maxSecretLength || !value.isWellFormed())
        throw new PawlError('secret_invalid', 'The value is not included in this message.')
      knownSecrets.learn(scope, value)
      const row = { at: clock.now(), text: value, by, ...(tools === undefined ? {} : { tools: [...tools] }) } as const
      return statOf(name, (await change('set', name, row)) as Row)
    },
    delete: async (given) => (await change('delete', checkName(given), null)) !== null,
    has: async (given) => (await readRow(checkName(given))) !== undefined,
    async list() {
      const found: SecretStat[] = []
      for await (const { key, value } of collections.secret.iterate(store, scope))
        found.push(statOf(key, parseRow(value)))
      return found
    },
    async value(given, tool) {
      const row = await readRow(checkName(given))
      if (!row || !(row.tools ?? [tool]).includes(tool)) return undefined
      knownSecrets.learn(scope, row.text)
      return row.text
    },
  }
}

const statOf = (name: string, { at, by = 'host', tools }: Row): SecretStat => ({
  name,
  setAt: at,
  by,
  tools: tools ?? null,
})

function checkName(name: unknown): string {
  if (typeof name !== 'string' || !nameShape.test(name)) throw new PawlError('secret_name_invalid')
  if (reserved.test(name)) throw new PawlError('secret_reserved', `The name '${name}' is reserved for the runtime.`)
  return name
}
