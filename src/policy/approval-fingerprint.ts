// The fingerprint that binds an approval to one call: SHA-256 of the canonical JSON (RFC 8785) of tenant, call, tool
// fingerprint and final arguments. Key order does not change it; anything else does, and the call must be approved
// again.

import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { parseJson } from '../core/tool-value.ts'

export interface ApprovalBinding {
  readonly tenant: string
  readonly call: string
  /** The tool's own fingerprint. */
  readonly tool: string
  /** The recorded JSON text of the final arguments. */
  readonly args: string
}

export const approvalFingerprint = ({ tenant, call, tool, args }: ApprovalBinding): string =>
  createHash('sha256')
    .update(canonicalJson({ tenant, call, tool, args: parseJson(args) }))
    .digest('base64url')
