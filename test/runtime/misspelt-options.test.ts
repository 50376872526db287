// Every public function that takes options refuses a misspelt name and a wrong type of each of them. The functions are
// data; a function of the runtime, of a session or of a package entry that is in neither list fails the last tests.

import {
  aiModel,
  aiTools,
  type ChatOptions,
  chatResponse,
  fromAiSdk,
  pawlTools,
  resumeChatResponse,
  toUIMessageStreamResponse,
  wrapTools,
} from 'pawl/ai-sdk'
import { anthropicResults, runAnthropic } from 'pawl/anthropic'
import { callsFromOpenAI, openaiResults, openaiTools, runOpenAI } from 'pawl/openai'
import { postgresStore } from 'pawl/postgres'
import {
  agent,
  connectionRequired,
  createRuntime,
  effectUnknown,
  fail,
  jsonLogger,
  ModelFailure,
  result,
  retry,
  tool,
  type Turn,
} from 'pawl'
import { mcpProvider } from 'pawl/mcp'
import { fromAnthropic, fromMcp, fromOpenAI, toOpenAI } from 'pawl'
import { crashTest, memoryStore, replay, scriptedModel, testRuntime } from 'pawl/testing'
import { failingTool, flakyTool, hangingTool, slowTool } from 'pawl/testing'
import { telemetry } from 'pawl/otel'
import { runProcess, toolbox } from 'pawl/toolbox'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signLinkOptions } from '../../src/access/decision-links.ts'
import { createTokenOptions, listTokensOptions, revokeTokenOptions } from '../../src/access/tokens.ts'
import { chatOptions, resumeChatOptions } from '../../src/adapters/ai-sdk/ui-chat.ts'
import { aiModelOptions } from '../../src/adapters/ai-sdk/wrap-model.ts'
import { aiToolTermOptions } from '../../src/adapters/ai-sdk/wrap-tools.ts'
import { decisionOptions } from '../../src/approvals/decision-input.ts'
import { acceptOptions } from '../../src/approvals/definition-pins.ts'
import { inboxOptions } from '../../src/approvals/inbox.ts'
import { clientCallOptions } from '../../src/approvals/pending-client-calls.ts'
import {
  connectionOptions as connectionOf,
  connectOptions,
  removeOptions,
  listConnectionsOptions,
} from '../../src/approvals/account-connections.ts'
import { listRulesOptions, revokeOptions } from '../../src/approvals/remembered-rules.ts'
import { explainOptions } from '../../src/calls/authorization/explain-decision.ts'
import { option, type OptionTable } from '../../src/core/check-options.ts'
import { systemClock } from '../../src/core/clock.ts'
import { effectUnknownOptions, failOptions, retryOptions } from '../../src/core/outcome.ts'
import { feedOptions, recentEventsOptions, runtimeFeedOptions } from '../../src/feed/read-options.ts'
import { eraseOptions, pruneOptions } from '../../src/maintenance/retention.ts'
import { budgetOptions } from '../../src/policy/budgets.ts'
import { modelFailureOptions } from '../../src/models/model.ts'
import { policyRulesOptions } from '../../src/policy/list-rules.ts'
import { policyOptions, ruleOptions } from '../../src/policy/rules.ts'
import { closeOptions, type Runtime, runtimeOptions } from '../../src/runtime-options.ts'
import { jsonLoggerOptions } from '../../src/runtime/json-logger.ts'
import { telemetryOptions } from '../../src/otel/telemetry-options.ts'
import { runtimeEmitOptions, emitOptions } from '../../src/schedules/emit-event.ts'
import { scheduleOptions } from '../../src/schedules/schedules.ts'
import { subscribeOptions } from '../../src/schedules/triggers.ts'
import { decidedOptions } from '../../src/runtime/public-runtime.ts'
import { schedulesQueryOptions, stoppedQueryOptions } from '../../src/schedules/schedules-of-all-sessions.ts'
import { outputPageOptions } from '../../src/sessions/read-call-records.ts'
import { cancelCallOptions } from '../../src/sessions/cancel-call.ts'
import { sessionsQueryOptions } from '../../src/sessions/list-sessions.ts'
import { recentCallsOptions } from '../../src/sessions/recent-calls.ts'
import { runtimeCallOptions } from '../../src/sessions/runtime-calls.ts'
import { callsQueryOptions } from '../../src/sessions/session-calls.ts'
import { endOptions } from '../../src/sessions/session-end.ts'
import { callOptions, runOptions, sessionOptions } from '../../src/sessions/session-options.ts'
import type { Session } from '../../src/sessions/session.ts'
import { createClient } from '../../src/client/client.ts'
import { clientOptions } from '../../src/client/client-options.ts'
import { startServer, startServerOptions } from '../../src/server/listen.ts'
import { serverOptions } from '../../src/server/options.ts'
import { createMcpServer, createMcpServerOptions } from '../../src/mcp/server/mcp-server.ts'
import { createServer } from '../../src/server/server.ts'
import { verifyWebhook, verifyWebhookOptions } from '../../src/server/webhooks/verify-webhook.ts'
import { webhook, webhookOptions } from '../../src/server/webhooks/webhook.ts'
import { mcpProviderOptions } from '../../src/mcp/client/mcp-provider.ts'
import { serverConfigOptions } from '../../src/mcp/client/server-config.ts'
import { memoryStoreOptions } from '../../src/store/memory/memory-store.ts'
import { answerOptions } from '../../src/store/records/wait-resolution.ts'
import { taskQueryOptions } from '../../src/tasks/read-task.ts'
import { startTaskOptions } from '../../src/tasks/start-task.ts'
import * as tasks from '../../src/tasks/tasks.ts'
import { crashTestOptions } from '../../src/testing/crash/crash-test.ts'
import { testToolOptions } from '../../src/testing/failing-tools.ts'
import { replayOptions } from '../../src/testing/replay.ts'
import { scriptedModelOptions } from '../../src/testing/scripted-model.ts'
import { processOptions } from '../../src/toolbox/processes/run-process.ts'
import { shellOptions } from '../../src/toolbox/shell/shell.ts'
import { secretToolOptions } from '../../src/toolbox/secrets/secret-store-tool.ts'
import { webOptions } from '../../src/toolbox/web/fetch-rules.ts'
import { mcpTermOptions, toOpenAIOptions, toolTermOptions } from '../../src/tools/convert-tool-formats.ts'
import { connectionOptions, resultOptions } from '../../src/tools/result.ts'
import { toolOptions } from '../../src/tools/tool.ts'
import { agentOptions } from '../../src/turns/agents/agent.ts'
import { pageOptions, sendOptions } from '../../src/turns/conversation/session-messages.ts'
import { uiMessagesOptions } from '../../src/turns/find-turns.ts'
import { uiStreamOptions } from '../../src/turns/streams/turn-streams.ts'
import { turnOptions } from '../../src/turns/turn-request.ts'

