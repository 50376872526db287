// Every operation of the server with its method and path. The server, the client, the CLI and the OpenAPI document read
// this table. It has no imports, so that a browser loads little of the server with the client.

export const endpoints = {
  // Tools.
  'tools.list': 'GET /v1/tools',
  'tools.get': 'GET /v1/tools/:tool',
  'providers.list': 'GET /v1/providers',
  'providers.reconnect': 'POST /v1/providers/:provider/reconnect',
  'quarantine.list': 'GET /v1/quarantine',
  'quarantine.accept': 'POST /v1/quarantine/accept',

  // Sessions.
  'sessions.list': 'GET /v1/sessions',
  'sessions.get': 'GET /v1/sessions/:session',
  'sessions.cancel': 'POST /v1/sessions/:session/cancel',
  'sessions.end': 'POST /v1/sessions/:session/end',
  'sessions.erase': 'DELETE /v1/sessions/:session',
  'sessions.export': 'GET /v1/sessions/:session/export',

  // Calls and batches.
  'calls.run': 'POST /v1/sessions/:session/calls',
  'calls.list': 'GET /v1/sessions/:session/calls',
  'calls.get': 'GET /v1/sessions/:session/calls/:call',
  'calls.cancel': 'POST /v1/sessions/:session/calls/:call/cancel',
  'calls.recent': 'GET /v1/calls',
  'calls.find': 'GET /v1/calls/:call',
  'calls.timeline': 'GET /v1/calls/:call/timeline',
  'calls.diagnostics': 'GET /v1/calls/:call/diagnostics',
  'batches.run': 'POST /v1/sessions/:session/batches',
  'outputs.read': 'GET /v1/sessions/:session/outputs/:handle',
  'clientCalls.list': 'GET /v1/sessions/:session/client-calls',
  'clientCalls.answer': 'POST /v1/sessions/:session/client-calls/:callId/answer',

  // Turns and messages.
  'turns.start': 'POST /v1/sessions/:session/turns',
  'turns.open': 'GET /v1/sessions/:session/turns/open',
  'turns.get': 'GET /v1/sessions/:session/turns/:turn',
  'turns.stream': 'GET /v1/sessions/:session/turns/:turn/stream',
  'turns.cancel': 'POST /v1/sessions/:session/turns/:turn/cancel',
  'chat.messages': 'GET /v1/sessions/:session/chat',
  'chat.send': 'POST /v1/sessions/:session/chat',
  'chat.resume': 'GET /v1/sessions/:session/chat/:chat/stream',
  'messages.list': 'GET /v1/sessions/:session/messages',
  'messages.send': 'POST /v1/sessions/:session/messages',
  'messages.waiting': 'GET /v1/sessions/:session/messages/waiting',
  'notices.list': 'GET /v1/sessions/:session/notices',
  'notices.acknowledge': 'POST /v1/sessions/:session/notices/acknowledge',

  // People.
  'inbox.list': 'GET /v1/inbox',
  'inbox.get': 'GET /v1/inbox/:item',
  'inbox.decided': 'GET /v1/inbox/:item/decided',
  'inbox.context': 'GET /v1/inbox/:item/context',
  'inbox.decide': 'POST /v1/inbox/:item/decision',
  'rules.list': 'GET /v1/rules',
  'rules.revoke': 'DELETE /v1/rules/:rule',
  'policy.rules': 'GET /v1/policy/rules',
  'policy.explain': 'POST /v1/policy/explain',
  'connections.list': 'GET /v1/connections',
  'connections.set': 'PUT /v1/connections/:provider',
  'connections.remove': 'DELETE /v1/connections/:provider',
  'waits.resolve': 'POST /v1/waits/resolve',

  // Background work.
  'tasks.recent': 'GET /v1/tasks',
  'tasks.list': 'GET /v1/sessions/:session/tasks',
  'tasks.start': 'POST /v1/sessions/:session/tasks',
  'tasks.get': 'GET /v1/sessions/:session/tasks/:task',
  'tasks.result': 'GET /v1/sessions/:session/tasks/:task/result',
  'tasks.cancel': 'POST /v1/sessions/:session/tasks/:task/cancel',
  'tasks.signal': 'POST /v1/sessions/:session/tasks/:task/signals',
  'tasks.message': 'POST /v1/sessions/:session/tasks/:task/messages',
  'tasks.messages': 'GET /v1/sessions/:session/tasks/:task/messages',
  'tasks.events': 'GET /v1/sessions/:session/tasks/:task/events',
  'schedules.upcoming': 'GET /v1/schedules',
  'schedules.stopped': 'GET /v1/schedules/stopped',
  'schedules.list': 'GET /v1/sessions/:session/schedules',
  'schedules.create': 'POST /v1/sessions/:session/schedules',
  'schedules.get': 'GET /v1/sessions/:session/schedules/:schedule',
  'schedules.cancel': 'DELETE /v1/sessions/:session/schedules/:schedule',
  'schedules.pause': 'POST /v1/sessions/:session/schedules/:schedule/pause',
  'schedules.resume': 'POST /v1/sessions/:session/schedules/:schedule/resume',
  'schedules.run': 'POST /v1/sessions/:session/schedules/:schedule/run',
  'schedules.history': 'GET /v1/sessions/:session/schedules/:schedule/history',
  'triggers.list': 'GET /v1/sessions/:session/triggers',
  'triggers.subscribe': 'POST /v1/sessions/:session/triggers',
  'triggers.get': 'GET /v1/sessions/:session/triggers/:trigger',
  'triggers.unsubscribe': 'DELETE /v1/sessions/:session/triggers/:trigger',
  'triggers.pause': 'POST /v1/sessions/:session/triggers/:trigger/pause',
  'triggers.resume': 'POST /v1/sessions/:session/triggers/:trigger/resume',
  'triggers.emit': 'POST /v1/emit',

  // Data of a session.
  'files.list': 'GET /v1/sessions/:session/files',
  'files.read': 'GET /v1/sessions/:session/files/*path',
  'files.write': 'PUT /v1/sessions/:session/files/*path',
  'files.remove': 'DELETE /v1/sessions/:session/files/*path',
  'values.list': 'GET /v1/sessions/:session/values',
  'values.get': 'GET /v1/sessions/:session/values/:key',
  'values.set': 'PUT /v1/sessions/:session/values/:key',
  'values.delete': 'DELETE /v1/sessions/:session/values/:key',
  'secrets.list': 'GET /v1/sessions/:session/secrets',
  'secrets.set': 'PUT /v1/sessions/:session/secrets/:name',
  'secrets.delete': 'DELETE /v1/sessions/:session/secrets/:name',
  'attachments.read': 'GET /v1/attachments/:attachment',

  // Events.
  'events.stream': 'GET /v1/events',
  'sessions.events': 'GET /v1/sessions/:session/events',
  'audit.list': 'GET /v1/audit',

  // The whole store.
  'workers.list': 'GET /v1/workers',
  'health.get': 'GET /v1/health',
  'store.prune': 'POST /v1/prune',
  'tokens.list': 'GET /v1/tokens',
  'tokens.create': 'POST /v1/tokens',
  'tokens.revoke': 'DELETE /v1/tokens/:token',
  'me.get': 'GET /v1/me',
} as const

/** The name of an operation, such as `calls.run`. */
export type OperationName = keyof typeof endpoints
