// The client in a bundle for browsers.

import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build, type BuildResult } from 'esbuild'
import { expect, test } from 'vitest'

const bundle = (format: 'esm' | 'iife'): Promise<BuildResult<{ write: false; metafile: true }>> =>
  build({
    stdin: {
      contents: "export { createClient, PawlHttpError } from 'pawl/client'",
      resolveDir: join(import.meta.dirname, '../..'),
    },
    conditions: ['@pawl/source'],
    platform: 'browser',
    format,
    ...(format === 'iife' ? { globalName: 'bundled' } : {}),
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
  })

const codeOf = ({ outputFiles }: Awaited<ReturnType<typeof bundle>>): string =>
  outputFiles[0]?.text ?? expect.unreachable()

test('DOOR-1: the client bundles for browsers, without node: modules, in less than 10 kB', async () => {
  const built = await bundle('esm')
  const code = codeOf(built)
  expect(built.warnings).toEqual([])
  const sources = Object.keys(built.metafile.inputs).filter((file) => file.startsWith('src/'))
  const shipped = sources.filter((file) => !/^src\/(?:core|client)\//.test(file))
  expect(shipped).toEqual(['src/server/endpoints.ts'])
  expect(code).not.toMatch(/\bnode:|\bzod\b|\brequire\(/)
  // The table of all error texts would double the size.
  expect(code).not.toContain('node_unsupported')
  expect(gzipSync(code, { level: 9 }).length).toBeLessThan(10_000)
})

test('DOOR-1: the bundle needs only what browsers have', async () => {
  const sent: string[] = []
  const frames = 'id: p1\nevent: value.changed\ndata: {"type":"value.changed","seq":1}\n\n'
  const web = {
    AbortController,
    AbortSignal,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    crypto,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    location: { href: 'https://app.test/desk' },
    async fetch(url: string, { method, credentials }: RequestInit) {
      sent.push(`${method} ${url} ${credentials}`)
      if (!url.endsWith('/events')) return Response.json([{ name: 'echo' }])
      return new Response(frames, { headers: { 'content-type': 'text/event-stream' } })
    },
  }
  const program = `${codeOf(await bundle('iife'))}
    const client = bundled.createClient({ url: '/' })
    ;(async () => {
      const tools = await client.tools.list()
      for await (const { seq } of client.sessions.events({ session: 'a b' })) return { tools, seq }
    })()`
  expect(await runInNewContext(program, web)).toEqual({ tools: [{ name: 'echo' }], seq: 1 })
  expect(sent).toEqual([
    'GET https://app.test/v1/tools same-origin',
    'GET https://app.test/v1/sessions/a%20b/events same-origin',
  ])
})