let runtime: Runtime
let session: Session
const work = tool({
  name: 'work',
  description: 'Works',
  input: { type: 'object' } as never,
  background: true,
  execute: () => 1,
})
beforeAll(async () => {
  runtime = await createRuntime({ store: 'memory:', tools: [work] })
  session = runtime.session('s')
  await session.tasks.start({ tool: 'work', id: 't' })
})
afterAll(() => runtime.close())

const named = { name: 'x', description: 'x' }
const execute = (): number => 1
const sdkTool = { description: 'x', inputSchema: { type: 'object' }, execute } as never
const sdkSession = { id: 's', tenant: 't', run: () => Promise.resolve([]) } as never
const change = { provider: 'p', tool: 't', fingerprint: 'f', by: 'b' }
const newToken = { name: 'n', roles: ['viewer'] as const }
const hook = { url: 'https://example.com', secret: 'a secret of 16 bytes' }
const received = { body: '', headers: {}, secret: hook.secret }
/** A table that its module does not export, because an export of an entry would be public. All of its rows have a type. */
const rowsOf = (names: string): OptionTable => Object.fromEntries(names.split(' ').map((name) => [name, option.string]))
/** Answers as the runtime does for input that may come from outside: the problems are returned. */
const thrown = async (answer: Promise<{ answer: string }>): Promise<void> => {
  throw new Error(((await answer) as { problems?: string[] }).problems?.join(' '))
}
/** The function, its table, and a call of it with these options. */
const functions: [string, OptionTable, (options: never) => unknown][] = [
  ['createRuntime', runtimeOptions, (how: object) => createRuntime({ store: 'memory:', ...how })],
  ['policy', policyOptions, (policy: object) => createRuntime({ store: 'memory:', policy })],
  ['policy.rules', ruleOptions, (rule: object) => opened({ policy: { rules: [{ then: 'ask', ...rule } as never] } })],
  ['budgets', budgetOptions, (budgets: object) => opened({ budgets })],
  ['tool', toolOptions, (how: object) => tool({ ...named, input: {} as never, execute, ...how })],
  ['agent', agentOptions, (how: object) => agent({ ...named, ...how })],
  ['result', resultOptions, (how) => result(1, how)],
  ['connectionRequired', connectionOptions, (how) => connectionRequired('x', how)],
  ['fail', failOptions, (how) => fail('x', how)],
  ['retry', retryOptions, (how) => retry(how)],
  ['effectUnknown', effectUnknownOptions, (how) => effectUnknown('x', how)],
  ['mcpProvider', serverConfigOptions, (how: object) => mcpProvider('x', { command: 'x', ...how })],
  ['mcpProvider', mcpProviderOptions, (how) => mcpProvider('x', { command: 'x' }, how)],
  ['toolbox.shell', shellOptions, (how: object) => toolbox.shell({ folder: () => '/', ...how })],
  ['toolbox.web', webOptions, (how) => toolbox.web(how)],
  ['toolbox.secrets', secretToolOptions, (how) => toolbox.secrets(how)],
  ['runtime.session', sessionOptions, (how) => runtime.session('s', how)],
  ['runtime.emit', runtimeEmitOptions, (how) => runtime.emit('e', 1, how)],
  ['runtime.decided', decidedOptions, (how) => runtime.decided('x', how)],
  ['runtime.inbox', inboxOptions, (how) => runtime.inbox(how)],
  ['runtime.sessions.list', sessionsQueryOptions, (how) => runtime.sessions.list(how)],
  ['runtime.calls.get', runtimeCallOptions, (how) => runtime.calls.get('x', how)],
  ['runtime.calls.recent', recentCallsOptions, (how) => runtime.calls.recent(how)],
  ['runtime.explain', explainOptions, (how: object) => runtime.explain({ tool: 'work', session: 's', ...how })],
  ['runtime.policyRules', policyRulesOptions, (how) => runtime.policyRules(how)],
  ['runtime.recentEvents', recentEventsOptions, (how: object) => runtime.recentEvents({ types: [], ...how })],
  ['runtime.schedules.stopped', stoppedQueryOptions, (how) => runtime.schedules.stopped(how)],
  ['runtime.schedules.upcoming', schedulesQueryOptions, (how) => runtime.schedules.upcoming(how)],
  ['runtime.prune', pruneOptions, (how) => runtime.prune(how)],
  ['runtime.erase', eraseOptions, (how) => runtime.erase(how)],
  ['runtime.close', closeOptions, (how) => runtime.close(how)],
  ['runtime.events', runtimeFeedOptions, (how) => runtime.events(how)],
  ['runtime.rules.list', listRulesOptions, (how: object) => runtime.rules.list({ tenant: 'x', ...how })],
  ['runtime.rules.revoke', revokeOptions, (how: object) => runtime.rules.revoke('x', { tenant: 'x', by: 'y', ...how })],
  ['runtime.connections.set', connectOptions, (how: object) => connect({ token: 'x', by: 'y', ...how })],
  ['runtime.connections.list', listConnectionsOptions, (how) => runtime.connections.list(how)],
  ['runtime.connections.remove', connectionOf, (how: object) => runtime.connections.remove({ provider: 'p', ...how })],
  ['runtime.connections.remove', removeOptions, (how) => runtime.connections.remove({ provider: 'p' }, how)],
  ['runtime.tokens.create', createTokenOptions, (how: object) => runtime.tokens.create({ ...newToken, ...how })],
  ['runtime.tokens.list', listTokensOptions, (how) => runtime.tokens.list(how)],
  ['runtime.tokens.revoke', revokeTokenOptions, (how: object) => runtime.tokens.revoke('x', { by: 'y', ...how })],
  ['runtime.links.sign', signLinkOptions, (how: object) => runtime.links.sign({ item: 'x', by: 'y', ...how })],
  ['createServer', serverOptions, (how) => createServer(runtime, how)],
  ['telemetry', telemetryOptions, (how) => telemetry(how)],
  ['createMcpServer', createMcpServerOptions, (how) => createMcpServer(runtime, how)],
  ['jsonLogger', jsonLoggerOptions, (how) => jsonLogger(how)],
  ['startServer', startServerOptions, (how: object) => startServer({ runtime, ...how })],
  ['createClient', clientOptions, (how: object) => createClient({ url: 'http://localhost', ...how })],
  ['webhook', webhookOptions, (how: object) => webhook({ ...hook, ...how })],
  ['verifyWebhook', verifyWebhookOptions, (how: object) => verifyWebhook({ ...received, ...how })],
  ['session.run', runOptions, (how) => session.run([], how)],
  ['session.call', callOptions, (how) => session.call(work, {}, how)],
  ['session.turn', turnOptions, (how) => session.turn(how)],
  ['session.end', endOptions, (how) => session.end(how)],
  ['session.answer', clientCallOptions, (how) => session.answer('x', { value: 1 }, how)],
  ['session.events', feedOptions, (how) => session.events(how)],
  ['session.turns.uiMessages', uiMessagesOptions, (how) => session.turns.uiMessages(how)],
  ['session.messages.list', pageOptions, (how) => session.messages.list(how)],
  ['session.messages.send', sendOptions, (how) => session.messages.send('x', how)],
  ['session.calls.cancel', cancelCallOptions, (how) => session.calls.cancel('a', how)],
  ['session.calls.list', callsQueryOptions, (how) => session.calls.list(how)],
  ['session.outputs.read', outputPageOptions, (how) => session.outputs.read('x', how)],
  ['session.tasks.start', startTaskOptions, (how: object) => session.tasks.start({ tool: 'work', ...how })],
  ['session.tasks.schedule', tasks.whenOptions, (how) => session.tasks.schedule({ tool: 'work' }, how)],
  ['session.tasks.adopt', tasks.adoptOptions, (how) => session.tasks.adopt('x', how)],
  ['session.tasks.list', taskQueryOptions, (how) => session.tasks.list(how)],
  ['session.tasks.wait', tasks.waitOptions, (how) => session.tasks.wait('t', how)],
  ['session.tasks.signal', tasks.signalOptions, (how) => session.tasks.signal('t', 'x', 1, how)],
  ['session.tasks.message', tasks.messageOptions, (how) => session.tasks.message('t', 'x', how)],
  ['session.tasks.events', tasks.eventPageOptions, (how) => session.tasks.events('t', how)],
  ['session.tasks.messages', tasks.messagePageOptions, (how) => session.tasks.messages('t', how)],
  ['session.schedules.create', scheduleOptions, (how: object) => session.schedules.create({ message: 'x', ...how })],
  ['session.triggers.subscribe', subscribeOptions, (how: object) => subscribe({ event: 'e', message: 'x', ...how })],
  ['session.triggers.emit', emitOptions, (how) => session.triggers.emit('e', 1, how)],
  ['runtime.decide', decisionOptions, (how: object) => decide({ by: 'x', ...how })],
  ['runtime.resolve', answerOptions, (how) => thrown(runtime.resolve('x', how))],
  ['session.answer(answer)', answerOptions, (how) => thrown(session.answer('x', how))],
  ['runtime.quarantine.accept', acceptOptions, (how: object) => runtime.quarantine.accept({ ...change, ...how })],
  ['ModelFailure', modelFailureOptions, (how) => new ModelFailure('x', how)],
  ['toOpenAI', toOpenAIOptions, (how: object) => toOpenAI([], { api: 'chat', ...how })],
  ['fromOpenAI', toolTermOptions, (how) => fromOpenAI({ name: 'x' }, execute, how)],
  ['fromAnthropic', toolTermOptions, (how) => fromAnthropic({ name: 'x', input_schema: {} }, execute, how)],
  ['fromMcp', mcpTermOptions, (how) => fromMcp({ name: 'x', inputSchema: {} }, execute, how)],
  ['fromAiSdk', aiToolTermOptions, (how) => fromAiSdk('x', sdkTool, how)],
  ['toUIMessageStreamResponse', uiStreamOptions, (how) => toUIMessageStreamResponse(turnOf(), how)],
  ['turn.uiMessageStream', uiStreamOptions, (how) => turnOf().uiMessageStream(how)],
  ['resumeChatResponse', resumeChatOptions, (how) => resumeChatResponse(session, how)],
  ['chatResponse', chatOptions, (how: object) => chatResponse({ ...chat(), ...how })],
  ['aiModel', aiModelOptions, (how) => aiModel({} as never, how)],
  ['aiTools', rowsOf('tools batch until attachments'), (how) => aiTools(sdkSession, how)],
  ['wrapTools', rowsOf('batch until attachments'), (how) => wrapTools(sdkSession, {}, how)],
  ['pawlTools', rowsOf('search'), (how) => pawlTools({ search: sdkTool }, how)],
  ['openaiTools', rowsOf('api strict'), (how: object) => openaiTools([], { api: 'chat', ...how })],
  ['openaiResults', rowsOf('api attachments'), (how: object) => openaiResults([], { api: 'chat', ...how })],
  ['callsFromOpenAI', rowsOf('strict'), (how) => callsFromOpenAI([], how)],
  ['runOpenAI', rowsOf('batch signal until strict attachments'), (how) => runOpenAI(sdkSession, [], how)],
  ['anthropicResults', rowsOf('attachments'), (how) => anthropicResults([], how)],
  ['runAnthropic', rowsOf('batch signal until attachments'), (how) => runAnthropic(sdkSession, { content: '' }, how)],
  [
    'postgresStore',
    rowsOf('connection schema clock commit'),
    (how: object) => postgresStore({ connection: '', ...how }),
  ],
  ['memoryStore', memoryStoreOptions, (how) => memoryStore(how)],
  ['testRuntime', runtimeOptions, (how) => testRuntime(how)],
  ['scriptedModel', scriptedModelOptions, (how) => scriptedModel([], how)],
  ['replay', replayOptions, (how: object) => replay(session, { tools: [], ...how })],
  [
    'crashTest',
    crashTestOptions,
    (how: object) => crashTest(work, {} as never, { module: 'x', effects: () => [], ...how }),
  ],
  ['failingTool', testToolOptions.failingTool, (how) => failingTool(how)],
  ['hangingTool', testToolOptions.hangingTool, (how) => hangingTool(how)],
  ['flakyTool', testToolOptions.flakyTool, (how: object) => flakyTool({ failures: 1, ...how })],
  ['slowTool', testToolOptions.slowTool, (how: object) => slowTool({ takes: 1, clock: systemClock, ...how })],
  ['runProcess', processOptions, (how) => runProcess('true', [], how)],
]
const decide = (decision: object): unknown => thrown(runtime.decide('x', decision as never))
const opened = (options: object): unknown => createRuntime({ store: 'memory:', ...options })
const turnOf = (): Turn => session.turn({ model: scriptedModel(['Hello']), message: 'Hi', id: 'streamed' })
const chat = (): ChatOptions => ({ runtime, session, request: {}, by: 'user:ada', turn: {} })
const connect = (given: object): unknown => runtime.connections.set({ provider: 'p' }, given as never)
const subscribe = (given: object): unknown => session.triggers.subscribe(given as never)

