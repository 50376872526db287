// A server that a host mounts under a path of its own.

import { expect, test } from 'vitest'
import { createRuntime } from 'pawl'
import { createServer } from 'pawl/server'

test('DOOR-1 DOOR-6: a mounted server answers under its path only', async () => {
  const runtime = await createRuntime({ store: 'memory:' })
  const server = createServer(runtime, {
    basePath: '/pawl',
    authenticate: () => ({ principal: 'user:ada', roles: ['viewer'] }),
  })
  const statusOf = async (path: string): Promise<number> =>
    (await server.fetch(new Request(`http://localhost${path}`))).status
  expect(await Promise.all(['/pawl', '/pawl/', '/pawl/healthz', '/pawl/v1/me'].map(statusOf))).toEqual([
    200, 200, 200, 200,
  ])
  expect(await Promise.all(['/', '/healthz', '/v1/me', '/pawlX/v1/me', '/other/v1/me'].map(statusOf))).toEqual([
    404, 404, 404, 404, 404,
  ])
  server.close()
  await runtime.close()
})
