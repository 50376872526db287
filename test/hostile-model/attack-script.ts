// The type of a script of a hostile model.

export type Lacks =
  | 'a tool of that name'
  | 'a tool of its own session'
  | 'an accepted definition'
  | 'a tool that models may call'
  | 'the approval of a person'
  | 'a rule that allows it'
  | 'arguments that can be read'
  | 'arguments that the schema takes'
  | 'a place of its own'
  | 'a key'
  | 'a result that was asked for'
  | 'words of the runtime'
  | 'a say in the rules'
  | 'what others stored'

export interface Asked {
  readonly name: string
  readonly input?: unknown
  /** The call id given by the model; generated if absent. */
  readonly id?: string
  /** Identifies the call instead of its position, as a host would pass it on. */
  readonly idempotencyKey?: string
}

export interface Script {
  readonly attack: string
  readonly lacks: Lacks
  /** The model's messages, in order. A message with an earlier batch name repeats that message. */
  readonly asks: readonly (readonly Asked[])[]
  readonly batches?: readonly string[]
  /** A person denies the pending calls after the first message; `remember` also creates a rule. */
  readonly denied?: 'once' | 'remember'
  /** The final status or failure code of each call, in order. */
  readonly ends: readonly string[]
  /** The effects that are allowed; none by default. */
  readonly may?: readonly { readonly tool: string; readonly input: unknown }[]
  /** The tools in the inbox afterwards; by default one for each call that waits for approval. */
  readonly inbox?: readonly string[]
  /** The complete text that the model reads for the last call. */
  readonly reads?: string
  /** The value of the last call. */
  readonly gives?: unknown
}

/** A script with one call in one message. */
export const one = (attack: string, lacks: Lacks, asked: Asked, ends: string, more: Partial<Script> = {}): Script => ({
  attack,
  lacks,
  asks: [[asked]],
  ends: [ends],
  ...more,
})

/** Escapes a text for use in a test title. */
export const visible = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
