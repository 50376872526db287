// Chats of @ai-sdk/react over HTTP while the web process and the worker are killed at random moments and pages are
// reloaded: in the end every page shows the same conversation, each text once, and each effect happened once.

import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { long } from '../kit/long-run.ts'
import { seeded } from '../kit/seeded-random.ts'
import { freshDir } from '../kit/stores/fresh-store.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'
import { firstText, lastText, secondText, shownAtEnd } from './chat-script.ts'

const rounds = long ? 5 : 1
const chatsPerRound = long ? 20 : 10
const kills = 10

const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Starts a process, and again whenever it is killed. */
class Role {
  readonly #start: () => ChildProcess
  #child: ChildProcess
  ready: Promise<unknown>

  constructor(role: string, ...args: string[]) {
    this.#start = () => {
      const child = fork(join(import.meta.dirname, 'child-chat.ts'), [role, ...args], {
        execArgv: ['--conditions=@pawl/source', '--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      children.add(child)
      return child
    }
    this.#child = this.#start()
    this.ready = once(this.#child, 'message')
  }

  async killAndRestart(): Promise<void> {
    await this.ready
    this.#child.kill('SIGKILL')
    children.delete(this.#child)
    this.#child = this.#start()
    this.ready = once(this.#child, 'message')
  }

  stop(): void {
    this.#child.kill('SIGKILL')
    children.delete(this.#child)
  }
}

const texts = [firstText, secondText, lastText]

/** One page, with what a page does after an error: repeat the request, or resume. */
class Page {
  readonly #url: string
  readonly #id: string
  readonly #random: () => number
  chat: Chat<UIMessage>
  reloads = 0
  errors = 0
  #busy: Promise<unknown> = Promise.resolve()

  constructor(url: string, id: string, random: () => number) {
    this.#url = url
    this.#id = id
    this.#random = random
    this.chat = this.#open([])
  }

  #open(messages: UIMessage[]): Chat<UIMessage> {
    return new Chat({
      id: this.#id,
      messages,
      transport: new DefaultChatTransport({ api: `${this.#url}/api/chat` }),
      onError: () => void this.errors++,
    })
  }

  async say(text: string, last: string): Promise<void> {
    let hasReloaded = this.#random() < 0.4
    this.#do(() => this.chat.sendMessage({ text }))
    for (let polls = 0; !this.#hasAnswered(last); polls++) {
      if (polls > 4_000)
        throw new Error(`${this.#id} has no answer: ${this.chat.status}, ${JSON.stringify(this.chat.messages)}`)
      await pause(15)
      this.#checkScreen()
      if (this.chat.status === 'streaming' && !hasReloaded && this.#random() < 0.05) {
        hasReloaded = true
        await this.#reload(text)
      } else if (this.chat.status === 'error') {
        await pause(100)
        this.#do(() => this.#goOn())
      } else if (this.chat.status === 'ready' && polls % 10 === 9) this.#do(() => this.#goOn())
    }
  }

  #do(action: () => Promise<unknown>): void {
    this.#busy = this.#busy.then(action).catch(() => {})
  }

  async #goOn(): Promise<void> {
    if (this.chat.status === 'streaming' || this.chat.status === 'submitted') return
    const last = this.chat.lastMessage
    const asked = last?.parts.find((part) => 'state' in part && part.state === 'approval-requested')
    if (asked && 'approval' in asked && this.chat.status === 'ready') {
      await this.chat.addToolApprovalResponse({ id: asked.approval?.id ?? '', approved: true })
      return this.chat.sendMessage()
    }
    // Repeats the last message, or asks for the rest of the answer.
    if (last?.role === 'user' || this.#random() < 0.5) return this.chat.sendMessage()
    return this.chat.resumeStream()
  }

  async #reload(text: string): Promise<void> {
    await this.chat.stop()
    await this.#busy
    this.reloads++
    for (;;) {
      try {
        const response = await fetch(`${this.#url}/api/chat/${this.#id}`)
        const messages = (await response.json()) as UIMessage[]
        // The request may not have arrived; a person would see that and write again.
        const isThere = messages.some(({ parts }) => parts.some((part) => part.type === 'text' && part.text === text))
        this.chat = this.#open(messages)
        this.#do(() => (isThere ? this.chat.resumeStream() : this.chat.sendMessage({ text })))
        return
      } catch {
        await pause(100)
      }
    }
  }

  #hasAnswered(text: string): boolean {
    const last = this.chat.lastMessage
    return (
      this.chat.status === 'ready' &&
      last?.role === 'assistant' &&
      last.parts.some((part) => part.type === 'text' && part.text === text)
    )
  }

  /** At every moment, a text on the screen is the beginning of a text of the model, and no text is there twice. */
  #checkScreen(): void {
    const shown = this.chat.messages.flatMap(({ role, parts }) =>
      role === 'assistant' ? parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? part.text : [])) : [],
    )
    for (const text of shown)
      if (!texts.some((whole) => whole.startsWith(text))) throw new Error(`The page of ${this.#id} shows: ${text}`)
    const whole = shown.filter((text) => texts.includes(text))
    if (new Set(whole).size < whole.length)
      throw new Error(`The page of ${this.#id} shows a text twice: ${shown.join('|')}`)
  }

  shown(messages = this.chat.messages): string[] {
    return messages.flatMap(({ role, parts }) =>
      parts.flatMap((part): string[] => {
        if (part.type === 'text') return [`${role}: ${part.text}`]
        return 'output' in part && typeof part.output === 'string' ? [`${role}: ${part.output}`] : []
      }),
    )
  }

  async recorded(): Promise<UIMessage[]> {
    return (await (await fetch(`${this.#url}/api/chat/${this.#id}`)).json()) as UIMessage[]
  }
}