const refusalOf = async (call: () => unknown): Promise<string> => {
  try {
    await call()
  } catch (error) {
    return (error as Error).message
  }
  return 'not refused'
}

describe.each(functions)('%s', (_, table, call) => {
  const names = Object.keys(table)
  const withoutLetter = (name: string): string =>
    name
      .split('')
      .map((_letter, at) => name.slice(0, at) + name.slice(at + 1))
      .findLast((each) => !names.includes(each)) ?? ''

  test.each(names)('CALL-12: the error about a misspelt `%s` names it', async (name) => {
    const wrong = withoutLetter(name) || `${name}x`
    expect(await refusalOf(() => call({ [wrong]: 1 } as never))).toContain(`has no option \`${wrong}\``)
  })

  test.each(names.filter((name) => table[name]?.expected !== 'anything'))(
    'CALL-12: the error about a wrong type of `%s` names it',
    async (name) => {
      expect(await refusalOf(() => call({ [name]: Symbol('wrong') } as never))).toMatch(`${name}\` is`)
    },
  )

  test.each(names.flatMap((name) => nestedTables(table, name)))(
    'CALL-12: a misspelt option and a wrong type inside `%s` are refused',
    async (path, inner, wrap) => {
      for (const name of inner) {
        const wrong = `${name}x`
        expect(await refusalOf(() => call(wrap({ [wrong]: 1 }) as never))).toContain(`has no option \`${wrong}\``)
        if (!payloads.has(`${path}.${name}`))
          expect(await refusalOf(() => call(wrap({ [name]: Symbol('wrong') }) as never))).toContain(`.${name}\` is`)
      }
    },
  )
})

