// What is on record, for those who ask: calls, whole results by their handle, bytes of attachments. Tenant and session are checked with every
// read, and what belongs to others looks the same as what does not exist.

import { type OutputBudget, readablePage, readOutput } from '../calls/output/truncate.ts'
import { withoutSecrets } from '../calls/output/redact-outcome.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Redactor } from '../security/redact.ts'
import type { Clock } from '../core/clock.ts'
import { decode, isAttachment } from '../core/value.ts'
import type { Store } from '../store/store.ts'
import type { Attachments, Outputs } from '../tools/context/context.ts'
import type { CallOutcome, OpenCall, Until } from './call-request.ts'
import { type Calls, callsOf } from './calls.ts'
import type { Batch } from './collect-outcomes.ts'
import { type Recording, recordingOf } from './recording.ts'
import { untilOpen } from './run-until.ts'

const openPage = 500

interface Scope {
  readonly tenant: string
  readonly session: string
}

export class Records {
  readonly #store: Store
  readonly #budget: OutputBudget
  readonly #clock: Clock
  readonly #redact: Redactor

  constructor(store: Store, budget: OutputBudget, clock: Clock, redact: Redactor) {
    this.#redact = redact
    this.#store = store
    this.#clock = clock
    this.#budget = budget
  }

  calls(of: Scope): Calls {
    const calls = callsOf(this.#store, of)
    return {
      get: (call, at) => reading(() => calls.get(call, at)),
      list: (query) => reading(() => calls.list(query)),
    }
  }

  recording(of: Scope): Promise<Recording> {
    return reading(() => recordingOf(this.#store, of))
  }

  /** The calls of a session that are open, by the record. */
  async open(of: Scope): Promise<readonly string[]> {
    const open: string[] = []
    for (;;) {
      const page = await reading(() => this.#store.unsettled({ of, after: open.at(-1) ?? '', limit: openPage }))
      open.push(...page.map(({ uid }) => uid))
      if (page.length < openPage) return open
    }
  }

  /** Starts calls and returns early, with what is open as it stands on record. */
  async until(start: () => Batch, until: Until): Promise<(CallOutcome | OpenCall)[]> {
    if (until !== 'waiting') milliseconds(until, 'until') // refused before anything starts
    return untilOpen(start(), until, { store: this.#store, clock: this.#clock })
  }

  outputs(of: Scope): Outputs {
    return {
      read: async (handle, { offset, limit } = {}) => {
        const call = await reading(() => this.#store.call(handle))
        const mine = call && call.position.tenant === of.tenant && call.position.session === of.session
        if (!mine || call.outcome === null) throw new PawlError('output_unknown')
        const recorded = decode(call.outcome) as unknown as Outcome
        // What the model was shown is counted in the text without secrets, and so is this.
        const outcome = this.#redact.active ? withoutSecrets(recorded, call.outcome, this.#redact) : recorded
        if (limit === undefined) return readablePage(outcome, offset, this.#budget)
        return readOutput(outcome, { limit, ...(offset === undefined ? {} : { offset }) })
      },
    }
  }

  attachments({ tenant }: Pick<Scope, 'tenant'>): Pick<Attachments, 'read'> {
    return {
      read: async (attachment) => {
        if (!isAttachment(attachment)) throw new PawlError('value_invalid', 'This is not an attachment of the record.')
        const found = await reading(() => this.#store.attachment(tenant, attachment.ref.id))
        if (!found) throw new PawlError('attachment_unknown')
        return found.data
      },
    }
  }
}

/** A store that was closed or lost throws what it likes; a caller hears of it in our words. */
async function reading<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw cause instanceof PawlError ? cause : new PawlError('store_unavailable', 'Reading failed.', { cause })
  }
}
