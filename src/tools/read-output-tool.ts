// read_output: lets a model read the rest of a truncated result. An ordinary tool; truncated results mention it if the
// session has it.

import { PawlError } from '../core/errors.ts'
import { fail } from '../core/outcome.ts'
import type { OutputPage } from './context/tool-context.ts'
import { narrate } from './narration/narration-templates.ts'
import type { JsonSchema } from './schema.ts'
import { type Tool, tool } from './tool.ts'

export const readOutputName = 'read_output'

const input: JsonSchema = {
  type: 'object',
  properties: {
    handle: { type: 'string', description: 'The handle that the shortened result names' },
    offset: { type: 'integer', minimum: 0, description: 'The byte to read from; 0 is the beginning' },
  },
  required: ['handle'],
  additionalProperties: false,
}

/** A tool for `createRuntime({ tools })` that lets a model read the rest of a truncated result. */
export function readOutputTool(): Tool<{ handle: string; offset?: number }, string> {
  return tool({
    name: readOutputName,
    title: 'Read a stored result',
    description:
      'Read on in a stored result that was too long to be shown whole. Give the handle and the offset that the shortened result names.',
    input,
    output: {
      type: 'string',
      description: 'A part of the result, and on the last line which part, and how to read on',
    },
    hints: { readOnly: true, idempotent: true },
    examples: [{ handle: 'out_4f1c', offset: 16_384 }, { handle: 'out_4f1c' }],
    narrate: narrate({
      en: {
        started: 'Reading on in a long result',
        completed: 'Read on in a long result',
        failed: 'Could not read on in a long result',
      },
      de: {
        started: 'Liest in einem langen Ergebnis weiter',
        completed: 'In einem langen Ergebnis weitergelesen',
        failed: 'Konnte in einem langen Ergebnis nicht weiterlesen',
      },
    }),
    async execute({ handle, offset }, ctx) {
      const page = await ctx.outputs
        .read(handle as string, offset === undefined ? {} : { offset: offset as number })
        .catch((error: unknown) => {
          if (!(error instanceof PawlError && error.code === 'output_unknown')) throw error
          throw fail('No result is stored under this handle. Use the handle that the shortened result names.', {
            code: 'output_unknown',
          })
        })
      return `${page.text}${page.text === '' || page.text.endsWith('\n') ? '' : '\n'}[${pageFooter(page, handle as string)}]`
    },
  }) as unknown as Tool<{ handle: string; offset?: number }, string>
}

function pageFooter({ offset, nextOffset, totalBytes }: OutputPage, handle: string): string {
  const range = `Bytes ${offset} to ${nextOffset ?? totalBytes} of ${totalBytes}`
  return nextOffset === null
    ? `${range}: the end`
    : `${range}. Read on with ${readOutputName} ${JSON.stringify({ handle, offset: nextOffset })}`
}
