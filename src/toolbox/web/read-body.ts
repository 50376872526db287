// Reads and decompresses a response body up to a byte limit. The limit applies to the received bytes and to the output
// of each decoder. Nothing is decompressed ahead of reading, so a zip bomb costs only its first few megabytes.

import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Transform } from 'node:stream'
// The whole module: importing `createZstdDecompress` by name fails on an old Node before Pawl can say what it needs.
import zlib from 'node:zlib'
import { fail, ToolFailure } from '../../core/outcome.ts'

export interface Body {
  readonly bytes: Buffer
  /** True if the timeout ended the body before it was complete. */
  readonly late: boolean
}

/** One content coding is usual, two are rare, more are an attack. */
const maxCodings = 2
/** A window of 8 MiB, the limit of RFC 9659 for the web; a larger one would be allocated at once. */
const zstdWindowLog = 23

export const tooLarge = (most: number): ToolFailure =>
  fail(`The response is larger than ${most} bytes, which is the limit; nothing of it was kept`, {
    code: 'response_too_large',
    class: 'resource_limit',
  })

const brokenResponse = (why: string, cause?: unknown): ToolFailure =>
  fail(`The response is broken: ${why}`, {
    code: 'response_broken',
    class: 'external',
    ...(cause === undefined ? {} : { cause }),
  })

/** The content codings of a response, the outermost last. Throws for unknown codings. */
export function parseCodings(header: string | undefined): string[] {
  const codings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length > maxCodings) throw brokenResponse(`it is packed ${codings.length} times`)
  for (const coding of codings)
    if (!Object.hasOwn(decoders, coding))
      throw brokenResponse(`it is packed as ${JSON.stringify(coding.slice(0, 40))}, which is not known`)
  return codings
}

const decoders: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  // The standard requires a zlib header; some servers omit it.
  deflate: (first) =>
    first.length === 0 || ((first[0] as number) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
}

type Bytes = AsyncIterable<Buffer>

const limitBytes = (most: number) =>
  async function* count(source: Bytes): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const chunk of source) {
      bytes += chunk.length
      if (bytes > most) throw tooLarge(most)
      yield chunk
    }
  }

/** Reads to the end. If `signal` aborts because of the timeout (`isLate`), returns the bytes received so far. */
export async function readBody(
  response: IncomingMessage,
  { most, signal, isLate }: { most: number; signal: AbortSignal; isLate: () => boolean },
): Promise<Body> {
  const codings = parseCodings(response.headers['content-encoding'])
  const length = Number(response.headers['content-length'])
  if (length > most) throw tooLarge(most)
  const chunks: Buffer[] = []
  const collect = async (source: Bytes): Promise<void> => {
    for await (const chunk of source) chunks.push(chunk)
  }
  const all = (late: boolean): Body => ({ bytes: Buffer.concat(chunks), late })
  try {
    const first = codings.length === 0 ? undefined : await peekFirst(response, signal)
    // An empty body with a content coding is valid: a decoder would report a missing end.
    if (first?.length === 0) return all(false)
    const unpack = codings
      .toReversed()
      .map((coding, at) =>
        (decoders[coding] as (of: Buffer) => Transform)(at === 0 ? (first as Buffer) : Buffer.alloc(0)),
      )
    const between = unpack.flatMap((each) => [each, limitBytes(most)])
    await (pipeline as (stages: readonly unknown[], how: { signal: AbortSignal }) => Promise<void>)(
      [response, limitBytes(most), ...between, collect],
      { signal },
    )
    return all(false)
  } catch (error) {
    if (error instanceof ToolFailure) throw error
    if (isLate()) return all(true)
    signal.throwIfAborted()
    throw brokenResponse(
      codings.length > 0 && isDecodeError(error) ? 'it cannot be unpacked' : 'it ended before it was complete',
      error,
    )
  }
}

/** Returns the first chunk and puts it back into the stream; empty if there is none. */
async function peekFirst(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
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
      const cleanUp = (): void => {
        response.off('readable', cleanUp).off('end', cleanUp).off('close', cleanUp).off('error', cleanUp)
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        cleanUp()
        reject(signal.reason as Error)
      }
      response.once('readable', cleanUp).once('end', cleanUp).once('close', cleanUp).once('error', cleanUp)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  }
}

const isDecodeError = (error: unknown): boolean =>
  /^(Z_|ERR_(_ERROR|BROTLI|ZSTD|ZLIB|PADDING)|ZSTD_|ERR__)/.test((error as NodeJS.ErrnoException).code ?? '')
