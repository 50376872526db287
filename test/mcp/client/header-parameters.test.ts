// Which schemas name headers for their arguments in a valid way.

import { expect, it } from 'vitest'
import { headerProblem } from '../../../src/mcp/client/header-parameters.ts'

const header = 'x-mcp-header'
const region = { type: 'string', [header]: 'Region' }
const withProperties = (properties: object): object => ({ type: 'object', properties })

it.each([
  ['no annotation', withProperties({ region: { type: 'string' } })],
  ['an annotation', withProperties({ region, zone: { type: 'integer', [header]: 'Zone' } })],
  ['a nested parameter', withProperties({ where: withProperties({ region }) })],
  ['a parameter of that name', withProperties({ [header]: { type: 'string' } })],
  ['a default of that name', withProperties({ region: { type: 'object', default: { [header]: 'x' } } })],
])('MCP-2: a schema with %s is valid', (_, schema) => {
  expect(headerProblem(schema)).toBeNull()
})

it.each([
  ['no text', withProperties({ region: { type: 'string', [header]: 7 } })],
  ['an empty text', withProperties({ region: { type: 'string', [header]: '' } })],
  ['a line break', withProperties({ region: { type: 'string', [header]: 'A\r\nHost: evil' } })],
  ['no name of a header', withProperties({ region: { type: 'string', [header]: 'größe' } })],
  ['on a number', withProperties({ region: { type: 'number', [header]: 'Region' } })],
  ['on an object', withProperties({ region: { type: 'object', [header]: 'Region' } })],
  ['on the schema itself', { ...withProperties({}), [header]: 'All' }],
  ['on two parameters', withProperties({ region, zone: { type: 'string', [header]: 'REGION' } })],
  ['in a list', withProperties({ all: { type: 'array', items: region } })],
  ['in an alternative', { anyOf: [withProperties({ region })] }],
  ['in a definition', { $defs: { region } }],
])('MCP-2: an annotation that is %s makes a tool invalid', (_, schema) => {
  expect(headerProblem(schema)).toMatch(/^its `x-mcp-header` /)
})

it('MCP-2: a schema that is nested deeper than the stack is read', () => {
  let schema: object = region
  for (let depth = 0; depth < 100_000; depth++) schema = { not: schema }
  expect(headerProblem(schema)).toMatch(/is not on a parameter/)
})
