// Tools for tests of the MCP server, and the calls that their bodies saw.

import { setTimeout as pause } from 'node:timers/promises'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duration, result, type Tool, type ToolContext, tool } from 'pawl'

/** A picture of one pixel. */
export const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Lines that bodies wrote to `effects.txt` in the folder. */
export const effectsIn = (folder: string): string[] => {
  const file = join(folder, 'effects.txt')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []
}

const text = { type: 'string' }

/** The tools append each effect to `effects.txt` in the folder, and `slow` ends when `release.txt` exists there. */
export function mcpServerTools(folder: string, dedupe?: Duration): Tool[] {
  const effect = (line: string): void => appendFileSync(join(folder, 'effects.txt'), `${line}\n`)
  const input = { type: 'object', properties: { text }, required: ['text'], additionalProperties: false }
  const untilReleased = async (args: unknown, ctx: ToolContext): Promise<string> => {
    effect((args as { text: string }).text)
    for (let at = 1; !existsSync(join(folder, 'release.txt')); at++) {
      // A tool may also go back.
      ctx.progress({ current: at % 3 === 0 ? 0 : at, total: 1_000, label: 'step' })
      await pause(25, undefined, { signal: ctx.signal })
    }
    return 'released'
  }
  return [
    tool({
      name: 'add',
      description: 'Adds two numbers',
      input: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      hints: { readOnly: true },
      execute: (args: unknown) => {
        const { a, b } = args as { a: number; b: number }
        return { sum: a + b }
      },
    }),
    tool({
      name: 'write',
      title: 'Write a line',
      description: 'Writes a line',
      input,
      ...(dedupe === undefined ? {} : { dedupe }),
      execute: (args: unknown) => {
        effect((args as { text: string }).text)
        return 'written'
      },
    }),
    tool({
      name: 'asked',
      description: 'Writes a line after an approval',
      input,
      approval: 'always',
      execute: (args: unknown) => {
        effect((args as { text: string }).text)
        return 'written after approval'
      },
    }),
    tool({
      name: 'prepared',
      description: 'Like asked, with arguments that change before the approval',
      input,
      approval: 'always',
      prepare: (args: unknown) => ({ input: { text: (args as { text: string }).text.toUpperCase() } }),
      execute: (args: unknown) => {
        effect((args as { text: string }).text)
        return { prepared: (args as { text: string }).text }
      },
    }),
    tool({
      name: 'question',
      description: 'Asks for a colour',
      onCrash: 'rerun',
      input: { type: 'object' },
      async execute(_args: unknown, ctx) {
        const asked = await ctx.ask({ text: 'Which colour?', choices: ['red', 'blue'] })
        const { status, answer } = await asked.value
        return `${status}: ${JSON.stringify(answer)}`
      },
    }),
    tool({
      name: 'slow',
      description: 'Writes a line, then runs until it is released',
      input,
      timeout: '5m',
      execute: untilReleased,
    }),
    tool({
      name: 'alone',
      description: 'Like slow, one at a time',
      input,
      timeout: '5m',
      concurrency: 'exclusive',
      execute: untilReleased,
    }),
    tool({
      name: 'picture',
      description: 'Returns a picture',
      input: { type: 'object' },
      hints: { readOnly: true },
      execute: (_args: unknown, ctx) =>
        result('a pixel', { attachments: [ctx.attachments.create(pixel, { mediaType: 'image/png' })] }),
    }),
    tool({
      name: 'broken',
      description: 'Fails',
      input: { type: 'object' },
      execute: () => {
        throw new Error('internal detail')
      },
    }),
    tool({
      name: 'hidden',
      description: 'Not for models',
      input: { type: 'object' },
      internal: true,
      execute: () => 1,
    }),
  ]
}
