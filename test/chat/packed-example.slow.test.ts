// The chat example as a reader of the packed package pastes it into a new project, with its page open while the server
// is killed: before the first word, in mid-answer, while an approval waits, after the decision, and at the end.

import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { UIMessage } from 'ai'
import { build } from 'esbuild'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'
import type { UserAction } from './child-page.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
/** `npm install` of the guide, as links to the packages of this repository. */
const installed = ['hono', '@hono/node-server', 'ai', '@ai-sdk/react', 'react', 'react-dom', 'esbuild']
let project: string

beforeAll(async () => {
  project = freshDir()
  const modules = join(project, 'node_modules')
  mkdirSync(modules)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: root })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(project, filename), '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'pawl'))
  const manifest = readFileSync(join(modules, 'pawl/package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  for (const name of new Set([...Object.keys(dependencies), ...installed])) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  const guide = readFileSync(join(modules, 'pawl/docs/guide/chat.md'), 'utf8')
  for (const name of ['server.ts', 'page.tsx']) {
    const [, code = ''] = guide.split(`\`${name}\`:\n\n`)[1]?.split(/^```(?:tsx?)?\n/m) ?? []
    writeFileSync(join(project, name), code)
  }
  copyFileSync(join(import.meta.dirname, 'child-slow-model.ts'), join(project, 'slow-model.ts'))
  await buildPage()
}, 120_000)

/** The page of the guide for Node, with child-page.ts as its browser. */
async function buildPage(): Promise<void> {
  const browser = join(import.meta.dirname, 'child-page.ts')
  await build({
    entryPoints: [join(project, 'page.tsx')],
    outfile: join(project, 'page.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    jsx: 'automatic',
    plugins: [
      {
        name: 'browser',
        setup({ onResolve }) {
          onResolve({ filter: /^[a-z@]/ }, ({ path, importer }) =>
            importer.endsWith('page.tsx') && (path === 'react-dom/client' || path === '@ai-sdk/react')
              ? { path: browser }
              : { external: true },
          )
        },
      },
    ],
  })
}

const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})

/** The server of the guide: one process, or a web process and a worker. */
class Server {
  readonly #roles: readonly string[]
  readonly #port: number
  #running: ChildProcess[] = []
  printed = ''

  constructor(roles: readonly string[], port: number) {
    this.#roles = roles
    this.#port = port
    this.start()
  }

  start(): void {
    this.#running = this.#roles.map((role) => {
      const args = ['--import', './slow-model.ts', 'server.ts', role]
      const child = spawn(process.execPath, args, { cwd: project, env: { ...process.env, PORT: `${this.#port}` } })
      child.stdout.on('data', (chunk: Buffer) => void (this.printed += chunk.toString()))
      children.add(child)
      return child
    })
  }

  async killAndRestart(): Promise<void> {
    const exited = this.#running.map((child) => new Promise((resolve) => void child.once('exit', resolve)))
    for (const child of this.#running) child.kill('SIGKILL')
    await Promise.all(exited)
    this.start()
  }

  /** Starts to watch what is printed; resolves when this was printed so often. */
  prints(text: string, times = 1): () => boolean {
    const from = this.printed.length
    return () => this.printed.slice(from).split(text).length > times
  }
}

class Page {
  readonly #child: ChildProcess
  /** All that was shown, one entry per change. */
  readonly screens: string[] = []

  constructor(url: string) {
    this.#child = fork(join(project, 'page.mjs'), { env: { ...process.env, PAGE_URL: url } })
    children.add(this.#child)
    this.#child.on('message', (screen: string) => void this.screens.push(screen))
  }

  get screen(): string {
    return this.screens.at(-1) ?? ''
  }

  get isReady(): boolean {
    return this.screen.includes('<input') && !this.screen.includes('disabled')
  }

  do(action: UserAction): void {
    this.#child.send(action)
  }

  /** The paragraphs, one for each message. */
  get messages(): string[] {
    return [...this.screen.matchAll(/<p>(.*?)<\/p>/g)].map(([, text = '']) => text.trim())
  }

  close(): void {
    this.#child.kill('SIGKILL')
    children.delete(this.#child)
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>, seen: () => string): Promise<void> {
  for (const began = Date.now(); !(await holds()); await new Promise((resolve) => setTimeout(resolve, 10)))
    if (Date.now() - began > 40_000) throw new Error(`Waited for ${what}; the page shows ${seen()}`)
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const countOf = (text: string, part: string): number => text.split(part).length - 1
const help = 'Done. Say Refund, Ship or Report.'
/** What the model says, and how often in all. */
const said = { 'I refund it.': 1, 'I call the carrier.': 1, 'I start it.': 1, 'Your report is ready.': 1, [help]: 3 }

test.for([['both'], ['web', 'worker']])(
  'SESS-12 SESS-13: the pasted chat survives kill -9 while its page watches (%s)',
  { timeout: 180_000 },
  async (roles) => {
    rmSync(join(project, 'chat.db'), { force: true })
    for (const end of ['-wal', '-shm', '-key', '-live', '-live-wal', '-live-shm'])
      rmSync(join(project, `chat.db${end}`), { force: true })
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const server = new Server(roles, port)
    const isUp = (): Promise<boolean> =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    await until('the server', isUp, () => server.printed)
    const page = new Page(url)
    const shows = (text: string, times = 1) =>
      until(
        text,
        () => countOf(page.screen, text) >= times && page.isReady,
        () => page.screen,
      )
    const say = async (text: string): Promise<void> => {
      await until(
        'the input',
        () => page.isReady,
        () => page.screen,
      )
      page.do({ say: text })
    }

    const isAsked = server.prints('asked')
    await say('Refund')
    await until('the model', isAsked, () => page.screen)
    await server.killAndRestart() // before the first word
    await shows('Approve')
    await server.killAndRestart() // while the approval waits
    page.do({ approve: true })
    await until(
      'the decision',
      () => !page.screen.includes('Approve'),
      () => page.screen,
    )
    await server.killAndRestart() // after the decision
    await shows(help)

    const isInAnswer = server.prints('said', 2)
    const isAnnounced = server.prints('/carrier/')
    await say('Ship')
    await until('an answer', isInAnswer, () => page.screen)
    await server.killAndRestart() // in mid-answer
    await until('the carrier', isAnnounced, () => page.screen)
    await server.killAndRestart() // while the webhook is awaited
    await until('the server', isUp, () => server.printed)
    const [webhook = ''] = /localhost:\S+\/carrier\/\S+/.exec(server.printed) ?? []
    expect(await (await fetch(`http://${webhook}`, { method: 'POST', body: '"Sent"' })).json()).toEqual({
      answer: 'accepted',
    })
    await shows(help, 2)

    await say('Report')
    await until(
      'the answer',
      () => page.screen.includes('I start'),
      () => page.screen,
    )
    await server.killAndRestart() // while the task starts
    await shows('Your report is ready.')
    await shows(help, 3)

    const final = [
      'Refund',
      `I refund it. [tool-refund: output-available] ${help}`,
      'Ship',
      `I call the carrier. [tool-ship: output-available] ${help}`,
      'Report',
      `I start it. [tool-spawn_background: output-available] ${help}`,
      'Your report is ready.',
    ]
    expect(page.messages).toEqual(final)
    // At no moment was a text there twice, or something that the user wrote gone.
    for (const [index, screen] of page.screens.entries()) {
      for (const [text, times] of Object.entries(said)) expect(countOf(screen, text)).toBeLessThanOrEqual(times)
      for (const text of ['Refund', 'Ship', 'Report'])
        if (index > 0 && page.screens[index - 1]?.includes(`<p>${text}</p>`)) expect(screen).toContain(`<p>${text}</p>`)
    }
    page.close()
    const reloaded = new Page(url)
    await until(
      'the record',
      () => reloaded.messages.length === final.length,
      () => reloaded.screen,
    )
    expect(reloaded.messages).toEqual(final)
    const recorded = (await (await fetch(`${url}/api/chat/c1`)).json()) as UIMessage[]
    expect(countOf(JSON.stringify(recorded), 'Paid 42 €')).toBe(1)
  },
)
