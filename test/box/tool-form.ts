// What every tool of the box has (BOX-1): words, schemas, hints, examples that pass, and sentences for people in two languages.

import type { Tool } from 'pawl'
import { expect, test } from 'vitest'
import type { Json } from '../../src/kernel/value.ts'
import type { Phase } from '../../src/tool/narrate.ts'

const phases: readonly Phase[] = ['started', 'waiting', 'completed', 'failed']

export function hasForm(tool: Tool): void {
  test(`BOX-1: ${tool.name} has a title, hints, schemas, examples and sentences`, async () => {
    expect(tool.title).toMatch(/^[A-Z].{3,}[^.]$/)
    expect(tool.description).toMatch(/^[A-Z].{10,}\.$/s)
    expect(tool.output).toBeDefined()
    expect(Object.values(tool.hints)).toContain(true)
    expect([...tool.input.warnings, ...(tool.output?.warnings ?? [])]).toEqual([])
    for (const schema of [tool.input.json, tool.output?.json]) {
      const { properties, additionalProperties } = schema as {
        properties: Record<string, { description: string }>
        additionalProperties: Json
      }
      expect(additionalProperties).toBe(false)
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
