// The default policy of the gateway: tools of trusted servers that only read run, everything else asks a person. Rules
// of the project and remembered rules allow more, or less: deny beats ask beats allow.

import type { PolicyDefinition } from '../../index.ts'
import type { FilePolicy } from './servers-file.ts'

type PolicyFunction = NonNullable<PolicyDefinition['decide']>

/** As in the default of the library, reading asks if it also reaches the open world. */
const allowTrustedReads: PolicyFunction = ({ tool: { remote, trusted, hints } }) =>
  remote && trusted && hints.readOnly && !hints.destructive && !hints.openWorld
    ? { effect: 'allow', reason: 'The tool only reads, and its server is trusted.' }
    : undefined

export const gatewayPolicy = ({ rules = [], default: mode, approvals }: FilePolicy): PolicyDefinition => ({
  rules,
  decide: allowTrustedReads,
  // Without it, tools of trusted servers that change something would run.
  default: mode ?? 'careful',
  ...(approvals === undefined ? {} : { approvals }),
})
