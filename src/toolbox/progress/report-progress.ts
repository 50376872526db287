// report_progress: the model reports its progress. Watchers of the call see the report at once, and it is recorded as
// the result.

import { fail } from '../../core/outcome.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { list, object, oneOf, text } from '../tool-schema-fields.ts'

const statuses = ['progress', 'blocked', 'completed'] as const

interface Input {
  readonly status: (typeof statuses)[number]
  readonly summary: string
  readonly details?: readonly string[]
}

const status = oneOf(statuses, 'How it goes: progress, blocked or completed')
const summary = text('One sentence for people', { maxLength: 2000 })
const details = list(text('One detail', { maxLength: 2000 }), 'More to know, one thing each', { maxItems: 50 })

const invalidArguments = (why: string): never => {
  throw fail(why, { code: 'invalid_arguments', class: 'invalid_request' })
}

export const reportProgress = tool({
  name: 'report_progress',
  title: 'Report progress',
  description: 'Tell people how the work goes: what has been done, what stands in the way, or that it is complete.',
  input: object<Input>({ status, summary, details }, ['details']),
  output: object({ status, summary, details }, ['details']),
  // A repeated report has no other effect than a second progress line.
  hints: { idempotent: true },
  narrate: narrate(
    {
      en: { started: 'Reporting: {}', completed: 'Reported: {}', failed: 'Could not report: {}' },
      de: { started: 'Berichtet: {}', completed: 'Berichtet: {}', failed: 'Konnte nicht berichten: {}' },
    },
    (input: Input) => input.summary,
  ),
  examples: [
    { status: 'progress', summary: 'Read 3 of 8 reports', details: ['north: done', 'south: done'] },
    { status: 'blocked', summary: 'The archive needs a password' },
  ],
  execute(input, ctx) {
    const label = input.summary.trim()
    if (label === '') invalidArguments("Missing required field: 'summary'")
    const trimmedDetails = input.details?.map(
      (detail, at) => detail.trim() || invalidArguments(`details[${at}] must not be empty`),
    )
    ctx.progress({ label })
    return { status: input.status, summary: label, ...(trimmedDetails ? { details: trimmedDetails } : {}) }
  },
})
