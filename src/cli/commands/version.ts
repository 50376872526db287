// `pawl version`.

import type { Run } from '../cli.ts'
import { packageVersion } from '../package-version.ts'

export const version: Run<object> = async ({ output }) => {
  const versions = { pawl: packageVersion(), node: process.versions.node }
  output.result(versions, () => output.line(versions.pawl))
}
