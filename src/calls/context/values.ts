// ctx.values and ctx.secrets: those of the session, seen from a body. A write is counted with a mark on its call: it is made once however often the body
// runs after a crash, and a body that lost its call writes nothing. A retry is another try: what it writes is written.

import { isLoss, PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { BodySecrets, SessionValues } from '../../core/session-values.ts'
import type { Writer } from '../../storage/values/write-value.ts'
import type { Around } from './call-environment.ts'
import type { Inside } from './call-environment.ts'

/** Where a write stands: the nth of this key in this try. So it does not matter which of several keys is written first. */
function writerIn({ execution, pace }: Around, what: string, inside: Inside): Writer {
  // What is asked besides the body (prepare, reconcile, cancel) has no places of its own: it is fenced, and may be made again.
  if (pace === null)
    return {
      fence() {
        inside.leaf(what)
        return execution.attached.fence()
      },
    }
  const places = new Map<string, number>()
  return {
    async write({ of, key, names, count, tells }) {
      inside.leaf(what)
      inside.entry()
      const place = (places.get(key) ?? 0) + 1
      places.set(key, place)
      return execution.tally({
        key: `${what}:${execution.retries}:${place}:${key}`,
        names,
        count,
        tells,
        ...(of === 'secret' ? { secret: true as const } : {}),
      })
    },
  }
}

/** Should the store not answer, this execution decides nothing by that: it is taken up again. */
const asking = ({ execution }: Around) =>
  async function asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (isLoss(error)) execution.end(error)
      throw error
    }
  }

export function valuesInBody(around: Around, inside: Inside): SessionValues {
  const { execution, host } = around
  const values = host.values(execution.request.position, writerIn(around, 'values', inside))
  const asked = asking(around)
  return {
    get: (...given) => asked(() => values.get(...given)),
    set: (...given) => asked(() => values.set(...given)),
    delete: (...given) => asked(() => values.delete(...given)),
    list: (...given) => asked(() => values.list(...given)),
  }
}

const prefix = 'secret:'

export function secretsInBody(around: Around, inside: Inside): BodySecrets {
  const { execution, host, tool, connections } = around
  const secrets = host.secrets(execution.request.position, writerIn(around, 'secrets', inside))
  const asked = asking(around)
  /** What the body knows now, its result must not hold. */
  const told = (value: string): string => {
    connections.tokens.push(value)
    return value
  }
  const get = async (name: string): Promise<string | undefined> => {
    if (around.over) throw new PawlError('attempt_over')
    const value = await asked(() => secrets.value(name, tool.name))
    return value === undefined ? undefined : told(value)
  }
  return {
    async set(name, value) {
      if (typeof value === 'string') told(value)
      return asked(() => secrets.set(name, value))
    },
    delete: (name) => asked(() => secrets.delete(name)),
    has: (name) => asked(() => secrets.has(name)),
    list: () => asked(() => secrets.list()),
    get,
    async resolve(reference) {
      if (typeof reference !== 'string' || !reference.startsWith(prefix))
        throw fail(`A secret is handed over by reference: ${prefix}<name>, and nothing else.`, {
          code: 'secret_reference',
          class: 'invalid_request',
        })
      const name = reference.slice(prefix.length)
      const value = await get(name).catch((error: unknown) => {
        if (error instanceof PawlError && (error.code === 'secret_name_invalid' || error.code === 'secret_reserved'))
          return undefined
        throw error
      })
      // Whether there is one that this tool may not have is not told.
      if (value === undefined)
        throw fail(`There is no secret '${shown(name)}' for this tool.`, {
          code: 'secret_unknown',
          class: 'invalid_request',
        })
      return value
    },
  }
}

/** Short and harmless enough to stand in a sentence; what is no name of a secret may be one itself. */
const shown = (name: string): string => (/^[\w.-]{1,128}$/.test(name) ? name : '…')
