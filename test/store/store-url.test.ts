// Errors for unusable store strings name the problem and the correct form.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { afterEach, beforeEach, expect, test } from 'vitest'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pawl-url-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const refused = (store: string): Promise<Error & { code: string }> =>
  createRuntime({ store }).then(
    () => expect.unreachable(),
    (error: Error & { code: string }) => error,
  )

test.for([
  ['file:agent.db', 'sqlite:agent.db'],
  ['file:///srv/agent.db?mode=ro', 'sqlite:/srv/agent.db'],
  ['FILE:/srv/agent.db#x', 'sqlite:/srv/agent.db'],
])("the store 'sqlite:%s' is rejected in favour of a plain path", async ([url, better]) => {
  const error = await refused(`sqlite:${url}`)
  expect(error).toMatchObject({ code: 'config_invalid' })
  expect(error.message).toContain(`without 'file:': '${better}'.`)
})

test('a store in a missing folder is rejected and creates nothing', async () => {
  const folder = join(dir, 'not', 'here')
  const error = await refused(`sqlite:${join(folder, 'agent.db')}`)
  expect(error).toMatchObject({ code: 'config_invalid' })
  expect(error.message).toContain(`the folder '${folder}' does not exist. Create it, or name another file.`)
  expect(error.message).not.toContain('Make the store available')
  expect([existsSync(folder), readdirSync(dir)]).toEqual([false, []])
})
