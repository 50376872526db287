// Policy rules that name a tool which does not exist: logged when the runtime starts and reported by health().

import { similarNames } from '../core/similar-names.ts'
import { type Policy, unmatchedToolNames } from '../policy/rules.ts'
import type { Registry } from '../tools/registry.ts'

/** One sentence per name. Empty while a provider is unavailable, because its tools are not known then. */
export function unmatchedPolicyRules(policies: readonly Policy[], registry: Registry): string[] {
  if (policies.length === 0 || registry.away.length > 0) return []
  const tools = registry.list()
  return unmatchedToolNames(policies, tools).map(({ rule, name }) => {
    const [similar] = similarNames(
      name,
      tools.map((tool) => tool.name),
      1,
    )
    return (
      `${rule} is about the tool '${name}', which this runtime does not have` +
      (similar === undefined ? '' : `; did you mean '${similar}'?`) +
      (similar === undefined ? '. ' : ' ') +
      'The rule has no effect unless the tool is added later or belongs to a session.'
    )
  })
}
