// Checks of the options of session files, for files in the store and in real folders.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { PageOptions, SessionFiles, WriteOptions } from '../../core/session-files-interface.ts'
import { type FilePath, filePath } from './file-path.ts'

export type RemoveOptions = NonNullable<Parameters<SessionFiles['remove']>[1]>
export type MoveOptions = NonNullable<Parameters<SessionFiles['move']>[2]>

const writeOptions = {
  ifHash: option.either(option.string, option.oneOf(null)),
  mediaType: option.string,
} satisfies OptionTable<WriteOptions>
const removeOptions = { recursive: option.boolean, ifHash: option.string } satisfies OptionTable<RemoveOptions>
const moveOptions = { replace: option.boolean } satisfies OptionTable<MoveOptions>
const pageOptions = { limit: option.wholeNumber(1, 1_000), after: option.string } satisfies OptionTable<PageOptions>

export const checkWrite = (options: WriteOptions | undefined): void =>
  checkOptions(options, writeOptions, 'files.write()')
export const checkRemove = (options: RemoveOptions | undefined): void =>
  checkOptions(options, removeOptions, 'files.remove()')
export const checkMove = (options: MoveOptions | undefined): void => checkOptions(options, moveOptions, 'files.move()')

/** Checks the options of a listing and fills in the default. */
export function pageOf(
  options: PageOptions,
  owner: string,
): { readonly limit: number; readonly after: FilePath | undefined } {
  checkOptions(options, pageOptions, owner)
  const { limit = 200, after } = options
  return { limit, after: after === undefined ? undefined : filePath(after) }
}
