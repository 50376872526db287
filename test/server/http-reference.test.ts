// docs/reference/http.md and the OpenAPI document are made from the route table.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { endpoints, type OperationName } from '../../src/server/endpoints.ts'
import { openApiDocument } from '../../src/server/openapi.ts'
import { permissionsOf } from '../../src/server/permissions.ts'
import type { Route } from '../../src/server/routes/route.ts'
import { routes } from '../../src/server/routes/routes.ts'

const page = join(import.meta.dirname, '../../docs/reference/http.md')

const bodies: Readonly<Record<Route['kind'], string>> = {
  json: 'JSON',
  events: 'server-sent events',
  chat: 'a stream for `useChat`',
  download: 'bytes',
  upload: 'JSON',
}

function fieldsOf({ input }: Route): string {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as {
    properties?: Record<string, unknown>
    required?: string[]
  }
  const names = Object.keys(properties).map((name) => (required.includes(name) ? `\`${name}\`` : `\`${name}?\``))
  return names.join(', ') || 'none'
}

function reference(): string {
  const groups = Map.groupBy(Object.keys(endpoints) as OperationName[], (name) => name.split('.')[0] as string)
  const sections = [...groups].flatMap(([group, names]) => [
    `## ${group}`,
    '',
    ...names.flatMap((name) => {
      const route: Route = routes[name]
      const right = route.needs === 'anyone' ? 'no token' : `the right \`${route.needs}\``
      return [
        `### \`${endpoints[name]}\``,
        '',
        route.summary,
        '',
        `\`client.${name}()\` · needs ${right}${route.wholeStore ? ' for all tenants' : ''} · answers ${bodies[route.kind]}` +
          (route.idempotencyField === undefined ? '' : ` · \`Idempotency-Key\` sets \`${route.idempotencyField}\``),
        '',
        `Fields: ${fieldsOf(route)}`,
        '',
      ]
    }),
  ])
  const roles = Object.entries(permissionsOf).map(
    ([role, rights]) => `| \`${role}\` | ${rights.map((right) => `\`${right}\``).join(', ')} |`,
  )
  return [
    '# HTTP',
    '',
    'Every operation of a server, made from its route table. The server itself has the whole description, with all types,',
    'at `/openapi.json`, and a page of it at `/docs`. Fields with `?` are optional. Fields that are not in the path are',
    'query parameters (GET, DELETE, uploads) or fields of the JSON body (POST, PUT).',
    '',
    'Errors are `application/problem+json` with the codes of [errors](errors.md).',
    '',
    '| role | rights |',
    '|---|---|',
    ...roles,
    '',
    ...sections,
  ].join('\n')
}

test('DOOR-1: docs/reference/http.md shows every operation (PAWL_WRITE=1 writes it)', () => {
  const text = reference()
  if (process.env.PAWL_WRITE) writeFileSync(page, text)
  expect(readFileSync(page, 'utf8')).toBe(text)
})

test('DOOR-1: the OpenAPI document has every operation with its fields and errors', () => {
  const { openapi, paths } = openApiDocument('1.0.0') as {
    openapi: string
    paths: Record<string, Record<string, { operationId: string; parameters: { name?: string }[]; responses: object }>>
  }
  expect(openapi).toBe('3.1.0')
  const found = Object.values(paths).flatMap((methods) => Object.values(methods))
  expect(found.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(endpoints).toSorted())
  for (const [path, methods] of Object.entries(paths))
    for (const { parameters, responses } of Object.values(methods)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      expect(parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(inPath))
      expect(responses).toHaveProperty('default')
    }
})
