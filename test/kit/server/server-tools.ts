// Tools of every kind, for the tests of the server. Each body adds to a ledger, so that a test sees every effect.

import { connectionRequired, fail, type Tool } from 'pawl'
import { z } from 'zod'
import { argumentTool, hang, patient, readOnlyTool, rerunTask, rerunTool, simpleTool } from '../simple-tools.ts'

/** A body that ran. */
export interface LedgerEntry {
  readonly tool: string
  readonly tenant: string
  readonly session: string
  readonly input?: unknown
}

export interface ToolLedger {
  readonly entries: LedgerEntry[]
  /** Keys of waits by the id of their call. */
  readonly keys: Map<string, string>
}

type About = { readonly tenant: string; readonly session: string }

/** `crashes`: the worker of these tools dies during `charge`. */
export function serverTools({ entries, keys }: ToolLedger, crashes = false): Tool[] {
  const note = (tool: string, { tenant, session }: About, input?: unknown): void =>
    void entries.push({ tool, tenant, session, input })
  const text = z.object({ text: z.string() })
  return [
    argumentTool('lookup', text, { hints: { readOnly: true } }, (input, ctx) => {
      note('lookup', ctx, input)
      return { found: input.text }
    }),
    argumentTool(
      'refund',
      z.object({ order: z.string(), cents: z.number() }),
      { hints: { destructive: true } },
      (input, ctx) => {
        note('refund', ctx, input)
        return { refunded: input.cents }
      },
    ),
    simpleTool('fails', (_, ctx) => {
      note('fails', ctx)
      throw fail('No such order', { code: 'no_order' })
    }),
    rerunTool('callback', async (_, ctx) => {
      const later = await ctx.later<unknown>({ deadline: '1d' })
      keys.set(ctx.callId, later.key)
      return later
    }),
    rerunTool('color', (_, ctx) => ctx.ask({ text: 'Which color?', choices: ['red', 'blue'] })),
    rerunTool('account', () => connectionRequired('github')),
    argumentTool('pick', text, { client: true }, undefined as never),
    rerunTask('report', (_, ctx) => {
      note('report', ctx)
      return { report: 'done' }
    }),
    patient,
    readOnlyTool('long', () => 'long '.repeat(20_000)),
    readOnlyTool('draw', (_, ctx) => ({
      image: ctx.attachments.create(Buffer.from(`png of only-${ctx.tenant}-1f9c7a`), {
        mediaType: 'image/png',
        name: 'a.png',
      }),
    })),
    readOnlyTool('tell', async (_, ctx) => ({ secret: await ctx.secrets.get('api') })),
    simpleTool('charge', { onUnknown: 'ask' }, (_, ctx) => {
      note('charge', ctx)
      return crashes ? hang() : 'charged'
    }),
  ]
}
