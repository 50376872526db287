// toolbox.web(): web_fetch. The checks are in fetch-rules.ts (URLs, hosts, ports), connect.ts (addresses) and
// read-body.ts (sizes); see docs/decisions/0028.

import type { ToolFailure } from '../../core/outcome.ts'
import { fail } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { jsonSchema, type JsonSchema } from '../../tools/schema.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import { displayPath, withFileErrors } from '../files/file-tool-errors.ts'
import { withResponse } from './fetch-url.ts'
import { hostOf } from './host-lists.ts'
import { present, type WebFetchInput, type WebFetchResult } from './format-response.ts'
import { invalidUrl, parseUrl, compileRules, type WebOptions } from './fetch-rules.ts'

export type { WebOptions } from './fetch-rules.ts'

const properties = (saves: boolean): { [name: string]: Json } => ({
  url: { type: 'string', minLength: 1, description: 'The address to fetch, with http:// or https://' },
  method: { type: 'string', enum: ['GET', 'HEAD'], description: 'HEAD tells type and size only; GET if left out' },
  as_markdown: { type: 'boolean', description: 'Give HTML as markdown. True if left out; false gives the HTML itself' },
  as_text: { type: 'boolean', description: 'Give HTML as plain text instead of markdown' },
  ...(saves
    ? {
        save_to_file: {
          type: 'string',
          minLength: 1,
          description: 'Save the content as this file instead of showing it',
        },
      }
    : {}),
})

const output: JsonSchema = {
  type: 'object',
  properties: {
    url: { type: 'string' },
    final_url: { type: 'string', description: 'Where redirects led' },
    status: { type: 'integer', description: 'The HTTP status' },
    content_type: { type: ['string', 'null'] },
    size_bytes: { type: ['integer', 'null'] },
    format: { type: 'string', enum: ['markdown', 'text', 'html', 'json', 'image', 'pdf', 'file', 'none'] },
    title: { type: 'string' },
    content: { type: 'string' },
    attachment: { description: 'An image or a PDF' },
    path: { type: 'string', description: 'The file it was saved as' },
    content_hash: { type: 'string' },
    last_modified: { type: 'string' },
    etag: { type: 'string' },
    truncated: { type: 'boolean' },
    note: { type: 'string' },
  },
  required: ['url', 'status', 'content_type', 'size_bytes', 'format', 'truncated'],
  additionalProperties: false,
}

/** A longer summary moves to the details of the preview. */
const maxSummaryLength = 400

/** Host and path only: the query may contain secrets. */
function hostAndPath({ url }: WebFetchInput): string {
  const parsed = URL.parse(url)
  return parsed ? `${hostOf(parsed)}${parsed.pathname === '/' ? '' : parsed.pathname}` : ''
}

export function webTools(options: WebOptions = {}): readonly Tool[] {
  const rules = compileRules(options)
  const { saveFiles: saves = false } = options
  const webFetch = tool({
    name: 'web_fetch',
    title: 'Fetch a web page',
    description: `Fetch a public web address. HTML becomes readable markdown; text and JSON come as they are; images and PDFs as attachments.${saves ? ' With save_to_file the content is saved as a file of the session.' : ''}`,
    input: jsonSchema<WebFetchInput>({
      type: 'object',
      properties: properties(saves),
      required: ['url'],
      additionalProperties: false,
    }),
    output,
    hints: { readOnly: !saves, idempotent: true, openWorld: true },
    // Trusted hosts are allowed; for others the policy decides, and by default it requires approval.
    approval: ({ url }) => (isTrusted(url) ? 'allow' : undefined),
    // The preview shows the complete URL: data could be exfiltrated at its end.
    preview({ url, method = 'GET', save_to_file: path }) {
      const { href } = parseUrl(url)
      const summary = `${method} ${href}${path === undefined ? '' : ` → ${displayPath(path)}`}`
      return summary.length <= maxSummaryLength
        ? summary
        : { summary: `${method} ${href.slice(0, 200)}…`, details: summary }
    },
    timeout: rules.totalMs + 30_000,
    narrate: narrate(
      {
        en: {
          started: 'Fetching {}',
          completed: 'Fetched {}',
          failed: 'Could not fetch {}',
          waiting: 'Waiting to fetch {}',
        },
        de: {
          started: 'Ruft {} ab',
          completed: '{} abgerufen',
          failed: '{} konnte nicht abgerufen werden',
          waiting: 'Wartet darauf, {} abzurufen',
        },
      },
      hostAndPath,
    ),
    examples: [{ url: 'https://example.com/' }, { url: 'https://example.com/data.json', method: 'HEAD' }],
    // Checked before approval, so that a person is not asked about a fetch that would be rejected.
    prepare: (input) => void checkInput(input),
    execute(input, ctx): Promise<WebFetchResult> {
      const { method = 'GET' } = input
      const url = checkInput(input)
      // Errors about the target file are reported to the model, which can correct the path.
      return withFileErrors(input.save_to_file ?? '', () =>
        withResponse(url, rules, { method, signal: ctx.signal }, (response) =>
          present(response, { input, ctx, rules }),
        ),
      )
    },
  })
  const checkInput = (input: WebFetchInput): URL => {
    if (!/^https?:\/\//i.test(input.url.trim())) throw invalidUrl('must start with http:// or https://')
    if (input.save_to_file !== undefined && input.method === 'HEAD')
      throw invalidArguments('HEAD has no content to save; leave method or save_to_file out')
    if (input.as_markdown === true && input.as_text === true)
      throw invalidArguments('Choose one of as_markdown and as_text')
    const url = parseUrl(input.url)
    rules.check(url)
    return url
  }
  const isTrusted = (text: string): boolean => {
    const url = URL.parse(text)
    return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && rules.isTrusted(hostOf(url))
  }
  return [webFetch]
}

const invalidArguments = (message: string): ToolFailure =>
  fail(message, { code: 'invalid_arguments', class: 'invalid_request' })
