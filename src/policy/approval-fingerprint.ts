// POLICY: what an approval is bound to (POL-2): SHA-256 of the canonical JSON (RFC 8785) of whose call it is, which call, which tool as it is
// defined, and the final arguments. The order of keys does not change it; anything else does.

import { createHash } from 'node:crypto'
import { canonical } from '../core/canonical-json.ts'
import type { Json } from '../core/value.ts'

export interface Bound {
  readonly tenant: string
  readonly call: string
  /** The tool's own fingerprint. */
  readonly tool: string
  /** Their recorded form. */
  readonly args: string
}

export const fingerprintOf = ({ tenant, call, tool, args }: Bound): string =>
  createHash('sha256')
    .update(canonical({ tenant, call, tool, args: JSON.parse(args) as Json }))
    .digest('base64url')
