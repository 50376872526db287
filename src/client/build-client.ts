// Builds the methods of the client from the route table. client.ts calls it; tests call it with their own clock.

import type { OperationName } from '../server/endpoints.ts'
import { buildRequest, type BuiltRequest, type Endpoint, endpointList, type Fields } from './build-request.ts'
import { type ClientOptions, type ClientPorts, type ClientSettings, readClientOptions } from './client-options.ts'
import type { Client, RequestOptions } from './client-types.ts'
import { streamEvents } from './event-stream.ts'
import { PawlHttpError, type Problem } from './http-error.ts'
import { describeRequest, repeatOf, sendRequest, withTimeout } from './send-request.ts'

/** Operations whose result is an event stream. */
const streams: ReadonlySet<OperationName> = new Set(['events.stream', 'sessions.events'])

/** Operations whose result is the response itself: downloads, and streams in the protocol of the AI SDK. */
const raw: ReadonlySet<OperationName> = new Set([
  'turns.stream',
  'chat.send',
  'chat.resume',
  'sessions.export',
  'files.read',
  'attachments.read',
])

/** Operations that answer with a value where HTTP has an error status. */
const answering: ReadonlySet<OperationName> = new Set([
  'inbox.decide',
  'waits.resolve',
  'clientCalls.answer',
  'tasks.signal',
])

type AnyMethod = (input?: Fields, options?: RequestOptions) => unknown

export function buildClient(options: ClientOptions, ports: ClientPorts): Client {
  const settings = readClientOptions(options, ports)
  const groups: Record<string, Record<string, AnyMethod>> = {}
  for (const endpoint of endpointList) {
    const [group, method] = endpoint.name.split('.') as [string, string]
    groups[group] ??= {}
    groups[group][method] = streams.has(endpoint.name) ? stream(settings, endpoint) : request(settings, endpoint)
  }
  for (const group of Object.values(groups)) Object.freeze(group)
  return Object.freeze(groups) as unknown as Client
}

const stream =
  (settings: ClientSettings, endpoint: Endpoint): AnyMethod =>
  (input = {}, { signal } = {}) => {
    const after = typeof input.after === 'string' ? input.after : undefined
    const requestAfter = (cursor: string | undefined): BuiltRequest =>
      buildRequest(endpoint, { ...input, after: cursor })
    requestAfter(after) // an invalid input is reported at once
    return streamEvents(settings, requestAfter, after, signal)
  }

function request(settings: ClientSettings, endpoint: Endpoint): AnyMethod {
  const { name } = endpoint
  return async (input, { signal } = {}) => {
    const request = buildRequest(endpoint, input)
    return withTimeout(settings, request, signal, (signal) =>
      sendRequest<unknown>(settings, request, {
        repeat: repeatOf(request, input ?? {}),
        signal,
        read: async (response) => (raw.has(name) ? response : readJson(settings, request, response)),
        fromProblem: (problem) => (answering.has(name) ? answerIn(problem) : undefined),
      }),
    )
  }
}

async function readJson(settings: ClientSettings, request: BuiltRequest, response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch (cause) {
    const message = `${describeRequest(settings, request)} was not answered with JSON. Check the \`url\` of the client.`
    throw new PawlHttpError(message, { code: 'response_invalid', status: response.status, cause })
  }
}

/** `{ answer: 'already_decided', … }` or `{ accepted: false, … }`. */
function answerIn(problem: Problem): unknown {
  const answer = problem?.answer
  if (typeof answer !== 'object' || answer === null) return undefined
  const { answer: verdict, accepted } = answer as { answer?: unknown; accepted?: unknown }
  return typeof verdict === 'string' || accepted === false ? answer : undefined
}
