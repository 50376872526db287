// Conventions of every default tool: descriptions, schemas, hints, valid examples, and narrations in two languages.

import type { Tool } from 'pawl'
import { expect, test } from 'vitest'
import type { Json } from '../../src/core/tool-value.ts'
import type { Phase } from '../../src/tools/narration/narration-templates.ts'

const phases: readonly Phase[] = ['started', 'waiting', 'completed', 'failed']

/** `grows`: the result may have fields that the output schema does not list. */
export function hasForm(tool: Tool, { grows = false }: { grows?: boolean } = {}): void {
  test(`BOX-1: ${tool.name} has a title, hints, schemas, examples and narrations`, async () => {
    expect(tool.title).toMatch(/^[A-Z].{3,}[^.]$/)
    expect(tool.description).toMatch(/^[A-Z].{10,}\.$/s)
    expect(tool.output).toBeDefined()
    // Hints must be stated explicitly, even if all of them are false.
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
      const said = phases.flatMap((phase) =>
        ['en', 'de'].map((locale) => tool.narrate?.(example as never, { phase, locale })),
      )
      for (const sentence of said) expect(sentence).toMatch(/^[A-Z].*[^.]$/s)
      expect(new Set(said).size).toBe(said.length)
    }
  })
}
