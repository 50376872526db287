// WEB: the bytes of a response, unpacked, never more than allowed: what comes is counted, and what comes out of each unpacking. Nothing is unpacked ahead
// of what is read, so a bomb costs its first few megabytes.

import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { fail, ToolFailure } from '../../core/outcome.ts'

export interface Body {
  readonly bytes: Buffer
  /** The time was over before it had all come. */
  readonly late: boolean
}

/** One coding is usual and two are odd; who stacks more does it to be unpacked. */
const mostCodings = 2
/** 8 MiB, what RFC 9659 allows for the web: more would be taken at once. */
const zstdWindowLog = 23

export const tooLarge = (most: number): ToolFailure =>
  fail(`The response is larger than ${most} bytes, which is the limit; nothing of it was kept`, {
    code: 'response_too_large',
    class: 'resource_limit',
  })

const broken = (why: string, cause?: unknown): ToolFailure =>
  fail(`The response is broken: ${why}`, {
    code: 'response_broken',
    class: 'external',
    ...(cause === undefined ? {} : { cause }),
  })

/** The codings of a response, the outermost last. Throws on those that are not understood. */
export function codingsOf(header: string | undefined): string[] {
  const codings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length > mostCodings) throw broken(`it is packed ${codings.length} times`)
  for (const coding of codings)
    if (!Object.hasOwn(unpackers, coding))
      throw broken(`it is packed as ${JSON.stringify(coding.slice(0, 40))}, which is not known`)
  return codings
}

const unpackers: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // By the standard it has a zlib header; some servers send it without.
  deflate: (first) =>
    first.length === 0 || ((first[0] as number) & 0x0f) === 8 ? createInflate() : createInflateRaw(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
}

type Bytes = AsyncIterable<Buffer>

const counted = (most: number) =>
  async function* count(source: Bytes): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const chunk of source) {
      bytes += chunk.length
      if (bytes > most) throw tooLarge(most)
      yield chunk
    }
  }

/** Reads to the end. `signal` says when the time is over; what has come by then is given back if `isLate` says that it was the time. */
export async function readBody(
  response: IncomingMessage,
  { most, signal, isLate }: { most: number; signal: AbortSignal; isLate: () => boolean },
): Promise<Body> {
  const codings = codingsOf(response.headers['content-encoding'])
  const length = Number(response.headers['content-length'])
  if (length > most) throw tooLarge(most)
  const kept: Buffer[] = []
  const keep = async (source: Bytes): Promise<void> => {
    for await (const chunk of source) kept.push(chunk)
  }
  const all = (late: boolean): Body => ({ bytes: Buffer.concat(kept), late })
  try {
    const first = codings.length === 0 ? undefined : await firstOf(response, signal)
    // Nothing at all, packed: there is no end to be missed.
    if (first?.length === 0) return all(false)
    const unpack = codings
      .toReversed()
      .map((coding, at) =>
        (unpackers[coding] as (of: Buffer) => Transform)(at === 0 ? (first as Buffer) : Buffer.alloc(0)),
      )
    const between = unpack.flatMap((each) => [each, counted(most)])
    await (pipeline as (stages: readonly unknown[], how: { signal: AbortSignal }) => Promise<void>)(
      [response, counted(most), ...between, keep],
      { signal },
    )
    return all(false)
  } catch (error) {
    if (error instanceof ToolFailure) throw error
    if (isLate()) return all(true)
    signal.throwIfAborted()
    throw broken(
      codings.length > 0 && isPacking(error) ? 'it cannot be unpacked' : 'it ended before it was complete',
      error,
    )
  }
}

/** The first bytes, put back after a look; none if there are none. */
async function firstOf(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    const chunk = response.read() as Buffer | null
    if (chunk !== null) {
      response.unshift(chunk)
      return chunk
    }
    if (response.readableEnded || response.destroyed) {
      if (response.errored) throw response.errored
      return Buffer.alloc(0)
    }
    await new Promise<void>((resolve, reject) => {
      const over = (): void => {
        response.off('readable', over).off('end', over).off('close', over).off('error', over)
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        over()
        reject(signal.reason as Error)
      }
      response.once('readable', over).once('end', over).once('close', over).once('error', over)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  }
}

const isPacking = (error: unknown): boolean =>
  /^(Z_|ERR_(_ERROR|BROTLI|ZSTD|ZLIB|PADDING)|ZSTD_|ERR__)/.test((error as NodeJS.ErrnoException).code ?? '')
