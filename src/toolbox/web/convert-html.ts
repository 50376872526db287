// WEB: HTML as a model reads it. A thread converts it (html-thread.ts), with bounded memory and until a deadline; where that does not end, the tags are taken out here.

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../core/clock.ts'

export interface ToConvert {
  readonly html: string
  /** What links are relative to. */
  readonly base: string
  readonly format: 'markdown' | 'text'
  /** Characters. A page can be made to become a hundred times as long. */
  readonly mostOutput: number
}

export interface Converted {
  readonly text: string
  readonly title: string
  readonly cut: boolean
}

/** Ordinary pages take some milliseconds, and a thread some 50 to begin. */
const deadlineMs = 4_000
/** Until it begins. Not a part of the deadline: that is the page's. */
const startMs = 20_000
/** Each takes a core and its memory: more of them would only be late together. */
const mostThreads = 4
/** How long a page waits for a thread. */
const lineMs = 15_000
const memory = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/** Never throws for a page, whatever it is. */
export async function convertHtml(
  page: ToConvert,
  clock: Clock,
  signal: AbortSignal,
): Promise<Converted & { readonly plain: boolean }> {
  const done = (await turn(clock, signal)) ? await inThread(page, clock, signal).finally(pass) : undefined
  signal.throwIfAborted()
  if (done) return { ...done, plain: false }
  const text = withoutTags(page.html)
  return {
    text: text.slice(0, page.mostOutput).toWellFormed(),
    title: '',
    cut: text.length > page.mostOutput,
    plain: true,
  }
}

let taken = 0
const waiting = new Set<() => void>()

/** False if it does not come: then there is no thread, and nothing to give back. */
async function turn(clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (taken < mostThreads) {
    taken++
    return true
  }
  const { resolve, promise } = Promise.withResolvers<boolean>()
  const wake = (): void => resolve(true)
  const leave = (): void => resolve(!waiting.delete(wake))
  waiting.add(wake)
  const callOff = clock.timer(lineMs, leave)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  return promise.finally(() => {
    callOff()
    signal.removeEventListener('abort', leave)
  })
}

function pass(): void {
  const [next] = waiting
  if (!next) return void taken--
  waiting.delete(next)
  next()
}

async function inThread(page: ToConvert, clock: Clock, signal: AbortSignal): Promise<Converted | undefined> {
  const { resolve, promise } = Promise.withResolvers<Converted | undefined>()
  // `.ts` where this runs from source, `.js` where it is built. Nothing of ours goes along: no flags, no environment.
  const file = new URL(`./html-thread${extname(new URL(import.meta.url).pathname)}`, import.meta.url)
  let thread: Worker
  try {
    thread = new Worker(file, {
      workerData: page,
      execArgv: [],
      env: {},
      resourceLimits: memory,
      name: 'pawl web_fetch',
    })
  } catch {
    return undefined // a bundler has lost the file
  }
  const stop = (): void => resolve(undefined)
  thread.once('message', resolve).on('error', stop).once('exit', stop)
  let callOff = clock.timer(startMs, stop)
  const begun = (): void => {
    callOff()
    callOff = clock.timer(deadlineMs, stop)
  }
  thread.once('online', begun)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await promise
  } finally {
    callOff()
    thread.off('online', begun)
    signal.removeEventListener('abort', stop)
    // Until it is gone it has its place.
    await thread.terminate()
  }
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const silent = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head'])
const inline = new Set(['a', 'abbr', 'b', 'code', 'em', 'font', 'i', 'small', 'span', 'strong', 'sub', 'sup', 'u'])

/** What is left of HTML without its tags. One pass, never back, whatever it is. */
export function withoutTags(html: string): string {
  const parts: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) break
    parts.push(html.slice(at, open))
    const comment = html.startsWith('<!--', open)
    const close = comment ? html.indexOf('-->', open + 4) : html.indexOf('>', open)
    if (close === -1) {
      at = html.length
      break
    }
    at = close + (comment ? 3 : 1)
    const name = comment
      ? ''
      : (/^<(\/?[a-z][a-z0-9]{0,20})/i.exec(html.slice(open, open + 24))?.[1] ?? '').toLowerCase()
    if (silent.has(name)) {
      const end = endOf(html, name, at)
      at = end === -1 ? html.length : end
    }
    if (!comment && !inline.has(name.replace('/', ''))) parts.push('\n')
  }
  parts.push(html.slice(at))
  return parts
    .join('')
    .replaceAll(
      /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi,
      (all, decimal?: string, hex?: string, name?: string) =>
        name === undefined
          ? characterOf(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal), all)
          : (named[name.toLowerCase()] ?? all),
    )
    .split('\n')
    .map((line) => line.replaceAll(/[ \t\r\f]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}

/** Where an element that says nothing ends, from `at` on. */
function endOf(html: string, name: string, at: number): number {
  for (let from = at; ;) {
    const next = html.indexOf('</', from)
    if (next === -1) return -1
    if (html.slice(next + 2, next + 2 + name.length).toLowerCase() === name) return next
    from = next + 2
  }
}

const characterOf = (code: number, otherwise: string): string =>
  code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : otherwise
