import canonicalize from 'canonicalize'
import { fc } from '../kit/seeded-fast-check.ts'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import type { Json } from '../../src/core/tool-value.ts'

test('CALL-6: canonical JSON matches the reference implementation of RFC 8785', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(value as Json)).toBe(canonicalize(value))
    }),
  )
  expect(canonicalJson({ b: 1, a: [1e21, -0, 'é\u0000'], '\u{1F600}': 0, '\uFB33': 0 })).toBe(
    canonicalize({ a: [1e21, -0, 'é\u0000'], '\uFB33': 0, '\u{1F600}': 0, b: 1 }),
  )
})
