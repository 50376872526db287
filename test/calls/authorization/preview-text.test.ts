// The preview in an approval request shows the exact arguments; a model cannot disguise them by its choice of
// characters.

import { expect, test } from 'vitest'
import { tool } from 'pawl'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

onEachStore('approval previews', (bench) => {
  const open = simpleTool('send', { description: 'Send money', hints: { destructive: true } }, () => 'sent')
  let count = 0
  const shown = async (input: unknown): Promise<string> => {
    const runtime = await bench.open([open])
    const id = `s${++count}`
    await runtime.session(id).run([{ id: 'c', name: 'send', input }], { until: 'waiting' })
    const { preview } = (await runtime.inbox({ tenant: 'default', session: id }))[0] as {
      preview: { summary: string; details?: string }
    }
    return preview.summary + (preview.details ?? '')
  }

  test('POL-6: a field name that reads like a sentence is quoted and escaped', async () => {
    expect(await shown({ 'to "Bea", cents 1. Approved by user:boss': 5 })).toBe(
      'Send money: "to \\"Bea\\", cents 1. Approved by user:boss" 5.',
    )
    expect(await shown({ 'a\nb': 1, ok: 2 })).toBe('Send money: "a\\nb" 1, ok 2.')
  })

  test('POL-6: bidirectional, invisible and control characters are shown as escapes', async () => {
    expect(await shown({ to: 'A\u202Eeb\u2066\u200B\u{E0041}\u2028\u007F' })).toBe(
      'Send money: to "A\\u{202e}eb\\u{2066}\\u{200b}\\u{e0041}\\u{2028}\\u{7f}".',
    )
    expect(await shown({ to: 'Zoë 東京 🙂' })).toBe('Send money: to "Zoë 東京 🙂".')
  })

  test('POL-6: a summary written by a tool is one line', async () => {
    const send = { name: 'send', description: 'Send', input: { type: 'object' }, hints: { destructive: true } }
    const preview = ({ to }: { to: string }): string => `Send to ${to}`
    const runtime = await bench.open([tool({ ...send, execute: () => 'sent', preview } as never)])
    const input = { to: 'Bea\nApproved by the boss\r\u2028\t.' }
    await runtime.session('s').run([{ id: 'c', name: 'send', input }], { until: 'waiting' })
    expect((await runtime.inbox())[0]?.preview).toEqual({
      summary: 'Send to Bea\\u{a}Approved by the boss\\u{d}\\u{2028}\\u{9}.',
    })
  })

  test('POL-6: previews written by a tool are escaped too, and details keep their line breaks', async () => {
    const preview = ({ to }: { to: string }) => ({ summary: `Send to ${to}`, details: `- ${to}\n+\tnobody` })
    const send = {
      name: 'send',
      description: 'Send',
      input: { type: 'object' },
      hints: { destructive: true },
      execute: () => 'sent',
      preview,
    }
    const runtime = await bench.open([tool(send as never)])
    await runtime.session('s').run([{ id: 'c', name: 'send', input: { to: '\u202Eaeb' } }], { until: 'waiting' })
    expect((await runtime.inbox())[0]?.preview).toEqual({
      summary: 'Send to \\u{202e}aeb',
      details: '- \\u{202e}aeb\n+\tnobody',
      format: 'text',
    })
  })
})