type NestedTable = [path: string, names: string[], wrap: (value: object) => object]

/** The options inside an option, read from the refusal of a name that is similar to none of them. */
function nestedTables(table: OptionTable, name: string): NestedTable[] {
  const found = (value: unknown): string[] =>
    [...(/its options are (.*)/.exec(table[name]?.part?.(value, name) ?? '')?.[1] ?? '').matchAll(/`(\w+)`/g)].map(
      ([, each]) => each as string,
    )
  const unknown = { qqqqqqqq: 1 }
  const object = table[name]?.valid(unknown) ? [] : found(unknown)
  const list = table[name]?.valid([unknown]) ? [] : found([unknown])
  return [
    ...(object.length > 0 ? [[name, object, (value) => ({ [name]: value })] satisfies NestedTable] : []),
    ...(list.length > 0 ? [[name, list, (value) => ({ [name]: [value] })] satisfies NestedTable] : []),
  ]
}

/** Nested options that have a check of their own elsewhere: the runtime knows which models exist. */
const payloads = new Set(['frame.model', 'frames.model'])

test('CALL-12: the error about a misspelt option suggests the right name', async () => {
  expect(await refusalOf(() => runtime.session('s', { tenent: 't' } as never))).toBe(
    '`session()` has no option `tenent`; did you mean `tenant`?',
  )
  expect(await refusalOf(() => session.run([], { onFailure: 'halt' } as never))).toBe(
    "`onFailure` is 'halt'; it must be 'continue' or 'stop'.",
  )
  expect(await refusalOf(() => scriptedModel([], { nam: 'x' } as never))).toContain('did you mean `name`')
})

