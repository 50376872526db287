// Edits of a host's JSON file change only the entries they are about.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { changeObject, RawJson } from '../../../src/mcp/gateway/json-edit.ts'
import { inexactNumbers, memberOf, parseJsonText, valueOf } from '../../../src/mcp/gateway/json-text.ts'

const path = ['mcpServers']

describe('reading', () => {
  test('MCP-2: comments, trailing commas, a byte order mark and CRLF are read', () => {
    const text = '\ufeff// one\r\n{ "a": [1, 2,], /* two */ "b": { "c": "\\u00e4", }, }\r\n// end'
    expect(valueOf(parseJsonText(text))).toEqual({ a: [1, 2], b: { c: 'ä' } })
  })

  test('MCP-2: strings and comments of many megabytes are read', () => {
    const long = 'a'.repeat(20_000_000)
    const text = `${'// no\n'.repeat(3_000_000)}{ "history": "${long}", "end": "\\"\\\\" }`
    expect(valueOf(parseJsonText(text))).toEqual({ history: long, end: '"\\' })
    for (const broken of ['"a', '"a\\', '"a\\"', '"a\nb"', '"a\\\nb"'])
      expect(() => parseJsonText(broken), JSON.stringify(broken)).toThrow('line 1: a string has')
  })

  test('MCP-2: every JSON value is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(JSON.stringify(valueOf(parseJsonText(text)))).toBe(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 200 },
    )
  })

  test.for([
    ['{"a":1,"a":2}', 'line 1: the key "a" occurs twice in one object'],
    ['{"a":1', 'line 1: a comma or } is expected'],
    ['{\n"a" 1}', 'line 2: a colon is expected'],
    ['{"a":"x\n"}', 'line 1: a string has no end'],
    ['{a:1}', 'line 1: a key in double quotes is expected'],
    ['{} {}', 'line 1: there is text after the end'],
    ['{"a":01}', 'line 1: a value is expected'],
    ['', 'line 1: a value is expected'],
    [`${'['.repeat(300)}${']'.repeat(300)}`, 'line 1: it is more than 200 levels deep'],
  ] as const)('MCP-2: %s is refused with its line', ([text, message]) => {
    expect(() => parseJsonText(text)).toThrow(message)
  })

  test('MCP-2: numbers that JavaScript would change are found', () => {
    const text = '{"a":9007199254740993,"b":[1e999,1.5,-3],"c":9007199254740991}'
    expect(inexactNumbers(text, parseJsonText(text))).toEqual(['9007199254740993', '1e999'])
  })

  test('MCP-2: `__proto__` is a key like any other', () => {
    const value = valueOf(parseJsonText('{"__proto__":{"x":1}}')) as object
    expect([Object.keys(value), Object.getPrototypeOf(value) === Object.prototype]).toEqual([['__proto__'], true])
  })
})

describe('editing', () => {
  const text = `{
\t"before": 12345678901234567890, // stays
\t"mcpServers": {
\t\t"a": { "command": "x" },
\t\t/* about b */
\t\t"b": { "command": "y" }, "c": 1.00
\t},
\t"after": 1.0e3
}`

  test('MCP-2: an entry takes the place of those that leave, and the rest keeps its bytes', () => {
    expect(changeObject(text, { path, remove: ['a', 'b'], add: [['pawl', { command: 'p' }]] })).toBe(`{
\t"before": 12345678901234567890, // stays
\t"mcpServers": {
\t\t"pawl": {
\t\t\t"command": "p"
\t\t}, "c": 1.00
\t},
\t"after": 1.0e3
}`)
  })

  test.for([
    [['a'], '"b": { "command": "y" }, "c": 1.00'],
    [['a', 'b'], '"c": 1.00'],
    [['c'], '"a": { "command": "x" },'],
    [['a', 'b', 'c'], '"mcpServers": {'],
  ] as const)('MCP-2: after %j leave, the file is valid and has the others', ([remove, left]) => {
    const changed = changeObject(text, { path, remove, add: [] })
    const servers = memberOf(parseJsonText(changed), 'mcpServers')
    expect(servers?.node.members.map(({ key }) => key)).toEqual(
      ['a', 'b', 'c'].filter((key) => !remove.includes(key as never)),
    )
    expect(changed).toContain(left)
  })

  test('MCP-2: an empty file, a missing object and an empty object get the entry', () => {
    const add = [['pawl', { command: 'p' }]] as const
    for (const given of ['', '{}', '{"x":1}', '{ "mcpServers": {} }', '{ "mcpServers": { // none\n } }']) {
      const changed = changeObject(given, { path, remove: [], add })
      expect(valueOf(parseJsonText(changed))).toMatchObject({ mcpServers: { pawl: { command: 'p' } } })
      if (given.includes('none')) expect(changed).toContain('// none\n')
    }
  })

  test('MCP-2: text of another file is inserted as it is, and CRLF stays', () => {
    const add = [['b', new RawJson('{\n    "x": 1.00 // one\n  }', '  ')]] as const
    const changed = changeObject('{\r\n  "mcpServers": {\r\n    "a": 1\r\n  }\r\n}\r\n', { path, remove: ['a'], add })
    expect(changed).toBe('{\r\n  "mcpServers": {\r\n    "b": {\r\n      "x": 1.00 // one\r\n    }\r\n  }\r\n}\r\n')
  })

  test('MCP-2: any edit leaves a valid file with exactly the wanted members', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    fc.assert(
      fc.property(
        fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true }),
        fc.uniqueArray(key as fc.Arbitrary<string>),
        fc.boolean(),
        fc.constantFrom(undefined, 2, '\t'),
        (servers, remove, adds, indent) => {
          const given = JSON.stringify({ x: 1, mcpServers: servers, y: [2] }, null, indent)
          const add = adds ? ([['pawl', { command: 'p' }]] as const) : []
          const changed = JSON.parse(changeObject(given, { path, remove, add })) as { mcpServers: object }
          const left = Object.entries(servers).filter(([name]) => !remove.includes(name))
          expect(changed.mcpServers).toEqual(
            JSON.parse(JSON.stringify({ ...Object.fromEntries(left), ...Object.fromEntries(add) })),
          )
          expect(changed).toMatchObject({ x: 1, y: [2] })
        },
      ),
      { numRuns: 300 },
    )
  })
})
