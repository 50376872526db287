// What a body gets: the arguments as they are on record, and what prepare handed on.

import { decode, type Json } from '../../core/value.ts'

export interface ValidatedInput {
  readonly args: Json
  /** Their recorded form. */
  readonly text: string
  readonly prepared: Json
  /** The same from the record: whoever is given it may do to it whatever they like. */
  anew(): ValidatedInput
}

/** The recorded form of no payload. */
export const none = 'null'

export class FromRecord implements ValidatedInput {
  readonly args: Json
  readonly prepared: Json
  readonly #args: string
  readonly #prepared: string

  /** `value`: what the text of the arguments stands for, where it is at hand and nobody else has it. */
  constructor(args: string, prepared: string, value?: Json) {
    this.#args = args
    this.#prepared = prepared
    this.args = value ?? decode(args)
    this.prepared = prepared === none ? null : decode(prepared)
  }

  get text(): string {
    return this.#args
  }

  anew(): ValidatedInput {
    return new FromRecord(this.#args, this.#prepared)
  }
}
