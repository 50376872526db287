// Texts that would control a terminal, and a store that is full of them.

import { createRuntime, jsonSchema, tool } from 'pawl'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { quiet } from '../kit/stores/fresh-store.ts'

const controls = Array.from({ length: 32 }, (_, code) => code)
  .concat(Array.from({ length: 33 }, (_, n) => 0x7f + n))
  .filter((code) => code !== 0 && code !== 9 && code !== 10)
  .map((code) => String.fromCharCode(code))
const bidi = '\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff'.split(
  '',
)
export const esc = '\u001b'
const sequences = [
  `${esc}[31mred${esc}[0m`,
  `${esc}[2J${esc}[H`,
  `${esc}[1A${esc}[2Kfake line`,
  `${esc}]0;title\u0007`,
  `${esc}]8;;https://evil.example\u0007click${esc}]8;;\u0007`,
  `${esc}]52;c;ZXZpbA==\u0007`,
  `${esc}P+q544e${esc}\\`,
  `${esc}_G${esc}\\`,
  `\u009b31m`,
  `\u009d52;c;ZXZpbA==\u009c`,
  'approve\rdenied!',
  'abc\b\b\bxyz',
  `${esc}[?1049h`,
  `${esc}[6n`,
  `${esc}[5i`,
  `${esc}c`,
  'tag \u{e0041}\u{e0042}\u{e007f}',
  '\u202egnp.exe',
  'half \ud800 pair',
  'a\u0000b'.replaceAll('\u0000', '\u0001'),
  '\u001b\n[31m',
  '\ufff9x\ufffay\ufffb',
]
export const payloads = [...controls, ...bidi, ...sequences].map((each, n) => `${n} ${each} end`)

/** A raw control character. */
export const raw =
  // oxlint-disable-next-line no-control-regex -- these are the characters to find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u

/** A store whose sessions, arguments, previews, results, errors and messages are hostile. */
export async function hostileStore(cwd: string): Promise<void> {
  mkdirSync(join(cwd, '.pawl'))
  const input = jsonSchema<{ text: string }>({ type: 'object', properties: { text: { type: 'string' } } })
  const options = { description: payloads.join('\n'), input }
  const echo = tool({ ...options, name: 'echo', execute: ({ text }) => ({ [text]: text }) })
  const broken = tool({
    ...options,
    name: 'broken',
    execute: ({ text }): string => {
      throw new Error(text)
    },
  })
  const danger = tool({
    ...options,
    name: 'danger',
    title: payloads.join(' '),
    hints: { destructive: true },
    preview: ({ text }) => ({ summary: text, details: payloads.join('\n') }),
    execute: () => null,
  })
  const job = tool({ ...options, name: 'job', background: true, execute: ({ text }) => text })
  const runtime = await createRuntime({
    store: `sqlite:${join(cwd, '.pawl/pawl.db')}`,
    tools: [echo, broken, danger, job],
    logger: quiet,
  })
  const session = runtime.session('evil', { principal: `user:evil` })
  const calls = payloads.flatMap((text, n) => [
    { id: `echo${n}`, name: 'echo', input: { text: text.toWellFormed() } },
    { id: `broken${n}`, name: 'broken', input: { text: text.toWellFormed() } },
    { id: `call${n} ${text.toWellFormed()}`, name: `no ${text.toWellFormed()}`, input: {} },
  ])
  await session.run(calls)
  const asked = payloads.map((text, n) => ({ id: `ask${n}`, name: 'danger', input: { text: text.toWellFormed() } }))
  await session.run(asked, { until: 'waiting' })
  for (const text of payloads.slice(0, 5)) {
    const { id } = await session.tasks.start({ tool: 'job', input: { text }, title: text.toWellFormed() })
    await session.tasks.wait(id)
  }
  await runtime.session(payloads.at(-7) ?? '').run([{ id: 'a', name: 'echo', input: { text: 'x' } }])
  await runtime.close()
}
