// The guide shows code that runs: each code block of docs/guide is a region of a file in examples/guide, and each file
// passes. docs/guide/chat.md also shows files of examples/web-*, which test/chat/recipes.test.ts runs.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { examples, files, root, runsExample, timeout, waitingExamples } from './run-guide-example.ts'

const guide = join(root, 'docs/guide')
const webFiles = ['web-chat/server.ts', 'web-chat/page.tsx', 'web-express/server.ts', 'web-next/app/api/chat/route.ts']
const pages = readdirSync(guide).filter((name) => name.endsWith('.md'))

function dedent(text: string): string {
  const lines = text.split('\n')
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length)
  const least = Math.min(...indents)
  return lines.map((line) => line.slice(least)).join('\n')
}

function regionsOf(name: string): Map<string, string> {
  const code = readFileSync(join(examples, name), 'utf8')
  const found = code.matchAll(/^ *\/\/ #region (\S+)\n(.*?)\n *\/\/ #endregion$/gms)
  return new Map([...found].map(([, region, body]) => [`${name} ${region}`, dedent(body as string)]))
}

const blocksOf = (page: string): string[] =>
  [...readFileSync(join(guide, page), 'utf8').matchAll(/^```tsx?\n(.*?)\n```$/gms)].map(([, body]) => body as string)

const wholeFile = (name: string): string => readFileSync(join(root, 'examples', name), 'utf8').trimEnd()
const regions = new Map([
  ...files.flatMap((name) => [...regionsOf(name)]),
  ...webFiles.map((name) => [name, wholeFile(name)] as const),
])
const bodies = new Set(regions.values())

describe('guide', () => {
  test.for(pages)('%s: every code block is a region of examples/guide', (page) => {
    for (const block of blocksOf(page)) expect(bodies.has(block), `This is in no region:\n${block}`).toBe(true)
  })

  test('every region of examples/guide is used', () => {
    const shown = new Set(pages.flatMap(blocksOf))
    expect([...regions].filter(([, body]) => !shown.has(body)).map(([name]) => name)).toEqual([])
    expect(regions.size).toBeGreaterThan(10)
  })

  test('the index links every page, and no link is broken', () => {
    const index = readFileSync(join(guide, 'README.md'), 'utf8')
    for (const page of pages) if (page !== 'README.md') expect(index).toContain(`(${page})`)
    for (const page of pages) {
      for (const [, to] of readFileSync(join(guide, page), 'utf8').matchAll(/\]\(([\w-]+\.md)(?:#[\w-]+)?\)/g))
        expect(pages).toContain(to)
    }
  })

  test.for(files.filter((name) => !waitingExamples.includes(name)))('examples/guide/%s runs', { timeout }, runsExample)
})
