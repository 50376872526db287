// ctx.values and ctx.secrets. Each write is journaled with its call: it happens once even if the body is rerun after a
// crash, and not at all if the worker has lost the call. A retry is a new attempt and writes again.

import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { BodySecrets, SessionValues } from '../../core/session-values-interface.ts'
import type { Writer } from '../../storage/values/write-value.ts'
import type { CallEnvironment, ContextRules } from './context-dependencies.ts'

/** A write is identified by its key and by its number for this key, so different keys may be written in any order. */
function createWriter({ execution, control }: CallEnvironment, what: string, rules: ContextRules): Writer {
  // prepare, reconcile and cancel have no journal: their writes are only fenced, and may be repeated.
  if (control === null)
    return {
      fence() {
        rules.assertUsable(what)
        return execution.attached.fence()
      },
    }
  const writesByKey = new Map<string, number>()
  return {
    async write({ of, key, names, count, event: tells }) {
      rules.assertUsable(what)
      rules.countEntry()
      const number = (writesByKey.get(key) ?? 0) + 1
      writesByKey.set(key, number)
      return execution.updateCounters({
        key: `${what}:${execution.retries}:${number}:${key}`,
        names,
        count,
        event: tells,
        ...(of === 'secret' ? { secret: true as const } : {}),
      })
    },
  }
}

/** If the store or the lease is lost, the execution ends without an outcome and the call is claimed again. */
const endingOnLoss = ({ execution }: CallEnvironment) =>
  async function endOnLoss<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) execution.end(error)
      throw error
    }
  }

export function contextValues(environment: CallEnvironment, rules: ContextRules): SessionValues {
  const { execution, host } = environment
  const values = host.values(execution.request.position, createWriter(environment, 'values', rules))
  const endOnLoss = endingOnLoss(environment)
  return {
    get: (...given) => endOnLoss(() => values.get(...given)),
    set: (...given) => endOnLoss(() => values.set(...given)),
    delete: (...given) => endOnLoss(() => values.delete(...given)),
    list: (...given) => endOnLoss(() => values.list(...given)),
  }
}

const prefix = 'secret:'

export function contextSecrets(environment: CallEnvironment, rules: ContextRules): BodySecrets {
  const { execution, host, tool, connections } = environment
  const secrets = host.secrets(execution.request.position, createWriter(environment, 'secrets', rules))
  const endOnLoss = endingOnLoss(environment)
  /** Redacts the secret from the result of the body. */
  const rememberSecret = (value: string): string => {
    connections.tokens.push(value)
    return value
  }
  const get = async (name: string): Promise<string | undefined> => {
    if (environment.ended) throw new PawlError('attempt_over')
    const value = await endOnLoss(() => secrets.value(name, tool.name))
    return value === undefined ? undefined : rememberSecret(value)
  }
  return {
    async set(name, value) {
      if (typeof value === 'string') rememberSecret(value)
      return endOnLoss(() => secrets.set(name, value))
    },
    delete: (name) => endOnLoss(() => secrets.delete(name)),
    has: (name) => endOnLoss(() => secrets.has(name)),
    list: () => endOnLoss(() => secrets.list()),
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
  }
}

/** The name if it is valid. An invalid name may itself be a secret, so it is not shown. */
const shownName = (name: string): string => (/^[\w.-]{1,128}$/.test(name) ? name : '…')
