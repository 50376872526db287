// Golden change journals: every change that a scenario writes to its store, compared with the one on record in golden/.
// PAWL_UPDATE_JOURNALS=1 rewrites the golden files. names.test.ts pins the collection names and journal keys.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { print, render } from './render.ts'
import { play } from './scenario.ts'
import { groups } from './scenarios.ts'

const update = process.env.PAWL_UPDATE_JOURNALS === '1'
const fileOf = (group: string): string => join(import.meta.dirname, 'golden', `${group}.journal`)

for (const [group, scenarios] of Object.entries(groups)) {
  const file = fileOf(group)
  const golden = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>) : {}
  const written: Record<string, unknown> = {}
  describe(group, () => {
    for (const [name, scenario] of Object.entries(scenarios)) {
      for (const store of ['memory', 'sqlite'] as const) {
        test(`${name} (${store})`, async () => {
          const { recording, returned } = await play(scenario, store)
          expect(recording.undeclared).toEqual([])
          const journal = render(recording, returned)
          if (update && store === 'memory') golden[name] = written[name] = journal
          expect(print(journal).split('\n')).toEqual(print(golden[name] ?? null).split('\n'))
        })
      }
    }
    test.skipIf(update)('every golden journal has a scenario', () => {
      expect(Object.keys(golden)).toEqual(Object.keys(scenarios))
    })
    afterAll(() => {
      if (update) writeFileSync(file, `${print(written)}\n`)
    })
  })
}
