// A TCP proxy on the loopback interface that cuts connections: after a number of bytes, or all at once. For tests of
// clients that reconnect.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly url: string
  /** Connections that were cut, by bytes or by cutAll(). */
  readonly cuts: number
  /** Where new connections go; null: they are closed at once, as if no server was there. */
  target: number | null
  /** Cuts all open connections. */
  cutAll(): void
  close(): Promise<void>
}

/** `bytesOf` gives the number of response bytes after which the next connection is cut; Infinity: never. */
export async function cuttingProxy(bytesOf: () => number): Promise<CuttingProxy> {
  const open = new Set<() => void>()
  let cuts = 0
  const server = createServer((client) => {
    if (proxy.target === null) return void client.resetAndDestroy()
    const upstream = connect({ host: '127.0.0.1', port: proxy.target })
    const close = (): void => {
      open.delete(cut)
      client.destroy()
      upstream.destroy()
    }
    const cut = (): void => {
      if (open.has(cut)) cuts++
      close()
    }
    open.add(cut)
    for (const socket of [client, upstream]) socket.on('error', close).on('close', close)
    client.on('data', (chunk) => void upstream.write(chunk))
    passBytes(upstream, client, bytesOf(), cut)
  })
  const proxy = {
    url: '',
    target: null as number | null,
    get cuts() {
      return cuts
    },
    cutAll: () => {
      for (const cut of open) cut()
    },
    async close() {
      for (const cut of open) cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

/** Passes the response on until its limit, which may be in the middle of a header, an event or a character. */
function passBytes(from: Socket, to: Socket, limit: number, cut: () => void): void {
  let left = limit
  from.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, Math.min(left, chunk.length))
    left -= part.length
    if (left > 0) to.write(part)
    else to.end(part, cut)
  })
}