const server = serverForFile()
let databases = 0
const stores: readonly (readonly [string, () => string])[] = [
  ['sqlite', () => JSON.stringify(`sqlite:${freshDir()}/chat.db`)],
  ['postgres', () => JSON.stringify({ connection: server.connection, schema: `chat_kills_${++databases}` })],
]

test.each(stores)(
  'SESS-12 FEED-2: chats on %s survive kill -9 of web and worker at random moments',
  { timeout: 900_000 },
  async (kind, open) => {
    for (let round = 0; round < rounds; round++) {
      const random = seeded(9_100 + round + (kind === 'sqlite' ? 0 : 500))
      const store = open()
      const effects = join(freshDir(), 'effects.txt')
      const port = await freePort()
      const roles = [new Role('web', store, String(port), effects), new Role('worker', store, '0', effects)]
      await Promise.all(roles.map(({ ready }) => ready))
      const pages = Array.from(
        { length: chatsPerRound },
        (_, n) => new Page(`http://127.0.0.1:${port}`, `c${n}`, random),
      )
      let isDone = false
      const killing = (async () => {
        for (let n = 0; n < kills && !isDone; n++) {
          await pause(100 + random() * 700)
          await roles[random() < 0.5 ? 0 : 1]?.killAndRestart()
        }
      })()
      await Promise.all(
        pages.map(async (page, n) => {
          await pause(n * 120)
          await page.say('Refund A1', secondText)
          await page.say('Thank you', lastText)
        }),
      )
      isDone = true
      await killing
      await Promise.all(roles.map(({ ready }) => ready))
      for (const page of pages) {
        expect(page.shown()).toEqual(shownAtEnd)
        expect(page.shown(await page.recorded())).toEqual(shownAtEnd)
      }
      const lines = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : []
      for (const name of ['look', 'refund'])
        expect(new Set(lines.filter((line) => line.startsWith(`${name} `))).size, name).toBe(chatsPerRound)
      console.log(
        `${kind} round ${round}: ${pages.length} chats, ${pages.reduce((sum, page) => sum + page.errors, 0)} errors, ` +
          `${pages.reduce((sum, page) => sum + page.reloads, 0)} reloads, ${lines.length} effects`,
      )
      for (const role of roles) role.stop()
    }
  },
)
