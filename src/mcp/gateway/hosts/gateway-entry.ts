// The entry with which a host starts the gateway. A project uses the copy of Pawl that it has installed; `npx` must not
// download one. The file of a person works in every folder, so it names the programs by their absolute paths.

import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { HostFile } from './host-files.ts'

export function gatewayEntry({ host, scope, folder }: HostFile, serversFile: string): object {
  const type = host === 'vscode' ? { type: 'stdio' } : {}
  if (scope === 'project') {
    const file = relative(folder, serversFile).replaceAll('\\', '/')
    return { ...type, command: 'npx', args: ['--no-install', 'pawl', 'mcp', '--config', file] }
  }
  return { ...type, command: process.execPath, args: [...programOfPawl(), 'mcp', '--config', serversFile] }
}

/** The main module of the CLI of this copy of Pawl. */
export function programOfPawl(): string[] {
  const cli = join(import.meta.dirname, '..', '..', '..', 'cli')
  const built = join(cli, 'main.js')
  // In the repository itself the sources run.
  return existsSync(built) ? [built] : ['--conditions=@pawl/source', join(cli, 'main.ts')]
}

/** npm deletes the folders in which `npx` runs a package that is not installed. */
export const isTemporaryCopy = (): boolean => /[/\\]_npx[/\\]/.test(import.meta.dirname)
