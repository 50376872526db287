// Records every change that passes the store port. render.ts turns the recording into a golden journal.

import type { CallPosition } from '../../src/store/records/call-record.ts'
import { collections } from '../../src/store/collections.ts'
import type { CollectionTerms } from '../../src/store/collection.ts'
import type { Change, Committed, Store, Written, DocumentWrite } from '../../src/store/store.ts'

/** The store's answer: written, rejected by a guard, failed, or still missing. */
export type Answer = 'ok' | 'refused' | 'failed' | 'no answer'

export type Entry =
  | { readonly kind: 'change'; readonly change: Change; answer: Answer }
  | { readonly kind: 'claim'; readonly uid: string; readonly fence: number; readonly deaths: number }
  | { readonly kind: 'erase'; readonly query: object; answer: unknown }
  /** Code of a tool ran. `unwritten`: how many changes of its call had no answer yet. */
  | { readonly kind: 'effect'; readonly position: string; readonly what: string; readonly unwritten: number }

export interface Recording {
  readonly entries: readonly Entry[]
  /** The position of every call, by uid. */
  readonly positions: ReadonlyMap<string, CallPosition>
  /** The call and the name of every wait, by id. */
  readonly waits: ReadonlyMap<string, { readonly call: string; readonly name: string }>
  /** Worker ids in the order of their first lease. */
  readonly workers: readonly string[]
  /** Names of the settings that were read or written. */
  readonly settings: ReadonlySet<string>
  /** Documents that were not written as src/store/collections.ts declares them. */
  readonly undeclared: readonly string[]
}

/** The call whose body ran: its position without tenant and occurrence. */
interface Body {
  readonly session: string
  readonly batch: string
  readonly callId: string
}

let current: Recorder | null = null
/**
 * Starts a recorder for a scenario. Scenarios run one after the other, so body effects belong to the latest recorder.
 */
export const startRecording = (): Recorder => (current = new Recorder())
/** Records an effect of a tool body. */
export const did = ({ session, batch, callId }: Body, what: string): void =>
  current?.did(`${session}/${batch}/${callId}#0`, what)

export class Recorder implements Recording {
  readonly entries: Entry[] = []
  readonly positions = new Map<string, CallPosition>()
  readonly waits = new Map<string, { call: string; name: string }>()
  readonly workers: string[] = []
  readonly settings = new Set<string>()
  readonly undeclared: string[] = []
  /** Counts store calls; the scenario is active as long as it grows. */
  uses = 0
  #pending = 0

  did(position: string, what: string): void {
    const uids = [...this.positions]
      .filter(([, each]) => `${each.session}/${each.batch}/${each.id}#0` === position)
      .map(([uid]) => uid)
    const isOpen = (entry: Entry): boolean =>
      entry.kind === 'change' &&
      entry.answer === 'no answer' &&
      uids.some((uid) => entry.change.updateCall?.uid === uid || entry.change.steps?.[0]?.call === uid)
    this.entries.push({ kind: 'effect', position, what, unwritten: this.entries.filter(isOpen).length })
  }

  /** True if every store promise has settled. */
  get idle(): boolean {
    return this.#pending === 0
  }

  wrap(store: Store): Store {
    const methods = Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function'
        ? (...args: never[]) => this.#used((method as (...args: never[]) => unknown)(...args))
        : method,
    ])
    const all = Object.fromEntries(methods) as Store
    return {
      ...all,
      commit: (change) => {
        const entry = this.#change(change)
        const answer = store.commit(change).then(
          (committed) => ((entry.answer = answerOf(committed)), committed),
          (error: unknown) => {
            entry.answer = 'failed'
            throw error
          },
        )
        return this.#used(answer) as Promise<Committed>
      },
      write: (change, heard, how) => {
        const entry = this.#change(change)
        this.uses++
        store.write(
          change,
          (answer) => {
            entry.answer = answerOf(answer)
            this.uses++
            heard(answer)
          },
          how,
        )
      },
      claim: (worker, tools, limit) => {
        const claimed = (calls: Awaited<ReturnType<Store['claim']>>): typeof calls => {
          for (const { uid, fence, deaths } of calls) this.entries.push({ kind: 'claim', uid, fence, deaths })
          return calls
        }
        const calls = store.claim(worker, tools, limit)
        return calls instanceof Promise ? (this.#used(calls.then(claimed)) as typeof calls) : claimed(calls)
      },
      erase: (query) => {
        const entry: Entry = { kind: 'erase', query, answer: 'no answer' }
        this.entries.push(entry)
        const page = store.erase(query)
        const erased = (answer: Awaited<typeof page>): typeof answer => ((entry.answer = answer), answer)
        return page instanceof Promise ? (this.#used(page.then(erased)) as typeof page) : erased(page)
      },
      renew: (worker, leaseMs) => {
        if (!this.workers.includes(worker)) this.workers.push(worker)
        return store.renew(worker, leaseMs)
      },
      setting: (key, ifAbsent) => {
        this.settings.add(key)
        return all.setting(key, ifAbsent)
      },
      settingNow: (key) => {
        this.settings.add(key)
        return all.settingNow(key)
      },
      onHint: (listener) => store.onHint(listener),
    }
  }

  #change(change: Change): Entry & { kind: 'change' } {
    const entry = { kind: 'change' as const, change, answer: 'no answer' as Answer }
    this.entries.push(entry)
    if (change.insertCall) this.positions.set(change.insertCall.uid, change.insertCall.position)
    for (const document of change.documents ?? []) {
      const problem = problemWith(document)
      if (problem !== null) this.undeclared.push(`${document.of} ${document.key}: ${problem}`)
    }
    for (const { id, call, name } of change.insertWaits ?? []) this.waits.set(id, { call, name })
    return entry
  }

  #used(answer: unknown): unknown {
    this.uses++
    if (!(answer instanceof Promise)) return answer
    this.#pending++
    return answer.finally(() => {
      this.#pending--
      this.uses++
    })
  }
}

const declared = new Map<string, CollectionTerms>(Object.values(collections).map(({ of, terms }) => [of, terms]))

/** How a written document differs from its declaration. */
function problemWith({ of, tenant, session, value, secret }: DocumentWrite): string | null {
  const terms = declared.get(of)
  if (!terms) return 'not declared'
  const scope = tenant === '' ? 'store' : session === '' ? 'tenant' : 'session'
  if (terms.scope !== scope && !(terms.scope === 'any' && scope !== 'store')) return `written for a ${scope}`
  if (value !== null && (secret ? !terms.sealed : terms.sealed === 'always')) return secret ? 'sealed' : 'not sealed'
  if (value === null && !terms.erasedBy.some((how) => how === 'end' || how === 'prune')) return 'deleted'
  return null
}

function answerOf(answer: Written): Answer {
  if ('failed' in answer) return 'failed'
  // The store may name any of several failing guards, so the name is left out.
  return answer.ok ? 'ok' : 'refused'
}
