// What a script of a hostile model is.

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
  /** The model's id of it; one of its own if left out. */
  readonly id?: string
  /** Names the call instead of its place; for what a host passes on. */
  readonly idempotencyKey?: string
}

export interface Script {
  readonly attack: string
  readonly lacks: Lacks
  /** The model's messages, one after the other. A message of the name of one before is that message again. */
  readonly asks: readonly (readonly Asked[])[]
  readonly batches?: readonly string[]
  /** After the first message a person denies what waits; `remember`: for next time too. */
  readonly denied?: 'once' | 'remember'
  /** How each call stands at the end, in order: its status, or the code of its failure. */
  readonly ends: readonly string[]
  /** What it has a right to; nothing, if left out. */
  readonly may?: readonly { readonly tool: string; readonly input: unknown }[]
  /** What lies in the inbox then: names of tools. Left out: one for each call that waits for an approval. */
  readonly inbox?: readonly string[]
  /** What the model reads of the last call, whole. */
  readonly reads?: string
  /** What the last call gives. */
  readonly gives?: unknown
}

/** One call in one message. */
export const one = (attack: string, lacks: Lacks, asked: Asked, ends: string, more: Partial<Script> = {}): Script => ({
  attack,
  lacks,
  asks: [[asked]],
  ends: [ends],
  ...more,
})

/** As people read it in the name of a test. */
export const visible = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
