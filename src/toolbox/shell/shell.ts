// `box.shell()`: bash, a real shell in a bounded tree of processes (BOX-1). It is no sandbox: commands do whatever the user that runs this process may do, so it
// is never part of box(), and a person is asked each time unless the operator says otherwise.

import { accessSync, constants } from 'node:fs'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { narrate } from '../../tools/narration/tool-narration.ts'
import { jsonSchema, type JsonSchema } from '../../tools/schema.ts'
import { type ApprovalFacts, type Tool, tool } from '../../tools/tool.ts'
import { standardPath } from '../processes/find-program.ts'
import { runShell, type ShellBounds, type ShellEnd } from './run-shell.ts'
import { type OutputLevel, outputLevels, shortened, showOutput } from './show-output.ts'
import { openWorkingFolder } from './working-folder.ts'

export interface ShellOptions {
  /** The session's real folder, the same as in `files: { folder }` of the runtime. Commands begin there. */
  readonly folder: (of: { readonly tenant: string; readonly session: string }) => string | undefined
  /** 'always' unless given. */
  readonly approval?: 'always' | 'never' | ((input: BashInput, about: ApprovalFacts) => unknown)
  /** Seen by commands, besides PATH, HOME (the session's folder) and LANG. Nothing else of this process is. */
  readonly env?: Readonly<Record<string, string>>
  /** What runs the commands. /bin/bash unless given, or /bin/sh where there is none. */
  readonly shell?: string
  /** How much the model is shown where it does not say. 'auto' unless given. */
  readonly output?: OutputLevel
  readonly limits?: Partial<ShellBounds> & {
    /** How long a command in the background may take. '24h' unless given. */
    readonly background?: Duration
  }
  /** The system's if left out. */
  readonly clock?: Clock
}

export interface BashInput {
  readonly commands: string
  readonly working_dir?: string
  readonly timeout_ms?: number
  readonly output?: OutputLevel
}

interface BashResult {
  readonly stdout: string
  readonly stderr: string
  readonly exit_code: number
  readonly success: boolean
  readonly truncated: boolean
  readonly total_lines: number
  readonly output_files?: readonly string[]
}

const standardTimeoutMs = 30_000
const longestTimeoutMs = 600_000
/** One argument of a program has at most 128 KiB. */
const longestCommands = 120_000
const standardBounds: ShellBounds = {
  memory: 2 * 1024 ** 3,
  processes: 256,
  fileBytes: 1024 ** 3,
  output: 64 * 1024 ** 2,
}
/** Between SIGTERM and SIGKILL. Who waits for a call that was cancelled waits no longer than this; a task has more time. */
const graceMs = 100
const backgroundGraceMs = 2_000

const inputSchema = (longestMs: number): JsonSchema => ({
  type: 'object',
  properties: {
    commands: { type: 'string', minLength: 1, description: 'What to run, as bash reads it' },
    working_dir: { type: 'string', description: 'Where to begin, inside the workspace; its top if left out' },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestMs,
      description: `How long it may take: ${standardTimeoutMs} if left out, ${longestTimeoutMs} at most, more only in the background`,
    },
    output: {
      type: 'string',
      enum: [...outputLevels],
      description:
        'How much of its output you are shown: auto (little if it succeeds), silent, concise, normal, verbose or full',
    },
  },
  required: ['commands'],
  additionalProperties: false,
})

const outputSchema: JsonSchema = {
  type: 'object',
  properties: {
    stdout: { type: 'string' },
    stderr: { type: 'string' },
    exit_code: { type: 'integer' },
    success: { type: 'boolean' },
    truncated: { type: 'boolean' },
    total_lines: { type: 'integer' },
    output_files: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files with the whole output, where it was shortened',
    },
  },
  required: ['stdout', 'stderr', 'exit_code', 'success', 'truncated', 'total_lines'],
  additionalProperties: false,
}

