// The code of docs/guide/toolbox-web.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'

const root = mkdtempSync(join(tmpdir(), 'pawl-box-web-'))
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Orders</h1><p>All <b>shipped</b>.</p>')
})
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

try {
  // #region web
  const tools = toolbox.web({
    deny: ['*.internal.example'],
    trusted: ['docs.example.com', '*.wikipedia.org'], // nobody is asked about these
    limits: { bytes: 2_000_000, total: '20s' },
  })
  // #endregion
  const careful = await createRuntime({ store: 'memory:', tools })

  // #region refused
  const [refused] = await careful
    .session('chat-1')
    .run([{ id: 'a', name: 'web_fetch', input: { url: 'http://localhost:22/', method: 'GET' } }])
  assert.equal(refused?.status === 'failure' && refused.failure.code, 'url_blocked')
  // #endregion
  await careful.close()

  // #region test-server
  const local = toolbox.web({
    ports: [port],
    trusted: ['127.0.0.1'],
    allowAddress: (address, { allowed }) => allowed || address === '127.0.0.1', // the last word about an address
  })
  const testing = await createRuntime({ store: 'memory:', tools: local })
  const [page] = await testing
    .session('chat-1')
    .run([{ id: 'a', name: 'web_fetch', input: { url: `http://127.0.0.1:${port}/` } }])
  assert.deepEqual(page?.status === 'success' && page.value, {
    url: `http://127.0.0.1:${port}/`,
    status: 200,
    content_type: 'text/html',
    size_bytes: 41,
    format: 'markdown',
    content: '# Orders\n\nAll **shipped**.',
    truncated: false,
  })
  // #endregion
  await testing.close()

  mkdirSync(join(root, 'chat-1'))
  // #region shell
  const folder = ({ session }: { session: string }): string => join(root, session)
  const runtime = await createRuntime({
    store: 'memory:',
    files: { folder },
    tools: toolbox.shell({
      folder,
      env: { NODE_ENV: 'test' }, // besides PATH, HOME and LANG; of this process nothing else
      approval: ({ commands }) => (/^(ls|git status|git diff)$/.test(commands) ? 'allow' : 'ask'),
    }),
  })
  const [listed] = await runtime.session('chat-1').run([{ id: 'a', name: 'bash', input: { commands: 'ls' } }])
  assert.deepEqual(listed?.status === 'success' && listed.value, {
    stdout: '',
    stderr: '',
    exit_code: 0,
    success: true,
    truncated: false,
    total_lines: 0,
  })
  // #endregion
  await runtime.close()
} finally {
  server.close()
  rmSync(root, { recursive: true, force: true })
}
