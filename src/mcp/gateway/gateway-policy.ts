// What the gateway allows by default: read-only tools of trusted servers run, everything else asks a person. Rules of
// the project and remembered rules allow more, or less: deny beats ask beats allow.

import type { PolicyDefinition, Rule } from '../../index.ts'
import type { FilePolicy } from './servers-file.ts'

/** An untrusted server's hint never matches an allow, so this rule is about trusted servers only. */
const readOnlyRuns: Rule = {
  class: 'readOnly',
  then: 'allow',
  reason: 'The tool only reads, and its server is trusted.',
}

/** The rules of the file come first, so that messages count them as the file does. */
export const gatewayPolicy = ({ rules = [], default: mode, approvals }: FilePolicy): PolicyDefinition => ({
  rules: [...rules, readOnlyRuns],
  // Without it, tools of trusted servers that change something would run.
  default: mode ?? 'careful',
  ...(approvals === undefined ? {} : { approvals }),
})