test('CALL-12: invalid options of createRuntime() leave no file behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-options-'))
  const file = join(folder, 'agent.db')
  const hook = { name: 'h', befor: () => undefined }
  const frame = { name: 'f', tool: [] }
  for (const wrong of [
    { encrypt: 'yes' },
    { lease: 1 },
    { keys: { secret: 'short' } },
    { wake: { maxConsecutive: 0 } },
    { files: { folder: 'x' } },
    { values: { key: 1 } },
    { toolSearch: { from: 0 } },
    { hooks: [hook] },
    { frames: [frame] },
    { models: [{}] },
    { models: [scriptedModel([]), scriptedModel([])] },
    { providers: [{ name: 'p' }] },
    { tools: { work } },
    { policy: { rule: [] } },
    { budgets: { turns: {} } },
  ]) {
    expect(await refusalOf(() => createRuntime({ store: `sqlite:${file}`, ...wrong } as never))).not.toBe('not refused')
    expect(existsSync(file)).toBe(false)
    expect(readdirSync(folder)).toEqual([])
  }
  rmSync(folder, { recursive: true })
})

/** Functions without options, and those with a test of their own (files, values, secrets: test/storage). */
const others = `session.loadTools session.recording session.usage session.cancel session.pendingClientCalls
  session.supersede session.redact session.turns.get session.turns.open session.turns.after session.capabilities.switchOn session.capabilities.switchOff session.capabilities.list session.messages.waiting
  session.calls.get session.tasks.get session.tasks.result session.tasks.cancel session.schedules.get
  session.schedules.list session.schedules.pause session.schedules.resume session.schedules.cancel
  session.schedules.runNow session.schedules.nextTimes session.schedules.history session.triggers.unsubscribe
  session.triggers.get session.triggers.list session.triggers.pause session.triggers.resume session.notices.list
  session.notices.acknowledge session.attachments.read runtime.diagnostics runtime.cursor
  runtime.health runtime.observe runtime.tools.add runtime.tools.remove runtime.tools.list runtime.tools.provide
  runtime.tools.withdraw runtime.tools.providers runtime.tools.reconnect runtime.tools.onChange runtime.quarantine.list runtime.connections.list runtime.tokens.verify
  runtime.links.verify`.split(/\s+/)

