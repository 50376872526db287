// Reads recorded calls, whole results by handle, and attachment bytes. Every read checks tenant and session; data of
// other tenants or sessions is reported as if it did not exist.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type OutputBudget, readablePage, readOutput } from '../calls/output/truncate.ts'
import { redactOutcome } from '../calls/output/redact-outcome.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Redactor } from '../security/redact.ts'
import type { Clock } from '../core/clock.ts'
import { decode, isAttachment } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import type { Store } from '../store/store.ts'
import type { Attachments, Outputs } from '../tools/context/tool-context.ts'
import type { CallOutcome, OpenCall, Until } from './call-request.ts'
import { type Calls, callsOf } from './session-calls.ts'
import type { Batch } from './collect-outcomes.ts'
import { type Recording, recordingOf } from './export-recording.ts'
import { waitUntil } from './run-until-waiting.ts'

const pageSize = 500

export const outputPageOptions = { offset: option.number, limit: option.number } satisfies OptionTable<
  Parameters<Outputs['read']>[1]
>

export class RecordReader {
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
      get: (call, at) => readStore(() => calls.get(call, at)),
      list: (query) => readStore(() => calls.list(query)),
    }
  }

  recording(of: Scope): Promise<Recording> {
    return readStore(() => recordingOf(this.#store, of))
  }

  /** Uids of the recorded open calls of the session. */
  async openCalls(of: Scope): Promise<readonly string[]> {
    const open: string[] = []
    for (;;) {
      const page = await readStore(() => this.#store.unsettled({ of, after: open.at(-1) ?? '', limit: pageSize }))
      open.push(...page.map(({ uid }) => uid))
      if (page.length < pageSize) return open
    }
  }

  /** Starts calls and returns early; open calls are described by their records. */
  async runUntil(start: () => Batch, until: Until): Promise<(CallOutcome | OpenCall)[]> {
    return waitUntil(start(), until, { store: this.#store, clock: this.#clock })
  }

  outputs(of: Scope): Outputs {
    return {
      read: async (handle, page) => {
        checkOptions(page, outputPageOptions, 'outputs.read()')
        const { offset, limit } = page ?? {}
        const call = await readStore(() => this.#store.call(handle))
        const isOwn = call && call.position.tenant === of.tenant && call.position.session === of.session
        if (!isOwn || call.outcome === null) throw new PawlError('output_unknown')
        const recorded = decode(call.outcome) as unknown as Outcome
        // Offsets count in the redacted text, which is what the model was shown.
        const outcome = this.#redact.active ? redactOutcome(recorded, call.outcome, this.#redact) : recorded
        if (limit === undefined) return readablePage(outcome, offset, this.#budget)
        return readOutput(outcome, { limit, ...(offset === undefined ? {} : { offset }) })
      },
    }
  }

  attachments({ tenant }: Pick<Scope, 'tenant'>): Pick<Attachments, 'read'> {
    return {
      read: async (attachment) => {
        if (!isAttachment(attachment))
          throw new PawlError('value_invalid', 'The argument is not a recorded attachment.')
        const found = await readStore(() => this.#store.attachment(tenant, attachment.ref.id))
        if (!found) throw new PawlError('attachment_unknown')
        return found.data
      },
    }
  }
}

/** Wraps errors of a closed or lost store in `store_unavailable`. */
async function readStore<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw cause instanceof PawlError ? cause : new PawlError('store_unavailable', 'The read failed.', { cause })
  }
}