export function shellTools(options: ShellOptions): readonly Tool[] {
  const { approval = 'always', clock = systemClock, output: standardOutput = 'auto' } = options
  const bounds = boundsOf(options)
  const shell = options.shell ?? (isThere('/bin/bash') ? '/bin/bash' : '/bin/sh')
  const backgroundMs = milliseconds(options.limits?.background ?? '24h', 'shell: limits.background')
  const longestMs = Math.max(longestTimeoutMs, backgroundMs)

  const timeoutOf = ({ timeout_ms: asked }: BashInput, inBackground: boolean): number => {
    const [standard, most] = inBackground ? [backgroundMs, backgroundMs] : [standardTimeoutMs, longestTimeoutMs]
    if (asked === undefined || asked <= most) return asked ?? standard
    const advice = !inBackground && backgroundMs > most ? '; run it in the background if it takes longer' : ''
    throw fail(`timeout_ms must be at most ${most}${advice}`, {
      code: 'invalid_arguments',
      class: 'invalid_request',
    })
  }

  const execute = async (input: BashInput, ctx: ToolContext): Promise<BashResult> => {
    const { commands, working_dir: where = '/', output = standardOutput } = input
    const inBackground = ctx.task !== null
    const timeoutMs = timeoutOf(input, inBackground)
    if (Buffer.byteLength(commands) > longestCommands || commands.includes('\0'))
      throw fail(`commands must be text of at most ${longestCommands} bytes; write a script to a file and run that`, {
        code: 'invalid_arguments',
        class: 'invalid_request',
      })
    const root = options.folder({ tenant: ctx.tenant, session: ctx.session })
    if (root === undefined)
      throw fail('bash needs a real folder, and this session keeps its files in the store', {
        code: 'workspace_unavailable',
        class: 'unavailable',
      })
    const folder = await openWorkingFolder(root, where)
    try {
      const end = await runShell({
        shell,
        commands,
        cwd: folder.path,
        env: { PATH: standardPath, HOME: folder.root, LANG: 'C.UTF-8', ...options.env },
        timeoutMs,
        graceMs: inBackground ? backgroundGraceMs : graceMs,
        bounds,
        clock,
        signal: ctx.signal,
        onOutput: (text, stream) => ctx.output(text, stream),
      })
      if (end.ended !== undefined) throw endedEarly(end, timeoutMs, bounds)
      const success = end.exitCode === 0
      const { files, ...shown } = await showOutput(end, output, success, ctx)
      const { stdout, stderr, truncated } = shown
      const about = { exit_code: end.exitCode, success, truncated, total_lines: end.lines }
      return { stdout, stderr, ...about, ...(files.length > 0 ? { output_files: files } : {}) }
    } finally {
      await folder.close()
    }
  }

  const bash = tool({
    name: 'bash',
    title: 'Run shell commands',
    description:
      'Run commands in bash, in the workspace of this conversation. Each call begins anew: directories, variables and functions of earlier calls are gone, and what is still running at the end is ended. The whole output is kept as a file where it is shortened.',
    input: jsonSchema<BashInput>(inputSchema(longestMs)),
    output: outputSchema,
    hints: { destructive: true, openWorld: true },
    approval,
    preview: ({ commands, working_dir: where }) => ({
      summary: `Run in bash${where === undefined ? '' : ` in ${where}`}`,
      details: commands,
    }),
    onCrash: 'stop',
    timeout: longestTimeoutMs + 60_000,
    background: { timeout: backgroundMs + 60_000, grace: backgroundGraceMs + 1_000, recovery: 'owner_bound' },
    narrate: narrate(
      {
        en: {
          started: 'Running {} in bash',
          completed: 'Ran {} in bash',
          failed: '{} failed in bash',
          waiting: 'Waiting to run {} in bash',
        },
        de: {
          started: 'Führt {} in bash aus',
          completed: '{} in bash ausgeführt',
          failed: '{} in bash fehlgeschlagen',
          waiting: 'Wartet darauf, {} in bash auszuführen',
        },
      },
      // The program alone: what follows may be secret.
      ({ commands }) => /^\s*([\w./+-]{1,40})(?=\s|$)/.exec(commands)?.[1] ?? 'commands',
    ),
    examples: [{ commands: 'ls -la' }, { commands: 'npm test', timeout_ms: 120_000, output: 'normal' }],
    execute,
  })
  return [bash]
}

const partialBytes = 8_192

function endedEarly(end: ShellEnd, timeoutMs: number, bounds: ShellBounds): Error {
  const said = shortened(`${end.stdout}${end.stderr === '' ? '' : `\n[stderr]\n${end.stderr}`}`, partialBytes)
  const output = said.trim() === '' ? ' There was no output' : ` Partial output:\n${said}`
  if (end.ended === 'timeout')
    return fail(`Command timed out after ${timeoutMs}ms.${output}`, { code: 'command_timeout', class: 'timeout' })
  const limit = (what: string): Error =>
    fail(`Command was stopped: ${what}.${output}`, { code: 'command_limit', class: 'resource_limit' })
  switch (end.ended) {
    case 'memory':
      return limit(`it used more than ${bounds.memory} bytes of memory`)
    case 'processes':
      return limit(`it started more than ${bounds.processes} processes`)
    case 'output':
      return limit(`it wrote more than ${bounds.output} characters`)
    default:
      return fail(`Command was stopped.${output}`, { code: 'command_stopped' })
  }
}

function boundsOf({ folder, env = {}, output, limits = {} }: ShellOptions): ShellBounds {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `shell: ${why}.`)
  }
  if (typeof folder !== 'function') wrong('folder must be a function that gives the real folder of a session')
  if (output !== undefined && !outputLevels.includes(output)) wrong(`output must be one of ${outputLevels.join(', ')}`)
  for (const [name, value] of Object.entries(env))
    if (!/^[A-Za-z_]\w*$/.test(name) || typeof value !== 'string' || value.includes('\0'))
      wrong(`env.${name} is no variable that a shell takes`)
  const { background: _, ...given } = limits
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(standardBounds, name))
      wrong(`there is no limit '${name}'; there are ${Object.keys(standardBounds).join(', ')}, background`)
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      wrong(`limits.${name} must be a whole number above zero`)
  }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { ...standardBounds, ...said }
}

function isThere(program: string): boolean {
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}
