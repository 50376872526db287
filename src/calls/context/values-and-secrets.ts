// ctx.values and ctx.secrets. Each write is journaled with its call: it happens once even if the body is rerun after a
// crash, and not at all if the worker has lost the call. A retry is a new attempt and writes again.

import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { Writer } from '../../storage/values/write-value.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'
import { stepKeys } from '../../store/journal-keys.ts'

/** A write is identified by its key and by its number for this key, so different keys may be written in any order. */
function createWriter(context: CallEnvironment, what: 'values' | 'secrets'): Writer {
  const { execution, control } = context
  // prepare, reconcile and cancel have no journal: their writes are only fenced, and may be repeated.
  if (control === null)
    return {
      fence() {
        context.assertUsable(what)
        return execution.attached.fence()
      },
    }
  const writesByKey = new Map<string, number>()
  return {
    async write({ kind, key, names, count, event: tells }) {
      context.assertUsable(what)
      context.countEntry()
      const number = (writesByKey.get(key) ?? 0) + 1
      writesByKey.set(key, number)
      return execution.updateCounters({
        key: stepKeys.valueWrite(what, execution.retries, number, key),
        names,
        count,
        event: tells,
        ...(kind === 'secret' ? { secret: true as const } : {}),
      })
    },
  }
}

export function sessionValues(context: CallEnvironment): Pick<ToolContext, 'values'> {
  const { execution, host } = context
  const values = host.storage.values(execution.request.position, createWriter(context, 'values'))
  return {
    values: {
      get: (...given) => context.endOnLoss(() => values.get(...given)),
      set: (...given) => context.endOnLoss(() => values.set(...given)),
      delete: (...given) => context.endOnLoss(() => values.delete(...given)),
      list: (...given) => context.endOnLoss(() => values.list(...given)),
    },
  }
}

const prefix = 'secret:'

export function sessionSecrets(context: CallEnvironment): Pick<ToolContext, 'secrets'> {
  const { execution, host, tool, connections } = context
  const secrets = host.storage.secrets(execution.request.position, createWriter(context, 'secrets'))
  /** Redacts the secret from the result of the body. */
  const rememberSecret = (value: string): string => {
    connections.tokens.push(value)
    return value
  }
  const get = async (name: string): Promise<string | undefined> => {
    if (context.ended) throw new PawlError('attempt_over')
    const value = await context.endOnLoss(() => secrets.value(name, tool.name))
    return value === undefined ? undefined : rememberSecret(value)
  }
  return {
    secrets: {
      async set(name, value) {
        if (typeof value === 'string') rememberSecret(value)
        return context.endOnLoss(() => secrets.set(name, value))
      },
      delete: (name) => context.endOnLoss(() => secrets.delete(name)),
      has: (name) => context.endOnLoss(() => secrets.has(name)),
      list: () => context.endOnLoss(() => secrets.list()),
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
        // The message does not reveal whether a secret exists that this tool must not read.
        if (value === undefined)
          throw fail(`There is no secret '${shownName(name)}' for this tool.`, {
            code: 'secret_unknown',
            class: 'invalid_request',
          })
        return value
      },
    },
  }
}

/** The name if it is valid. An invalid name may itself be a secret, so it is not shown. */
const shownName = (name: string): string => (/^[\w.-]{1,128}$/.test(name) ? name : '…')
