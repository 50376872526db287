// toolbox.shell(): bash, a real shell in a bounded process tree. It is not a sandbox: commands can do whatever the user
// of this process can do. So it is not part of toolbox(), and every call needs approval unless the operator decides
// otherwise.

import { defined } from '../../core/tool-value.ts'
import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { accessSync, constants } from 'node:fs'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { jsonSchema, type JsonSchema } from '../../tools/schema.ts'
import { type ApprovalFacts, type Tool, tool } from '../../tools/tool.ts'
import { standardPath } from '../processes/find-program.ts'
import { runShell, type ShellBounds, type ShellEnd } from './run-shell.ts'
import { type OutputLevel, outputLevels, shortenOutput, showOutput } from './format-output.ts'
import { openWorkingFolder, workspacePath } from './working-folder.ts'

/** The options of toolbox.shell(). */
export interface ShellOptions {
  /** Returns the session's real folder, the same as `files: { folder }` of the runtime. Commands start there. */
  readonly folder: (of: { readonly tenant: string; readonly session: string }) => string | undefined
  /** Default: 'always'. */
  readonly approval?: 'always' | 'never' | ((input: BashInput, about: ApprovalFacts) => unknown)
  /** Environment of the commands, added to PATH, HOME (the session's folder) and LANG. Nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>
  /** Path of the shell. Default: /bin/bash, or /bin/sh if there is no bash. */
  readonly shell?: string
  /** How much output the model sees if it does not set `output`. Default: 'auto'. */
  readonly output?: OutputLevel
  /** Limits on time, output and the process. */
  readonly limits?: Partial<ShellBounds> & {
    /** Timeout of a command in the background. Default: '24h'. */
    readonly background?: Duration
  }
  /** Default: the system clock. */
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

const defaultTimeoutMs = 30_000
const maxTimeoutMs = 600_000
/** Linux limits one program argument to 128 KiB. */
const maxCommandBytes = 120_000
const defaultBounds: ShellBounds = {
  memory: 2 * 1024 ** 3,
  processes: 256,
  fileBytes: 1024 ** 3,
  output: 64 * 1024 ** 2,
}
/** Grace period between SIGTERM and SIGKILL. Short, because a cancelled call waits for it; a task has more time. */
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
      description: `How long it may take: ${defaultTimeoutMs} if left out, ${maxTimeoutMs} at most, more only in the background`,
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
  const bounds = checkedBounds(options)
  const { approval = 'always', clock = systemClock, output: defaultOutput = 'auto' } = options
  const shell = options.shell ?? (isExecutable('/bin/bash') ? '/bin/bash' : '/bin/sh')
  const backgroundMs = milliseconds(options.limits?.background ?? '24h', 'shell: limits.background')
  const maxInputMs = Math.max(maxTimeoutMs, backgroundMs)

  const timeoutFor = ({ timeout_ms: requested }: BashInput, inBackground: boolean): number => {
    const [fallback, max] = inBackground ? [backgroundMs, backgroundMs] : [defaultTimeoutMs, maxTimeoutMs]
    if (requested === undefined || requested <= max) return requested ?? fallback
    const advice = !inBackground && backgroundMs > max ? '; run it in the background if it takes longer' : ''
    throw fail(`timeout_ms must be at most ${max}${advice}`, {
      code: 'invalid_arguments',
      class: 'invalid_request',
    })
  }

  /** Returns the timeout. Throws a failure for the model if the arguments cannot run, whatever is in the workspace. */
  const checkInput = (input: BashInput, inBackground: boolean): number => {
    const { commands, working_dir: where } = input
    if (where !== undefined) workspacePath(where)
    if (Buffer.byteLength(commands) > maxCommandBytes || commands.includes('\0'))
      throw fail(`commands must be text of at most ${maxCommandBytes} bytes; write a script to a file and run that`, {
        code: 'invalid_arguments',
        class: 'invalid_request',
      })
    return timeoutFor(input, inBackground)
  }

