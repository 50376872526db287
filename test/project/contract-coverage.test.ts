// The contract and the tests, held together: what is built is cited by a test, and a test cites only what exists.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { promises } from './contract.ts'

/** How many promises nobody has started on. Lower it when you build one; it never goes up. */
const notYetAtMost = 7

const root = join(import.meta.dirname, '../..')
const citation = /\b(?:TOOL|VAL|CALL|SCHED|TIME|DUR|WAIT|POL|TASK|CRON|SESS|BOX|FEED|DOOR|MCP|RST|KIT)-\d+\b/g

function testFiles(): string[] {
  const all = ['src', 'test'].flatMap((dir) =>
    readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name)),
  )
  return all.filter(
    (name) =>
      /\.test(-d)?\.ts$|store-cases/.test(name) && name.endsWith('.ts') && name !== join('test', 'project', 'contract-coverage.test.ts'),
  )
}

/** Citations count where a test or a case is named, not in comments: a name is what is reported when it fails. */
function cited(): Map<string, string[]> {
  const places = new Map<string, string[]>()
  for (const file of testFiles()) {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')
    for (const [id] of text.matchAll(citation)) places.set(id, [...(places.get(id) ?? []), file])
  }
  return places
}

test('a promise that is built, wholly or in part, is cited by a test', () => {
  const citations = cited()
  const uncited = Object.entries(promises).filter(([id, { state }]) => state !== 'not yet' && !citations.has(id))
  expect(uncited.map(([id]) => id)).toEqual([])
})

test('a test cites only promises that exist and are not marked "not yet"', () => {
  const wrong = [...cited()].filter(([id]) => !promises[id] || promises[id].state === 'not yet')
  expect(wrong).toEqual([])
})

test('the list of what is not yet built only shrinks', () => {
  const notYet = Object.values(promises).filter(({ state }) => state === 'not yet').length
  expect(notYet).toBeLessThanOrEqual(notYetAtMost)
})
