// What every default tool has (BOX-1): words, schemas, hints, examples that pass, and sentences for people in two languages.

import type { Tool } from 'pawl'
import { expect, test } from 'vitest'
import type { Json } from '../../src/core/value.ts'
import type { Phase } from '../../src/tools/narration/tool-narration.ts'

const phases: readonly Phase[] = ['started', 'waiting', 'completed', 'failed']

/** `grows`: its results may have fields that its schema does not list. */
export function hasForm(tool: Tool, { grows = false }: { grows?: boolean } = {}): void {
  test(`BOX-1: ${tool.name} has a title, hints, schemas, examples and sentences`, async () => {
    expect(tool.title).toMatch(/^[A-Z].{3,}[^.]$/)
    expect(tool.description).toMatch(/^[A-Z].{10,}\.$/s)
    expect(tool.output).toBeDefined()
    // Said, be it that none of them is so.
    expect(Object.values(tool.hints).length).toBeGreaterThan(0)
    expect([...tool.input.warnings, ...(tool.output?.warnings ?? [])]).toEqual([])
    for (const schema of [tool.input.json, tool.output?.json]) {
      const {
        type,
        description = '',
        properties = {},
        additionalProperties,
      } = schema as {
        type: string
        description?: string
        properties?: Record<string, { description: string }>
        additionalProperties?: Json
      }
      if (type !== 'object') expect(description.length).toBeGreaterThan(3)
      else expect(additionalProperties).toBe(grows && schema === tool.output?.json)
      for (const each of Object.values(properties)) expect(each.description.length).toBeGreaterThan(3)
    }
    expect(tool.examples.length).toBeGreaterThan(0)
    for (const example of tool.examples) {
      expect(await tool.input.check(example as Json)).toMatchObject({ ok: true })
      const said = phases.flatMap((phase) => ['en', 'de'].map((locale) => tool.narrate?.(example as never, { phase, locale })))
      for (const sentence of said) expect(sentence).toMatch(/^[A-Z].*[^.]$/s)
      expect(new Set(said).size).toBe(said.length)
    }
  })
}
