// The input of a body: the recorded arguments and the payload of `prepare`.

import { decode, type Json } from '../../core/tool-value.ts'

export interface ValidatedInput {
  readonly args: Json
  /** The recorded form of the arguments. */
  readonly text: string
  readonly prepared: Json
  /** A fresh copy, decoded from the record, that the receiver may modify. */
  copy(): ValidatedInput
}

/** The recorded form of an absent payload. */
export const noPayload = 'null'

export class RecordedInput implements ValidatedInput {
  readonly args: Json
  readonly prepared: Json
  readonly #args: string
  readonly #prepared: string

  /** `value`: the decoded arguments, if the caller has them and no other code uses them. */
  constructor(args: string, prepared: string, value?: Json) {
    this.#args = args
    this.#prepared = prepared
    this.args = value ?? decode(args)
    this.prepared = prepared === noPayload ? null : decode(prepared)
  }

  get text(): string {
    return this.#args
  }

  copy(): ValidatedInput {
    return new RecordedInput(this.#args, this.#prepared)
  }
}
