// The peers, each set up for production as its documentation says, in one process with its caller. Defaults that only
// add waiting (a poll every second) are changed in the peer's favour; the comments say so. The peers are installed in
// this folder and not in the package, so they are loaded by a specifier that the compiler does not follow, with minimal
// types.

import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { startRestate } from './restate-server.ts'
import { result, step, type Subject } from './workload.ts'

export const load = async <T>(specifier: string): Promise<T> => (await import(specifier)) as T

interface Dbos {
  setConfig(config: object): void
  registerWorkflow<A, R>(body: (input: A) => Promise<R>, options: object): (input: A) => Promise<R>
  runStep<R>(body: () => Promise<R>, options: object): Promise<R>
  launch(): Promise<void>
}

/** A registered workflow, called directly, with the pool size of the SDK. */
export async function dbos(url: string): Promise<Subject> {
  const { DBOS } = await load<{ DBOS: Dbos }>('@dbos-inc/dbos-sdk')
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, runAdminServer: false, enableOTLP: false, logLevel: 'error' })
  const body = async (steps: number): Promise<unknown> => {
    let last
    for (let index = 0; index < steps; index++) last = await DBOS.runStep(async () => step(), { name: `s${index}` })
    return last
  }
  const work = DBOS.registerWorkflow(body, { name: 'work' })
  await DBOS.launch()
  return { call: (steps) => work(steps) }
}

interface RestateContext {
  run<R>(name: string, body: () => Promise<R>): Promise<R>
}
interface RestateSdk {
  service(definition: object): object
  createEndpointHandler(options: object): Parameters<typeof createServer>[1]
}
interface RestateClients {
  connect(options: { url: string }): { serviceClient(service: object): { run(steps: number): Promise<unknown> } }
}

/** A separate server with its defaults; the HTTP/2 endpoint and the ingress client run in this process. */
export async function restate(dir: string): Promise<Subject> {
  const server = await startRestate(dir)
  const sdk = await load<RestateSdk>('@restatedev/restate-sdk')
  const { connect } = await load<RestateClients>('@restatedev/restate-sdk-clients')
  const run = async (ctx: RestateContext, steps: number): Promise<unknown> => {
    let last
    for (let index = 0; index < steps; index++) last = await ctx.run(`s${index}`, async () => step())
    return last
  }
  const service = sdk.service({ name: 'work', handlers: { run } })
  const endpoint = createServer(sdk.createEndpointHandler({ services: [service], logger: () => {} }))
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  const uri = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  const body = JSON.stringify({ uri })
  const registered = await fetch(`${server.admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (!registered.ok) throw new Error(`Registering failed: ${registered.status} ${await registered.text()}`)
  const client = connect({ url: server.ingress }).serviceClient(service)
  return { call: (steps) => client.run(steps), pids: [server.pid] }
}

interface OpenWorkflow {
  defineWorkflow(
    about: object,
    body: (given: {
      input: { steps: number }
      step: { run<R>(about: object, body: () => Promise<R>): Promise<R> }
    }) => Promise<unknown>,
  ): { run(input: object): Promise<{ result(): Promise<unknown> }> }
  newWorker(options: object): { start(): Promise<void> }
}

/** In its favour: the caller polls for the result every 5 ms (a private field) instead of every second. */
export async function openworkflow(kind: 'sqlite' | 'postgres', where: string): Promise<Subject> {
  const { OpenWorkflow } = await load<{ OpenWorkflow: new (options: object) => OpenWorkflow }>('openworkflow')
  const backends = await load<Record<string, { connect(where: string): object | Promise<object> }>>(
    `openworkflow/${kind}`,
  )
  const backend = await backends[kind === 'sqlite' ? 'BackendSqlite' : 'BackendPostgres']?.connect(where)
  const open = new OpenWorkflow({ backend })
  const work = open.defineWorkflow({ name: 'work' }, async ({ input, step: durable }) => {
    let last
    for (let index = 0; index < input.steps; index++)
      last = await durable.run({ name: `s${index}` }, async () => step())
    return last
  })
  await open.newWorker({ concurrency: 50 }).start()
  return {
    async call(steps) {
      const run = await work.run({ steps })
      Object.assign(run, { resultPollIntervalMs: 5 })
      await run.result()
    },
  }
}

interface Graph {
  addNode(name: string, body: () => Promise<object>): Graph
  addEdge(from: string, to: string): Graph
  compile(options: object): { invoke(input: object, config: object): Promise<{ last: unknown }> }
}
interface LangGraph {
  StateGraph: new (state: object) => Graph
  Annotation: { (): object; Root(fields: object): object }
  START: string
  END: string
}

/** One node per step, one thread per call, `durability: 'sync'`. */
export async function langGraph(kind: 'sqlite' | 'postgres', where: string): Promise<Subject> {
  const { StateGraph, Annotation, START, END } = await load<LangGraph>('@langchain/langgraph')
  const checkpointer = await (kind === 'sqlite' ? sqliteSaver(where) : postgresSaver(where))
  const state = Annotation.Root({ last: Annotation() })
  const graphOf = (steps: number): ReturnType<Graph['compile']> => {
    const names = Array.from({ length: steps }, (_, index) => `s${index}`)
    const graph = new StateGraph(state)
    for (const name of names) graph.addNode(name, async () => ({ last: step() }))
    for (const [index, to] of [...names, END].entries()) graph.addEdge(names[index - 1] ?? START, to)
    return graph.compile({ checkpointer })
  }
  const graphs = new Map<number, ReturnType<Graph['compile']>>()
  let threads = 0
  return {
    async call(steps) {
      const graph = graphs.get(steps) ?? graphOf(steps)
      graphs.set(steps, graph)
      const config = { configurable: { thread_id: `t${threads++}` }, durability: 'sync', recursionLimit: 100 }
      const { last } = await graph.invoke({ last: null }, config)
      if (last !== result) throw new Error('A step is missing.')
    },
  }
}

async function sqliteSaver(file: string): Promise<object> {
  const { SqliteSaver } = await load<{ SqliteSaver: { fromConnString(file: string): object } }>(
    '@langchain/langgraph-checkpoint-sqlite',
  )
  return SqliteSaver.fromConnString(file)
}

async function postgresSaver(url: string): Promise<object> {
  type Saver = { fromConnString(url: string): { setup(): Promise<void> } }
  const { PostgresSaver } = await load<{ PostgresSaver: Saver }>('@langchain/langgraph-checkpoint-postgres')
  const saver = PostgresSaver.fromConnString(url) // a `pg` pool of 10 connections
  await saver.setup()
  return saver
}
