// The OpenAPI 3.1 document of the route table.

import { z } from 'zod'
import { errorTable } from '../core/errors.ts'
import { endpoints, type OperationName } from './endpoints.ts'
import { permissionsOf } from './permissions.ts'
import type { Route } from './routes/route.ts'
import { routes } from './routes/routes.ts'

type JsonObject = Record<string, unknown>

const toSchema = (schema: z.ZodType, io: 'input' | 'output'): JsonObject => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' })
  return json
}

const problemSchema = {
  type: 'object',
  description: 'An error (RFC 9457). `code` is stable; docs/reference/errors.md lists all codes.',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(errorTable) },
    detail: { type: 'string' },
    requestId: { type: 'string' },
    problems: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
    answer: { description: 'What was answered, for decisions and answers that were not accepted.' },
  },
  required: ['type', 'title', 'status', 'code', 'detail', 'requestId'],
}

const contentTypes: Readonly<Record<Route['kind'], string>> = {
  json: 'application/json',
  events: 'text/event-stream',
  chat: 'text/event-stream',
  download: 'application/octet-stream',
  upload: 'application/json',
}

/** The roles that may use a route, for its description. */
function rolesFor(needs: Route['needs']): string {
  if (needs === 'anyone') return 'Needs no token.'
  const roles = Object.entries(permissionsOf).filter(([, rights]) => rights.includes(needs))
  return `Roles: ${roles.map(([role]) => role).join(', ')}.`
}

function operationOf(name: OperationName, method: string, path: string): JsonObject {
  const route: Route = routes[name]
  const {
    properties = {},
    required = [],
    ...rest
  } = toSchema(route.input, 'input') as {
    properties?: Record<string, JsonObject>
    required?: string[]
  } & JsonObject
  const inPath = [...path.matchAll(/[:*](\w+)/g)].map((match) => match[1] as string)
  const others = Object.entries(properties).filter(([field]) => !inPath.includes(field))
  const hasBody = (method === 'POST' || method === 'PUT') && route.kind !== 'upload'
  const parameter = (field: string, place: 'path' | 'query'): JsonObject => ({
    name: field,
    in: place,
    required: place === 'path' || required.includes(field),
    schema: properties[field] ?? {},
  })
  const parameters = [
    ...inPath.map((field) => parameter(field, 'path')),
    ...(hasBody ? [] : others.map(([field]) => parameter(field, 'query'))),
    { $ref: '#/components/parameters/tenant' },
    ...(route.idempotencyField === undefined ? [] : [{ $ref: '#/components/parameters/idempotencyKey' }]),
  ]
  const body = {
    ...rest,
    properties: Object.fromEntries(others),
    required: required.filter((f) => !inPath.includes(f)),
  }
  const content = { [contentTypes[route.kind]]: { schema: responseSchema(route) } }
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary: route.summary,
    description: `${rolesFor(route.needs)}${route.wholeStore ? ' Needs a token for all tenants.' : ''}`,
    ...(route.needs === 'anyone' ? { security: [] } : {}),
    parameters,
    ...(hasBody ? { requestBody: { content: { 'application/json': { schema: body } } } } : {}),
    ...(route.kind === 'upload'
      ? { requestBody: { content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } } }
      : {}),
    responses: {
      '200': { description: 'Done.', content },
      ...(method === 'POST' ? { '202': { description: 'Accepted; it goes on.', content } } : {}),
      default: { $ref: '#/components/responses/problem' },
    },
  }
}

function responseSchema(route: Route): JsonObject {
  return route.kind === 'json' || route.kind === 'upload' ? toSchema(route.output, 'output') : { type: 'string' }
}

export function openApiDocument(version: string): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const [method, path] = endpoint.split(' ') as [string, string]
    const shown = path.replace(/[:*](\w+)/g, '{$1}')
    const operations = (paths[shown] ??= {})
    operations[method.toLowerCase()] = operationOf(name as OperationName, method, path)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pawl',
      version,
      description: 'A durable tool runtime: calls, turns, tasks, approvals and their record.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'Made with `pawl tokens create`.' } },
      parameters: {
        tenant: {
          name: 'tenant',
          in: 'query',
          required: false,
          description: 'Selects the tenant, for tokens of all tenants.',
          schema: { type: 'string' },
        },
        idempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'A repeated request with the same key joins the first one.',
          schema: { type: 'string' },
        },
      },
      responses: {
        problem: {
          description: 'Not done, or not wholly.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
      schemas: { Problem: problemSchema },
    },
  }
}
