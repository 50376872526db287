// Checks of the conformance suites that may fail, with the reason. A test fails when a listed check passes.

import type { Exceptions } from './conformance-suite.ts'

const sampling = 'Pawl never asks the client for a model answer: tools get models from the runtime.'
const roots = 'Pawl does not read the roots of the client: tools get their folders from the runtime.'
const logging = 'Pawl sends no log messages to clients: the log of a call is in the record and in the logger.'
const subscriptions = 'Pawl sends list changes, but no changes of single resources.'
const pushed = 'Over HTTP the server keeps no sessions, so it cannot send requests to a client of this revision.'
const sessions = 'Over HTTP the server keeps no sessions for this revision, so the suite has nothing to check.'
const forms = 'A question of Pawl has one answer, a text or some of its choices, and is not sent over HTTP here.'
const oauth = 'The client has no OAuth: a token is a header of the server entry.'
const elicitation =
  'The client does not offer forms: a question of a server is not addressed to a person that Pawl knows.'

/** The server in suite 0.1.16, and under 2025-11-25. */
export const serverExceptionsStable: Exceptions = {
  'logging-set-level': logging,
  'tools-call-with-logging': logging,
  'tools-call-sampling': sampling,
  'tools-call-elicitation': pushed,
  'elicitation-sep1034-defaults': forms,
  'elicitation-sep1330-enums': forms,
  'resources-subscribe': subscriptions,
  'resources-unsubscribe': subscriptions,
  'server-sse-multiple-streams:nothing-checked': sessions,
  'server-sse-polling:nothing-checked': sessions,
}

/** The server under 2025-11-25. */
export const serverExceptions2025: Exceptions = {
  ...serverExceptionsStable,
  'server-session-lifecycle:nothing-checked': sessions,
}

/** The server under 2026-07-28. */
export const serverExceptions2026: Exceptions = {
  'input-required-result-basic-sampling': sampling,
  'input-required-result-basic-list-roots': roots,
  'input-required-result-multiple-input-requests': 'The tool of the suite asks for a model answer and for roots.',
  'input-required-result-non-tool-request': 'Prompts are passed through, and ask no questions.',
  'input-required-result-capability-check': sampling,
  'input-required-result-ignore-extra-params:nothing-checked':
    'An answer without the state of its question is no answer: the state binds it to the caller and the call.',
  'server-stateless:sep-2575-server-rejects-undeclared-capability': sampling,
  'server-stateless:sep-2575-missing-capability-http-400': sampling,
  'tasks-lifecycle:sep-2663-tasks-get-status-failed':
    'A call that was started ends with a result for the model, also if it fails.',
  'tasks-mrtr-composition': 'A question of a client with tasks is asked by the task.',
  'tasks-mrtr-input:tasks-mrtr-partial-fulfillment': 'The suite answers with fields that the form does not have.',
  'tasks-required-task-error': 'No tool of Pawl requires tasks: other clients wait for the result with `pawl_wait`.',
  'tasks-status-notifications:nothing-checked': 'The suite skips its own checks.',
  'http-custom-header-server-validation': 'Clients are not asked to repeat arguments in headers.',
}

const allFor = (reason: string, scenarios: readonly string[]): Exceptions =>
  Object.fromEntries(scenarios.map((scenario) => [scenario, reason]))

/** Scenarios of OAuth in both suites and revisions. */
const authorization = [
  'auth/basic-cimd',
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/pre-registration',
  'auth/scope-from-scopes-supported',
  'auth/scope-from-www-authenticate',
  'auth/scope-omitted-when-undefined',
  'auth/scope-retry-limit',
  'auth/scope-step-up',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-none',
  'auth/token-endpoint-auth-post',
]
const extensions = ['auth/dpop', 'auth/dpop-nonce', 'auth/enterprise-managed-authorization', 'auth/wif-jwt-bearer']
const offlineAccess = ['auth/offline-access-not-supported', 'auth/offline-access-scope']

/** The client in suite 0.1.16. */
export const clientExceptionsStable: Exceptions = {
  'elicitation-sep1034-client-defaults': elicitation,
  ...allFor(oauth, [
    ...authorization,
    ...offlineAccess,
    'auth/2025-03-26-oauth-endpoint-fallback',
    'auth/2025-03-26-oauth-metadata-backcompat',
    'auth/cross-app-access-complete-flow',
  ]),
}

/** The client under 2025-11-25. */
export const clientExceptions2025: Exceptions = {
  'elicitation-sep1034-client-defaults': elicitation,
  ...allFor(oauth, [...authorization, ...extensions]),
}

/** The client under 2026-07-28. */
export const clientExceptions2026: Exceptions = allFor(oauth, [
  ...authorization,
  ...extensions,
  ...offlineAccess,
  'auth/authorization-server-migration',
  'auth/iss-normalized',
  'auth/iss-not-advertised',
  'auth/iss-supported',
  'auth/iss-supported-missing',
  'auth/iss-unexpected',
  'auth/iss-wrong-issuer',
  'auth/metadata-issuer-mismatch',
  'auth/resource-mismatch',
])
