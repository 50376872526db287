// Refuses file names that would create another file than the one that is meant. Called before SQLite opens the file.

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { PawlError } from '../../core/errors.ts'

export function checkFileName(file: string): void {
  const problem = problemOf(file)
  if (problem !== undefined) throw new PawlError('config_invalid', `\`store\` is 'sqlite:${file}'${problem}`)
}

function problemOf(file: string): string | undefined {
  if (file.trim() === '' || file === ':memory:') return "; name a file, or use 'memory:'."
  // SQLite's `file:` URLs carry options (read-only mode, no locks) that would break the store's guarantees.
  if (/^file:/i.test(file)) return `; give the path alone, without 'file:': 'sqlite:${pathIn(file)}'.`
  if (file.includes('?')) return `; it takes no parameters, so give the path alone: 'sqlite:${pathIn(file)}'.`
  if (/[/\\]$/.test(file)) return `, which is a folder; name a file in it: 'sqlite:${file}agent.db'.`
  if (file.trim() !== file) return `; leave out the spaces around the name: 'sqlite:${file.trim()}'.`
  const folder = dirname(file)
  return existsSync(folder)
    ? undefined
    : `, but the folder '${folder}' does not exist. Create it, or name another file.`
}

/** The path of a `file:` URL or of a name with parameters, to write instead. */
const pathIn = (url: string): string => url.replace(/^file:(\/\/(?=\/))?/i, '').replace(/[?#].*$/, '')