test('CALL-12: this file tests every function of the runtime and of a session', () => {
  const surface = (of: object, path: string): string[] =>
    Object.entries(of).flatMap(([name, value]) => {
      if (/\.(files|values|secrets)$/.test(`${path}.${name}`) || Array.isArray(value)) return []
      if (typeof value === 'function') return `${path}.${name}`
      return typeof value === 'object' && value !== null ? surface(value as object, `${path}.${name}`) : []
    })
  const known = new Set([...functions.map(([name]) => name), ...others])
  const found = [...surface(runtime, 'runtime'), ...surface(session, 'session')]
  expect(found.filter((name) => !known.has(name))).toEqual([])
  expect(found.length).toBeGreaterThan(50)
})

/** Exported functions that take no options, each with what it takes instead. */
const withoutOptions: Readonly<Record<string, string>> = {
  defineConfig: 'a configuration, which `pawl` checks when it reads it; test/cli',
  duration: 'a text',
  jsonSchema: 'a schema',
  narrate: 'templates; test/tools/narration',
  notice: 'an outcome',
  readOutputTool: 'nothing',
  toAnthropic: 'tools',
  toMcp: 'tools',
  anthropicTools: 'a session',
  callsFromAnthropic: 'a message of the provider, with further fields',
  isLost: 'steps of the AI SDK',
  toolbox: 'nothing',
  ...Object.fromEntries(
    ['time', 'progress', 'todos', 'files', 'values', 'questions', 'outputs', 'samples', 'all'].map((part) => [
      `toolbox.${part}`,
      'nothing',
    ]),
  ),
  manualClock: 'an instant',
  record: 'a session',
  reasonToSkip: 'a case and traits of a store',
  titleOf: 'a case',
  stableSpanIds: 'nothing',
  withTraceparent: 'a trace context',
  // Errors and values that the runtime makes; an application only compares with them.
  Attachment: 'a reference',
  CrashTestError: 'a report',
  EffectUnknown: 'an outcome',
  NoSlotFree: 'nothing',
  OutcomeError: 'an outcome',
  PawlError: 'a code',
  PawlHttpError: 'a problem',
  StepError: 'a failure',
  ToolFailure: 'a failure',
  WaitError: 'a resolution',
}

test('CALL-12: this file tests every function that the package exports', async () => {
  const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, { '@pawl/source'?: string }>
  }
  const known = new Set([...functions.map(([name]) => name), ...Object.keys(withoutOptions)])
  const found: string[] = []
  for (const { '@pawl/source': file } of Object.values(entries)) {
    if (file === undefined) continue
    const module = (await import(join(process.cwd(), file))) as Record<string, unknown>
    found.push(...Object.keys(module).filter((name) => typeof module[name] === 'function'))
  }
  found.push(...Object.keys(toolbox).map((name) => `toolbox.${name}`))
  expect(found.filter((name) => !known.has(name))).toEqual([])
  expect(Object.keys(withoutOptions).filter((name) => !found.includes(name))).toEqual([])
  expect(found.length).toBeGreaterThan(50)
})
