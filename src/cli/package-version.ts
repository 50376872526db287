// The version of the package. Its file is beside the code, in the package and in the repository.

import { readFileSync } from 'node:fs'

export function packageVersion(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
