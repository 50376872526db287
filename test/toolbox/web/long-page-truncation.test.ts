import { expect, test } from 'vitest'
import { fetcher, httpServer } from './loopback-servers.ts'

// A text that is too long to be recorded must be marked as truncated.
for (const [what, piece, limits] of [
  ['of control characters with default limits', '\u0001', {}],
  ['of quotes with a larger htmlBytes limit', '"', { htmlBytes: 5_000_000 }],
] as const) {
  test(`BOX-4 VAL-7: a page ${what} that is too long to be recorded is marked as truncated`, async () => {
    const length = limits === undefined || !('htmlBytes' in limits) ? 1_900_000 : 4_500_000
    const server = await httpServer((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(`<!doctype html><title>t</title><p>begin ${piece.repeat(length)} end</p>`)
    })
    const { fetch, close } = await fetcher({
      ports: [server.port],
      limits,
      allowAddress: (address, { allowed }) => allowed || address === '127.0.0.1',
    })
    try {
      const outcome = await fetch({ url: `${server.url}/`, as_text: true })
      expect(outcome.status).toBe('success')
      const { content, truncated } = (outcome as unknown as { value: { content: string; truncated: boolean } }).value
      expect({ whole: content.endsWith('end'), truncated }, `${content.length} characters`).toEqual({
        whole: false,
        truncated: true,
      })
    } finally {
      await close()
      await server.close()
    }
  }, 60_000)
}