  const workspaceOf = ({ tenant, session }: ToolContext): string => {
    const root = options.folder({ tenant, session })
    if (root !== undefined) return root
    throw fail('bash needs a real folder, and this session keeps its files in the store', {
      code: 'workspace_unavailable',
      class: 'unavailable',
    })
  }

  /**
   * Runs before approval, so that a person is not asked about commands that cannot run. An earlier call of the batch,
   * or a task that this one waits for, may still create the directory: then only the body checks that it exists.
   */
  const prepare = async (input: BashInput, ctx: ToolContext): Promise<void> => {
    const inBackground = ctx.task !== null
    checkInput(input, inBackground)
    const root = workspaceOf(ctx)
    if (input.working_dir === undefined || inBackground || ctx.batchIndex > 0) return
    const folder = await openWorkingFolder(root, input.working_dir)
    await folder.close()
  }

  const execute = async (input: BashInput, ctx: ToolContext): Promise<BashResult> => {
    const { commands, working_dir: where = '/', output = defaultOutput } = input
    const inBackground = ctx.task !== null
    const timeoutMs = checkInput(input, inBackground)
    const folder = await openWorkingFolder(workspaceOf(ctx), where)
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
      if (end.ended !== undefined) throw earlyEndError(end, timeoutMs, bounds)
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
    input: jsonSchema<BashInput>(inputSchema(maxInputMs)),
    output: outputSchema,
    hints: { destructive: true, openWorld: true },
    approval,
    preview: ({ commands, working_dir: where }) => ({
      summary: `Run in bash${describeFolder(where)}`,
      details: commands,
    }),
    prepare,
    onCrash: 'stop',
    timeout: maxTimeoutMs + 60_000,
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
      // Only the program name: its arguments may contain secrets.
      ({ commands }) => /^\s*([\w./+-]{1,40})(?=\s|$)/.exec(commands)?.[1] ?? 'commands',
    ),
    examples: [{ commands: 'ls -la' }, { commands: 'npm test', timeout_ms: 120_000, output: 'normal' }],
    execute,
  })
  return [bash]
}

/** For people: `/etc` is a folder of the workspace, so it must not read like that of the machine. */
function describeFolder(requested = ''): string {
  const path = workspacePath(requested)
  return path === '' ? '' : `, in the folder ${JSON.stringify(path)} of the workspace`
}

const partialBytes = 8_192

function earlyEndError(end: ShellEnd, timeoutMs: number, bounds: ShellBounds): Error {
  const partial = shortenOutput(`${end.stdout}${end.stderr === '' ? '' : `\n[stderr]\n${end.stderr}`}`, partialBytes)
  const output = partial.trim() === '' ? ' There was no output' : ` Partial output:\n${partial}`
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

const envPattern = /^[A-Za-z_]\w*$/
export const shellOptions = {
  folder: option.required({ ...option.func, expected: 'a function that returns the real folder of a session' }),
  approval: option.either(option.oneOf('always', 'never'), option.func),
  env: option.object,
  shell: option.nonEmptyString,
  output: option.oneOf(...outputLevels),
  limits: option.nested({
    memory: option.wholeNumber(1),
    processes: option.wholeNumber(1),
    fileBytes: option.wholeNumber(1),
    output: option.wholeNumber(1),
    background: option.duration,
  } satisfies OptionTable<NonNullable<ShellOptions['limits']>>),
  clock: option.object,
} satisfies OptionTable<ShellOptions>

function checkedBounds(options: ShellOptions): ShellBounds {
  checkRequiredOptions(options, shellOptions, 'toolbox.shell()')
  const { env = {}, limits = {} } = options
  for (const [name, value] of Object.entries(env))
    if (!envPattern.test(name) || typeof value !== 'string' || value.includes('\0'))
      throw new PawlError(
        'config_invalid',
        `shell: env.${name} is not a valid variable; use letters, digits and underscores, and a string value without NUL.`,
      )
  const { background: _, ...given } = limits
  return { ...defaultBounds, ...defined(given) }
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}
