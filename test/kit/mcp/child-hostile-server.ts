// The process of hostile-server.ts. Arguments: the file of the script and the file of the log.

import { appendFileSync, readFileSync, statSync } from 'node:fs'

export interface HostileScript {
  readonly tools?: readonly unknown[]
  /** Entries of one page of the list. Default: all. */
  readonly pageSize?: number
  /** `same`: every page has the same cursor. `new`: there is always another page. */
  readonly cursor?: 'same' | 'new'
  /** Written to stdout instead of the answer to tools/list. */
  readonly rawList?: string
  /** The behaviour of each tool. Default: it takes effect and answers with the text 'done'. */
  readonly calls?: Readonly<Record<string, HostileCall>>
  /** Exit at the probe for the newest revision, as some servers of older ones do. */
  readonly exitOnDiscover?: boolean
  /** Exit with this code right after the start, with this text on stderr. */
  readonly exitAtStart?: { readonly code: number; readonly stderr: string }
  /** Wait before the first answer. */
  readonly startDelayMs?: number
  readonly stderr?: string
  /** Ignores SIGTERM and the end of its input. */
  readonly stubborn?: true
  readonly resources?: readonly unknown[]
  readonly prompts?: readonly unknown[]
}

export interface HostileCall {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
  /** Takes effect and never answers. */
  readonly never?: true
  /** Takes effect and exits without an answer. Not if the log shows that it has done so. */
  readonly die?: true
  /** Progress every so many milliseconds, without an end. */
  readonly progressEveryMs?: number
  /** An answer with this text repeated so often. */
  readonly repeat?: { readonly text: string; readonly times: number }
  /** Many parts of this form. */
  readonly parts?: { readonly part: unknown; readonly times: number }
  /** Bytes written to stderr, then the answer. */
  readonly stderrBytes?: number
  /** So many unrequested messages, then the answer. */
  readonly notifications?: number
  readonly delayMs?: number
  /** Exits right after the answer. */
  readonly exit?: true
  /** The name of an environment variable, or all of them. */
  readonly env?: true
}

const [scriptFile = '', logFile = ''] = process.argv.slice(2)
const log = (line: string): void => appendFileSync(logFile, `${line}\n`)
const script = (): HostileScript => JSON.parse(readFileSync(scriptFile, 'utf8')) as HostileScript
const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: unknown
    readonly cursor?: string
    readonly uri?: string
    readonly requestId?: unknown
    readonly _meta?: { readonly progressToken?: unknown }
  }
}

function call({ id, params = {} }: Message): void {
  const { name = '' } = params
  const how = script().calls?.[name] ?? {}
  if (how.error) return write({ id, error: how.error })
  if (how.die && hasLine(`died ${name}`)) return answer(id, { content: [{ type: 'text', text: 'done' }] })
  log(`effect ${name} ${JSON.stringify(params.arguments)}`)
  if (how.die) {
    log(`died ${name}`)
    process.exit(9)
  }
  if (how.never) return
  if (how.progressEveryMs !== undefined) {
    let progress = 0
    const progressToken = params._meta?.progressToken
    setInterval(() => {
      write({
        method: 'notifications/progress',
        params: { progressToken, progress: ++progress, message: 'still busy' },
      })
    }, how.progressEveryMs)
    return
  }
  if (how.stderrBytes !== undefined) process.stderr.write(`${'x'.repeat(99)}\n`.repeat(how.stderrBytes / 100))
  for (let n = 0; n < (how.notifications ?? 0); n++)
    write({ method: 'notifications/message', params: { level: 'info', data: n } })
  const result = resultOf(how)
  if (how.exit) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`, () => process.exit(0))
  else if (how.delayMs === undefined) answer(id, result)
  else setTimeout(() => answer(id, result), how.delayMs)
}

function resultOf(how: HostileCall): unknown {
  if (how.result !== undefined) return how.result
  if (how.env) return { content: [{ type: 'text', text: JSON.stringify(process.env) }] }
  if (how.repeat) return { content: [{ type: 'text', text: how.repeat.text.repeat(how.repeat.times) }] }
  if (how.parts) return { content: Array.from({ length: how.parts.times }, () => how.parts?.part) }
  return { content: [{ type: 'text', text: 'done' }] }
}

const hasLine = (line: string): boolean => readFileSync(logFile, 'utf8').split('\n').includes(line)
const answer = (id: unknown, result: unknown): void => write({ id, result })

function list({ id, params = {} }: Message): void {
  const { tools = [], pageSize = tools.length, cursor, rawList } = script()
  if (rawList !== undefined) return void process.stdout.write(`${rawList.replace('<id>', JSON.stringify(id))}\n`)
  const from = Number(params.cursor ?? 0)
  if (cursor !== undefined) return answer(id, { tools, nextCursor: cursor === 'same' ? '1' : String(from + 1) })
  const to = from + pageSize
  answer(id, { tools: tools.slice(from, to), ...(to < tools.length ? { nextCursor: String(to) } : {}) })
}

const methods: Readonly<Record<string, (message: Message) => void>> = {
  'server/discover': ({ id }) => {
    if (script().exitOnDiscover) process.exit(3)
    write({ id, error: { code: -32_601, message: 'Method not found' } })
  },
  initialize({ id }) {
    const capabilities = { tools: { listChanged: true }, resources: { listChanged: true }, prompts: {} }
    const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'hostile', version: '1' } }
    setTimeout(() => answer(id, result), script().startDelayMs ?? 0)
  },
  ping: ({ id }) => answer(id, {}),
  'tools/list': list,
  'tools/call': call,
  'resources/list': ({ id }) => answer(id, { resources: script().resources ?? [] }),
  'resources/read': ({ id, params }) =>
    answer(id, { contents: [{ uri: params?.uri, text: JSON.stringify(process.env) }] }),
  'prompts/list': ({ id }) => answer(id, { prompts: script().prompts ?? [] }),
  'notifications/cancelled': ({ params }) => log(`cancelled ${JSON.stringify(params?.requestId)}`),
}

function start(): void {
  log(`started ${process.pid}`)
  const { exitAtStart, stderr } = script()
  if (stderr !== undefined) process.stderr.write(stderr)
  if (exitAtStart) {
    process.stderr.write(exitAtStart.stderr)
    process.exitCode = exitAtStart.code
    return
  }
  let changedAt = statSync(scriptFile).mtimeMs
  setInterval(() => {
    const now = statSync(scriptFile, { throwIfNoEntry: false })?.mtimeMs
    if (now === undefined) process.exit(0) // the test is over
    if (now === changedAt) return
    changedAt = now
    write({ method: 'notifications/tools/list_changed' })
    write({ method: 'notifications/resources/list_changed' })
  }, 30)
  let text = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line) as Message
      const handle = methods[message.method ?? '']
      if (handle) handle(message)
      else if (message.id !== undefined)
        write({ id: message.id, error: { code: -32_601, message: 'Method not found' } })
    }
  })
  const { stubborn } = script()
  if (stubborn) process.on('SIGTERM', () => {})
  else process.stdin.on('end', () => process.exit(0))
}

if (process.argv[1]?.endsWith('child-hostile-server.ts')) start()
