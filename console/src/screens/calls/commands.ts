// A call as a command and as curl, for a shell.

interface CallWithOutcome extends CallAsCommand {
  readonly outcome: { readonly status: string; readonly value?: unknown } | null
}

interface CallAsCommand {
  readonly name: string
  readonly session: string
  readonly input: unknown
}

/** In single quotes nothing has a meaning for a shell, but the quote itself. */
export const quoted = (text: string): string =>
  /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

export const asCommand = ({ name, session, input }: CallAsCommand): string =>
  `pawl call ${quoted(name)} ${quoted(JSON.stringify(input))} --session ${quoted(session)}`

export const asCurl = (url: string, { name, session, input }: CallAsCommand): string =>
  [
    `curl ${quoted(`${url}/v1/sessions/${encodeURIComponent(session)}/calls`)}`,
    `-H "Authorization: Bearer $PAWL_TOKEN" -H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify({ name, input }))}`,
  ].join(' \\\n  ')

/** A test that runs the call on a runtime in memory and expects the outcome that the call had. */
export function asTest({ name, input, outcome }: CallWithOutcome): string {
  const { status = 'success', value } = outcome ?? {}
  const expected = { status, ...(status === 'success' && value !== undefined ? { value } : {}) }
  const json = (of: unknown): string => JSON.stringify(of)
  return [
    "import { testRuntime } from 'pawl/testing'",
    "import { expect, test } from 'vitest'",
    '// The tools of your runtime.',
    "import { tools } from './tools.ts'",
    '',
    `test(${json(`${name} ends as it did`)}, async () => {`,
    "  const { session, runtime } = await testRuntime({ tools, policy: { rules: [{ tool: '*', then: 'allow' }] } })",
    `  const [outcome] = await session.run([{ id: 'call-1', name: ${json(name)}, input: ${json(input)} }])`,
    `  expect(outcome).toMatchObject(${json(expected)})`,
    '  await runtime.close()',
    '})',
    '',
  ].join('\n')
}
