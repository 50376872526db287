// The code of docs/guide/mcp-provider.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'

// #region provider
import { createRuntime } from 'pawl'
import { mcpProvider } from 'pawl/mcp'

const files = mcpProvider('files', {
  command: 'npx',
  args: ['-y', '@modelcontextprotocol/server-filesystem', '.'],
  trusted: true,
})
const runtime = await createRuntime({ store: 'memory:', providers: [files] })
const [read] = await runtime
  .session('chat-42')
  .run([{ id: '1', name: 'files__read_text_file', input: { path: 'package.json', head: 2 } }])
console.log(read)
// #endregion
assert.equal(read?.status, 'success')

{
  // #region approve
  const session = runtime.session('chat-43')
  const calls = [{ id: '1', name: 'files__create_directory', input: { path: 'no-such-folder' } }]
  await session.run(calls, { batch: 'b1', until: 'waiting' })
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { deny: true, reason: 'Not now', by: 'ada' })
  const [refused] = await session.run(calls, { batch: 'b1' })
  // #endregion
  assert.equal(refused?.status, 'failure')
}
await runtime.close()

{
  process.env.GITHUB_TOKEN = 'example-token'
  // #region remote
  const github = mcpProvider('github', {
    url: 'https://mcp.example.com/github',
    headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' },
    tools: ['get_*', 'list_*', 'create_issue'],
    timeout: { idle: '30s', total: '5m' },
    concurrency: 4,
    rate: { calls: 60, per: '1m' },
  })
  // #endregion
  await github.close?.()
}
