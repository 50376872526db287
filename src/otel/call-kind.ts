// Which calls are turns, tools or internal work, by the name that the observer port gives.

import type { ObservedCall } from '../core/observer.ts'

const turnPrefix = 'pawl:turn:'
const internalPrefix = 'pawl:'
const absentTool = 'pawl:absent'

export type CallKind =
  | { readonly kind: 'turn'; readonly model: string }
  | { readonly kind: 'tool' }
  | { readonly kind: 'internal' }

const tool: CallKind = { kind: 'tool' }
const internal: CallKind = { kind: 'internal' }

export function kindOf({ tool: name }: Pick<ObservedCall, 'tool'>): CallKind {
  if (!name.startsWith(internalPrefix) || name === absentTool) return tool
  return name.startsWith(turnPrefix) ? { kind: 'turn', model: name.slice(turnPrefix.length) } : internal
}

/** A name that a model invented is never shown. */
export const shownTool = ({ tool: name }: Pick<ObservedCall, 'tool'>): string =>
  name === absentTool ? 'unknown_tool' : name
