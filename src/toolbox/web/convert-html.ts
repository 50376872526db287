// Converts HTML to Markdown or text. A thread (html-thread-entry.ts) does it with bounded memory and a deadline; if that
// fails, the tags are stripped here.

import type { Worker } from 'node:worker_threads'
import type { Clock } from '../../core/clock.ts'
import { startThread, threadProgram } from '../../store/worker-thread.ts'

export interface ConvertRequest {
  readonly html: string
  /** Base URL of relative links. */
  readonly base: string
  readonly format: 'markdown' | 'text'
  /** Limit in characters: a hostile page can expand a hundredfold. */
  readonly mostOutput: number
}

export interface Converted {
  readonly text: string
  readonly title: string
  readonly cut: boolean
}

/** Ordinary pages take a few milliseconds; a thread takes about 50 ms to start. */
const deadlineMs = 4_000
/** Limit for the start of a thread. It does not count toward the deadline of the page. */
const startMs = 20_000
/** Each thread takes a core and memory, so more threads would only miss the deadline together. */
const maxThreads = 4
/** How long a page waits for a free thread. */
const queueMs = 15_000
const threadLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/** Never throws because of the page; only when the signal is aborted. */
export async function convertHtml(
  page: ConvertRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Converted & { readonly plain: boolean }> {
  const done = (await acquireThread(clock, signal))
    ? await convertInThread(page, clock, signal).finally(releaseThread)
    : undefined
  signal.throwIfAborted()
  if (done) return { ...done, plain: false }
  const text = stripTags(page.html)
  return {
    text: text.slice(0, page.mostOutput).toWellFormed(),
    title: '',
    cut: text.length > page.mostOutput,
    plain: true,
  }
}

let threadsInUse = 0
const waiters = new Set<() => void>()

/** Waits for a thread slot. False on timeout or abort: then there is no slot to release. */
async function acquireThread(clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (threadsInUse < maxThreads) {
    threadsInUse++
    return true
  }
  const { resolve, promise } = Promise.withResolvers<boolean>()
  const wake = (): void => resolve(true)
  const leave = (): void => resolve(!waiters.delete(wake))
  waiters.add(wake)
  const cancelTimer = clock.timer(queueMs, leave)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  return promise.finally(() => {
    cancelTimer()
    signal.removeEventListener('abort', leave)
  })
}

function releaseThread(): void {
  const [next] = waiters
  if (!next) return void threadsInUse--
  waiters.delete(next)
  next()
}

async function convertInThread(
  page: ConvertRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Converted | undefined> {
  const { resolve, promise } = Promise.withResolvers<Converted | undefined>()
  let thread: Worker
  try {
    thread = startThread(threadProgram(import.meta.url, 'html-thread-entry'), {
      workerData: page,
      env: {},
      resourceLimits: threadLimits,
      name: 'pawl web_fetch',
    })
  } catch {
    return undefined // for example, there are too many threads
  }
  const stop = (): void => resolve(undefined)
  thread.once('message', resolve).on('error', stop).once('exit', stop)
  let cancelTimer = clock.timer(startMs, stop)
  const onOnline = (): void => {
    cancelTimer()
    cancelTimer = clock.timer(deadlineMs, stop)
  }
  thread.once('online', onOnline)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await promise
  } finally {
    cancelTimer()
    thread.off('online', onOnline)
    signal.removeEventListener('abort', stop)
    // The slot is released only after the thread is gone.
    await thread.terminate()
  }
}

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const hiddenElements = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head'])
const inlineElements = new Set([
  'a',
  'abbr',
  'b',
  'code',
  'em',
  'font',
  'i',
  'small',
  'span',
  'strong',
  'sub',
  'sup',
  'u',
])

/** Strips the tags from HTML in a single pass without backtracking. */
export function stripTags(html: string): string {
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
    if (hiddenElements.has(name)) {
      const end = findClosingTag(html, name, at)
      at = end === -1 ? html.length : end
    }
    if (!comment && !inlineElements.has(name.replace('/', ''))) parts.push('\n')
  }
  parts.push(html.slice(at))
  return parts
    .join('')
    .replaceAll(
      /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi,
      (all, decimal?: string, hex?: string, name?: string) =>
        name === undefined
          ? characterOf(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal), all)
          : (namedEntities[name.toLowerCase()] ?? all),
    )
    .split('\n')
    .map((line) => line.replaceAll(/[ \t\r\f]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}

/** Finds the closing tag of a hidden element, from `at` on; -1 if there is none. */
function findClosingTag(html: string, name: string, at: number): number {
  for (let from = at; ;) {
    const next = html.indexOf('</', from)
    if (next === -1) return -1
    if (html.slice(next + 2, next + 2 + name.length).toLowerCase() === name) return next
    from = next + 2
  }
}

const characterOf = (code: number, otherwise: string): string =>
  code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : otherwise
