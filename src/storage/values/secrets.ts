// SECRETS of one session (BOX-5): texts by name, sealed at rest whatever else is, and handed to bodies alone.

import { PawlError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'
import { mostSecrets, type SecretStat, type SessionSecrets } from '../../core/session-values.ts'
import { iterateDocuments } from '../../store/iterate-documents.ts'
import type { Store } from '../../store/store.ts'
import { counting, doneBy, namesOf, type Refused, type Row, rowIn, rowName, type Scope } from './value-rows.ts'
import { writeBy, type Writer } from './write-value.ts'

const most = { keys: mostSecrets, bytes: 1024 * 1024 }
const longest = 16 * 1024
const nameShape = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
/** Names of ours. */
const reserved = /^pawl(?:$|[_.-])/i

export interface SecretParts {
  readonly store: Store
  readonly clock: Clock
  /** Hears of every value: from then on it is shown to nobody. */
  learn(secret: string): void
}

/** The same for those who run bodies: with the value. */
export interface OpenedSecrets extends SessionSecrets {
  /** Undefined if there is none for the tool. */
  value(name: string, tool: string): Promise<string | undefined>
}

/** `writer`: how a body writes; without it the program does. */
export function openSecrets(
  { store, clock, learn }: SecretParts,
  { tenant, session }: Scope,
  writer?: Writer,
): OpenedSecrets {
  const scope = { tenant, session }
  const by = writer ? 'body' : 'host'
  const put = writeBy({ store, clock }, scope, writer)
  const stored = async (name: string): Promise<Row | undefined> => {
    const kept = await store.document(rowName('secret', scope, name))
    return kept && rowIn(kept.value)
  }
  const change = async (
    op: 'set' | 'delete',
    name: string,
    row: Omit<Row, 'v' | 'revision' | 'bytes'> | null,
  ): Promise<Row | null> => {
    const refuse = (was: Row | null): Refused | null =>
      by === 'body' && was?.by === 'host'
        ? { code: 'secret_reserved', message: `'${name}' was set by the program.` }
        : null
    const count = counting({ op, row, key: name, most, refuse, full: 'secrets_full' })
    const tells = { type: 'secret.changed', body: { name, change: op === 'set' ? 'set' : 'deleted' } } as const
    return doneBy(await put({ of: 'secret', key: name, names: namesOf('secret', scope, name), count, tells }), op, name)
  }
  return {
    async set(given, value, { tools } = {}) {
      const name = nameOf(given)
      if (typeof value !== 'string' || value === '' || value.length > longest || !value.isWellFormed())
        throw new PawlError('secret_invalid', 'Nothing of what was given is told here.')
      if (
        tools !== undefined &&
        !(Array.isArray(tools) && tools.every((each) => typeof each === 'string' && each !== ''))
      )
        throw new PawlError('config_invalid', 'tools must be a list of names of tools.')
      learn(value)
      const row = { at: clock.now(), text: value, by, ...(tools === undefined ? {} : { tools: [...tools] }) } as const
      return statOf(name, (await change('set', name, row)) as Row)
    },
    delete: async (given) => (await change('delete', nameOf(given), null)) !== null,
    has: async (given) => (await stored(nameOf(given))) !== undefined,
    async list() {
      const found: SecretStat[] = []
      for await (const { key, value } of iterateDocuments(store, { of: 'secret', ...scope }))
        found.push(statOf(key, rowIn(value)))
      return found
    },
    async value(given, tool) {
      const row = await stored(nameOf(given))
      if (!row || !(row.tools ?? [tool]).includes(tool)) return undefined
      learn(row.text)
      return row.text
    },
  }
}

/** All of a session, without handing them to anybody. */
export async function learnSecrets(
  store: Store,
  { tenant, session }: Scope,
  learn: SecretParts['learn'],
): Promise<void> {
  for await (const { value } of iterateDocuments(store, { of: 'secret', tenant, session })) learn(rowIn(value).text)
}

const statOf = (name: string, { at, by = 'host', tools }: Row): SecretStat => ({
  name,
  setAt: at,
  by,
  tools: tools ?? null,
})

function nameOf(name: unknown): string {
  if (typeof name !== 'string' || !nameShape.test(name)) throw new PawlError('secret_name_invalid')
  if (reserved.test(name)) throw new PawlError('secret_reserved', `'${name}' is a name of the runtime.`)
  return name
}
