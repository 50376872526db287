// Tool search as pure functions: which schemas are deferred, and which tools a query finds.

import { fc } from '../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { type Tool, tool } from '../../src/tools/tool.ts'
import { deferredTools, findTools, searchResult, deferThreshold } from '../../src/tools/tool-search.ts'

const make = (name: string, description: string, more: object = {}): Tool =>
  tool({ name, description, input: { type: 'object' }, execute: () => 'x', ...more })
const names = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name)

const tools = [
  make('read_file', 'Reads a file of the session'),
  make('write_file', 'Writes a file'),
  make('send_mail', 'Sends a mail, with a file if there is one'),
  make('file', 'Something else'),
  make('weather', 'Tells how it is outside'),
]

describe('SESS-8: findTools and searchResult', () => {
  test('a name match weighs three times a description match, and an exact name most', () => {
    expect(names(findTools(tools, 'mail'))).toEqual(['send_mail'])
    expect(names(findTools(tools, 'reads file'))).toEqual(['file'])
    expect(names(findTools(tools, 'READ_FILE'))).toEqual(['read_file'])
    expect(names(findTools(tools, 'read_file, weather'))).toEqual(['read_file', 'weather'])
    expect(names(findTools(tools.slice(0, 3), 'file'))).toEqual(['read_file', 'write_file'])
    expect(names(findTools(tools.slice(0, 3), 'reads file'))).toEqual(['read_file', 'write_file'])
    expect(names(findTools(tools, 'outside'))).toEqual(['weather'])
    for (const query of ['', '   ', '?!', 'xyzzy', 'constructor']) expect(names(findTools(tools, query))).toEqual([])
  })

  test('at most eight tools are found, ordered by score and then by name', () => {
    const many = Array.from({ length: 12 }, (_, n) => make(`t${n + 10}`, n === 11 ? 'a thing of things' : 'a thing'))
    expect(names(findTools(many, 'thing'))).toEqual(names(many).slice(0, 8))
    expect(names(findTools(many, 'thing things'))).toEqual(['t21', ...names(many).slice(0, 7)])
  })

  test('the result lists the tools found, or all names if nothing was found', () => {
    expect(searchResult(tools, [], 'x')).toMatchObject({
      query: 'x',
      tools: [],
      loaded: 0,
      available_tools: names(tools),
    })
    expect(searchResult(tools, tools.slice(0, 1), 'x')).toMatchObject({
      tools: [{ name: 'read_file', parameters: { type: 'object' } }],
      loaded: 1,
    })
  })

  test('property: results are bounded, score at least half the best, and ignore the input order', () => {
    const word = fc.constantFrom('file', 'mail', 'read', 'write', 'order', 'x')
    const given = fc.uniqueArray(
      fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.array(word, { minLength: 1, maxLength: 4 })),
      {
        selector: ([name]) => name.join('_'),
        maxLength: 20,
      },
    )
    fc.assert(
      fc.property(given, fc.array(word, { maxLength: 3 }), (pairs, query) => {
        const all = pairs.map(([name, description]) => make(name.join('_'), description.join(' ')))
        const found = findTools(all, query.join(' '))
        expect(found.length).toBeLessThanOrEqual(8)
        const score = ({ name, description }: Tool): number =>
          [...new Set(query)].reduce(
            (sum, term) =>
              sum + (name.includes(term) ? 3 : 0) + (description.includes(term) ? 1 : 0) + (name === term ? 100 : 0),
            0,
          )
        const best = Math.max(0, ...all.map(score))
        for (const each of found) expect(score(each)).toBeGreaterThanOrEqual(Math.max(1, Math.ceil(best / 2)))
        const fit = all.filter((each) => score(each) > 0 && score(each) >= Math.ceil(best / 2))
        expect(found.length).toBe(Math.min(8, fit.length))
        expect(names(findTools(all.toReversed(), query.join(' ')))).toEqual(names(found))
      }),
    )
  })
})

test('SESS-8: defer modes and the threshold decide which schemas are deferred', () => {
  const three = [make('a', 'd', { defer: 'always' }), make('b', 'd'), make('c', 'd', { defer: 'never' })]
  expect(names(deferredTools(three, 4))).toEqual(['a'])
  expect(names(deferredTools(three, 3))).toEqual(['a', 'b'])
  expect(names(deferredTools(three, null))).toEqual([])
  expect([deferThreshold(undefined), deferThreshold({}), deferThreshold({ from: 3 }), deferThreshold(false)]).toEqual([
    15,
    15,
    3,
    null,
  ])
})
