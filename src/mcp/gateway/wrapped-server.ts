// The server of `pawl mcp wrap -- <command>`: one command line as a servers file.

import type { ServersFile } from './servers-file.ts'

/** These programs run what their first argument names. */
const launchers =
  /^(?:npx|npm|bunx|bun|pnpx|pnpm|yarn|uvx|uv|pipx|node|deno|python|python3|docker|env|sh|bash)(?:\.cmd|\.exe)?$/
const subcommands = new Set(['exec', 'x', 'dlx', 'run', 'tool', 'start'])

/**
 * The names of tools stay as they are: there is one server only. The name of the server identifies it in the record, so
 * it must be the same at every start.
 */
export function wrappedServer(
  [command = '', ...args]: readonly string[],
  name: string | undefined,
  trusted: boolean,
): ServersFile {
  const config = { command, args, prefix: '', ...(trusted ? { trusted } : {}) }
  return { servers: [{ name: name ?? nameOfCommand(command, args), config }], policy: {} }
}

/** `npx -y @modelcontextprotocol/server-filesystem@1.2 .` is 'server-filesystem'. */
export function nameOfCommand(command: string, args: readonly string[]): string {
  const program = lastPart(command)
  const target = launchers.test(program)
    ? args.find((arg) => !arg.startsWith('-') && !subcommands.has(arg) && /[A-Za-z0-9]/.test(arg))
    : undefined
  const name = distinctPart(target ?? program)
    .replace(/(?<=.)@[^@]*$/, '')
    .replace(/\.(?:[cm]?[jt]s|py|exe|cmd|sh)$/, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
  return name.slice(0, 40) || 'server'
}

/** `build/index.js` of a package is named like the package. */
const generic = /^(?:\.+|dist|build|src|bin|lib|out|index\.[cm]?[jt]s|main\.(?:[cm]?[jt]s|py)|__main__\.py)$/
const distinctPart = (path: string): string =>
  path.split(/[/\\]/).findLast((part) => part !== '' && !generic.test(part)) ?? lastPart(path)

const lastPart = (path: string): string => path.split(/[/\\]/).findLast((part) => part !== '') ?? ''
