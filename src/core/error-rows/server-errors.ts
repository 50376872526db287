// Rows of the error table (errors.ts) about requests to a server.

import type { ErrorRow } from './error-row.ts'

export const serverErrors = {
  request_invalid: {
    http: 400,
    retry: false,
    summary: 'The request is malformed.',
    next: 'Correct the request; `problems` lists the invalid fields. Nothing was done.',
    detailOnly: true,
  },
  unauthorized: {
    http: 401,
    retry: false,
    summary: 'The request has no valid token.',
    next: 'Send `Authorization: Bearer <token>`. `pawl tokens create` makes a token. Nothing was done.',
  },
  forbidden: {
    http: 403,
    retry: false,
    summary: 'The token does not allow this.',
    next: 'Use a token that allows it. Nothing was done.',
  },
  not_found: {
    http: 404,
    retry: false,
    summary: 'There is no such thing.',
    next: 'Check the id.',
    detailOnly: true,
  },
  method_not_allowed: {
    http: 405,
    retry: false,
    summary: 'This path does not have this method.',
    next: 'The header `Allow` lists the methods. Nothing was done.',
  },
  request_conflict: {
    http: 409,
    retry: false,
    summary: 'Something else came first.',
    next: 'Read the current state and decide again.',
    detailOnly: true,
  },
  precondition_failed: {
    http: 412,
    retry: false,
    summary: 'What you saw has changed since.',
    next: 'Read it again and decide again. Nothing was done.',
  },
  request_too_large: {
    http: 413,
    retry: false,
    summary: 'The body of the request is too large.',
    next: 'Send less, or upload the data as a file. Nothing was done.',
  },
  media_type_unsupported: {
    http: 415,
    retry: false,
    summary: 'The body must be JSON.',
    next: 'Send `Content-Type: application/json`. Nothing was done.',
  },
  host_refused: {
    http: 421,
    retry: false,
    summary: 'The server does not answer under this host name, or not to pages of this origin.',
    next: 'Use the address that the server printed, or add the name to `allowedHosts`. Nothing was done.',
  },
  too_many_requests: {
    http: 429,
    retry: true,
    summary: 'Too many requests.',
    next: 'Wait as long as the header `Retry-After` says. Nothing was done.',
  },
  internal: {
    http: 500,
    retry: false,
    summary: 'The server failed to answer.',
    next: 'The log of the server has the cause, under the request id of this response.',
  },
  server_closing: {
    http: 503,
    retry: true,
    summary: 'The server is shutting down.',
    next: 'Send the request again in a moment. Nothing was done.',
  },
} as const satisfies Record<string, ErrorRow>
