// The interface of the schema compiler that the keyword files use; compile.ts implements it.

import type { Json } from '../../core/tool-value.ts'
import type { Draft } from './check-schema.ts'
import type { Pattern } from './pattern.ts'
import type { Node, Resource } from './validation-state.ts'

export interface KeywordCompiler {
  readonly draft: Draft
  /** Compiles a subschema that applies to the same value. */
  nodeInPlace(schema: Json): Node
  /** Compiles a subschema that applies to a property or an item of the value. */
  nodeInside(schema: Json): Node
  /** Resolves a reference to a node. A $dynamicRef may depend on the dynamic scope of the run. */
  ref(ref: string): Node
  dynamicRef(ref: string): Node | ((scope: readonly Resource[]) => Node)
  /** Undefined if the pattern cannot run in linear time; then a warning is added. */
  pattern(source: string, keyword: string): Pattern | undefined
  /** The text `expected …`, built on first use. */
  expected(schema: Json): () => string
  expectedOneOf(branches: readonly Json[]): () => string
}
