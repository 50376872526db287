// The pinned definition of a provider's tool: everything a model reads and everything its risk is derived from. A
// provider may present a harmless definition until it is trusted and change it afterwards. tool-provider-connection.ts asks
// the Pins port before it hands out a tool; approvals/definition-pins.ts stores the pins.

import { createHash } from 'node:crypto'
import { canonicalText } from '../core/canonical-json.ts'
import type { Tool } from './tool.ts'

export interface Definition {
  readonly provider: string
  /** The tool's id. The provider chooses id and name, so changing one of them must not make a changed tool look new. */
  readonly tool: string
  readonly name: string
  /** Canonical JSON, independent of key order. */
  readonly text: string
  /**
   * Hash of `text`. Differs from the tool's own fingerprint, which depends on key order and ignores titles and
   * examples.
   */
  readonly fingerprint: string
}

export interface Pins {
  /**
   * Whether this is the accepted definition; the first one seen is accepted. Rejects if this cannot be determined; the
   * definition then counts as not accepted.
   */
  isAccepted(definition: Definition): Promise<boolean>
}

/** Thrown instead of returning a tool that is quarantined. */
export class ToolQuarantined extends Error {
  override readonly name = 'ToolQuarantined'
}

/** Larger definitions are useless to a model, and a provider must not fill the store. */
const maxDefinitionLength = 1_048_576

/** Unset fields are left out, so that a field added in a later version does not change existing definitions. */
export function definitionOf(tool: Tool, provider: string): Definition {
  const { id, name, title, description, input, output, version, examples, onCrash, sensitive } = tool
  const fields = {
    id: id === name ? undefined : id,
    name,
    title,
    description,
    input: input.json,
    output: output?.json,
    // The provider's own hints: `tool.hints` omits untrusted ones, so its value would change if the operator trusted
    // the provider later.
    hints: tool.remote?.hints ?? tool.hints,
    examples: examples.length > 0 ? examples : undefined,
    version,
    onCrash,
    sensitive: sensitive || undefined,
  }
  const text = canonicalText(JSON.stringify(fields))
  if (text.length > maxDefinitionLength)
    throw new TypeError(`its definition is longer than ${maxDefinitionLength} characters`)
  return { provider, tool: id, name, text, fingerprint: createHash('sha256').update(text).digest('base64url') }
}
