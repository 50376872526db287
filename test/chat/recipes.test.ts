// The web servers of examples/ as processes of their own, with the chat core of @ai-sdk/react as the page.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, isToolUIPart, type UIMessage } from 'ai'
import { afterEach, expect, test } from 'vitest'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir } from '../kit/stores/fresh-store.ts'

const root = join(import.meta.dirname, '../..')
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Server {
  readonly child: ChildProcess
  readonly url: string
  /** What it has printed. */
  printed: string
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

function start(file: string, { cwd, port, role }: { cwd: string; port: number; role?: string }): Server {
  const args = ['--conditions=@pawl/source', join(root, file), ...(role === undefined ? [] : [role])]
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, PORT: String(port) } })
  children.push(child)
  const server: Server = { child, url: `http://127.0.0.1:${port}`, printed: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void (server.printed += chunk.toString()))
  return server
}

const isUp = ({ url }: Server): Promise<boolean> =>
  fetch(`${url}/api/chat/none`).then(
    ({ ok }) => ok,
    () => false,
  )

async function killed({ child }: Server): Promise<void> {
  const exited = new Promise((resolve) => void child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

const recorded = async (url: string): Promise<UIMessage[]> =>
  (await (await fetch(`${url}/api/chat/c1`)).json()) as UIMessage[]

/** A page that was loaded now. */
const openChat = async (url: string): Promise<Chat<UIMessage>> =>
  new Chat({
    id: 'c1',
    messages: await recorded(url),
    transport: new DefaultChatTransport({ api: `${url}/api/chat` }),
    sendAutomaticallyWhen: ({ messages }) =>
      messages.some(({ parts }) => parts.some((part) => isToolUIPart(part) && part.state === 'approval-responded')),
  })

const textsOf = (messages: readonly UIMessage[]): string[] =>
  messages.map(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('|'))

const approvalIn = (chat: Chat<UIMessage>): string => {
  for (const part of chat.messages.flatMap(({ parts }) => parts))
    if (isToolUIPart(part) && part.state === 'approval-requested') return part.approval.id
  return ''
}

const endsWith = (chat: Chat<UIMessage>, text: string): boolean =>
  chat.status === 'ready' && (textsOf(chat.messages).at(-1) ?? '').includes(text)

const recipes = ['examples/web-chat/server.ts', 'examples/web-express/server.ts', 'test/chat/child-next-server.ts']
test.for(recipes)(
  'SESS-12: %s answers, asks for approval and resumes after a reload',
  { timeout: 60_000 },
  async (file) => {
    const server = start(file, { cwd: freshDir(), port: await freePort() })
    await until(() => isUp(server))
    const { url } = server
    const first = await openChat(url)
    await first.sendMessage({ text: 'Refund A1' })
    expect(textsOf(first.messages)).toEqual(['Refund A1', 'I refund it.'])
    const reloaded = await openChat(url)
    reloaded.messages = reloaded.messages.slice(0, 1) // the answer comes with the stream
    await reloaded.resumeStream()
    expect(textsOf(reloaded.messages)).toEqual(['Refund A1', 'I refund it.'])
    expect(approvalIn(reloaded)).not.toBe('')
    await reloaded.addToolApprovalResponse({ id: approvalIn(reloaded), approved: true })
    await until(() => endsWith(reloaded, 'Done.'))
    expect(JSON.stringify(reloaded.messages)).toContain('Paid 42 €')
    expect(textsOf(await recorded(url))).toEqual(textsOf(reloaded.messages))
    // Nothing is open: 204.
    await reloaded.resumeStream()
    expect(reloaded.messages).toHaveLength(2)
    expect(server.printed).toBe('')
  },
)

test('SESS-12: the chat example goes on after kill -9 of its web process and of its worker', async () => {
  const [cwd, port] = [freshDir(), await freePort()]
  const file = 'examples/web-chat/server.ts'
  const split = (role: string): Server => start(file, { cwd, port, role })
  let web = split('web')
  let worker = split('worker')
  await until(() => isUp(web))
  const { url } = web
  const chat = await openChat(url)

  // The worker dies while an approval waits; the decision is taken without a worker.
  await chat.sendMessage({ text: 'Refund A1' })
  await killed(worker)
  const deciding = chat.addToolApprovalResponse({ id: approvalIn(chat), approved: true })
  await until(() => chat.status === 'submitted' || chat.status === 'streaming')
  worker = split('worker')
  await deciding
  await until(() => endsWith(chat, 'Done.'))

  // The web process dies while the carrier's answer is awaited.
  await chat.sendMessage({ text: 'Ship A1' })
  await until(() => worker.printed.includes('/carrier/'))
  await killed(web)
  web = split('web')
  await until(() => isUp(web))
  const webhook = `http://${/localhost:\S+/.exec(worker.printed)?.[0]}`
  const answer = await fetch(webhook, { method: 'POST', body: '"Collected"' })
  expect(await answer.json()).toEqual({ answer: 'accepted' })
  const reloaded = await openChat(url)
  await reloaded.resumeStream()
  await until(async () => (textsOf(await recorded(url)).at(-1) ?? '').includes('Done.'))

  // The worker dies while a task runs. The end of the task starts a turn.
  await reloaded.sendMessage({ text: 'Report' })
  await killed(worker)
  split('worker')
  await until(async () => (textsOf(await recorded(url)).at(-1) ?? '') === 'Your report is ready.')
  const help = 'Done. Say Refund, Ship or Report.'
  expect(textsOf(await recorded(url))).toEqual([
    'Refund A1',
    `I refund it.|${help}`,
    'Ship A1',
    `I call the carrier.|${help}`,
    'Report',
    `I start it.|${help}`,
    'Your report is ready.',
  ])
}, 90_000)

test('the chat example has at most 80 lines, and its page is well typed', () => {
  const folder = join(root, 'examples/web-chat')
  const lines = ['server.ts', 'page.tsx'].map((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
  expect(lines.flat().length).toBeLessThanOrEqual(80)
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', folder])
}, 60_000)
