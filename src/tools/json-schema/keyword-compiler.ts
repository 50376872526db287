// What a keyword needs from the compiler to become a check.

import type { Json } from '../../core/value.ts'
import type { Draft } from './check-schema.ts'
import type { Pattern } from './pattern.ts'
import type { Node, Resource } from './validation-run.ts'

export interface Maker {
  readonly draft: Draft
  /** The node of a subschema that is applied to the same value. */
  onSame(schema: Json): Node
  /** The node of a subschema that is applied further inside. */
  inside(schema: Json): Node
  /** What a reference means: its node, and for $dynamicRef which node the scope of a run makes of it. */
  ref(ref: string): Node
  dynamicRef(ref: string): Node | ((scope: readonly Resource[]) => Node)
  /** Undefined if it cannot run in linear time; then that is among the warnings. */
  pattern(source: string, keyword: string): Pattern | undefined
  /** `expected …`, put into words when it is first told. */
  expected(schema: Json): () => string
  expectedOneOf(branches: readonly Json[]): () => string
}
