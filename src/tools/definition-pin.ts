// What of a provider's tool is pinned (POL-9): all that a model is told, and all that its risk is judged by. A source may show a harmless
// definition until somebody trusts it, and another one after that. provider-connection.ts asks the port here before it gives a contract; approvals/pins.ts
// keeps the pins.

import { createHash } from 'node:crypto'
import { canonical } from '../core/canonical-json.ts'
import type { Json } from '../core/value.ts'
import type { Tool } from './tool.ts'

export interface Definition {
  readonly provider: string
  /** The tool's id. It and the name are both the source's word: a changed tool must not pass for a new one by changing one of them. */
  readonly tool: string
  readonly name: string
  /** As canonical JSON: the order of keys means nothing. */
  readonly text: string
  /** Of the text. Not the tool's own, which knows the order of keys and nothing of titles and examples. */
  readonly fingerprint: string
}

export interface Pins {
  /** Whether it is the accepted definition; the first one ever is. Rejects while that cannot be told: then nobody may take it for accepted. */
  judge(definition: Definition): Promise<boolean>
}

/** What a tool in quarantine answers instead of its contract. */
export class ToolQuarantined extends Error {
  override readonly name = 'ToolQuarantined'
}

/** Larger ones are no use to a model, and a source must not fill our disk. */
const longestText = 1_048_576

/** What it does not say is left out, so that a field which comes later changes nobody who does not use it. */
export function definitionOf(of: Tool, provider: string): Definition {
  const { id, name, title, description, input, output, version, examples, onCrash, sensitive } = of
  const said = {
    id: id === name ? undefined : id,
    name,
    title,
    description,
    input: input.json,
    output: output?.json,
    // Its own words: of the others, what it is not trusted with is gone, and comes back with a trust that may be given later.
    hints: of.remote?.hints ?? of.hints,
    examples: examples.length > 0 ? examples : undefined,
    version,
    onCrash,
    sensitive: sensitive || undefined,
  }
  const text = canonical(JSON.parse(JSON.stringify(said)) as Json)
  if (text.length > longestText) throw new TypeError(`its definition is longer than ${longestText} characters`)
  return { provider, tool: id, name, text, fingerprint: createHash('sha256').update(text).digest('base64url') }
}
