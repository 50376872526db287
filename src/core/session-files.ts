// WORDS: what a session's files can do, wherever they are kept. test/storage/files/session-files.test.ts holds every keeping to the same cases.

/** A file or directory as it stands. */
export interface FileStat {
  /** The one form of its path, from the root: /notes/today.md. */
  readonly path: string
  readonly name: string
  readonly kind: 'file' | 'directory'
  /** 0 for a directory. */
  readonly bytes: number
  /** 'sha256:<hex>' of the bytes; null for a directory, in a list of a folder (nothing was read), and for a log that may still grow. */
  readonly hash: string | null
  /** As given, else by the ending of the name; null if neither tells. A folder keeps only the ending. */
  readonly mediaType: string | null
  readonly createdAt: number
  readonly updatedAt: number
  /** Only the runtime writes there. */
  readonly readonly: boolean
}

export interface FileContent {
  /** With the hash of these bytes. */
  readonly stat: FileStat
  readonly bytes: Uint8Array
  /** Null if the bytes are not valid UTF-8. */
  readonly text: string | null
}

export interface FilePage {
  readonly entries: readonly FileStat[]
  /** There are others after the last one: give its path as `after`. */
  readonly more: boolean
}

export interface PageOptions {
  /** 200 if left out, 1,000 at most. */
  readonly limit?: number
  /** The path of the last entry that was seen. */
  readonly after?: string
}

export interface WriteOptions {
  /** The version that is replaced: its hash; null: there must be none. Left out, whatever stands there is replaced. */
  readonly ifHash?: string | null
  readonly mediaType?: string
}

/**
 * Paths are read in one form: `x`, `/x` and `/workspace/x` are the same file, `..` ends at the root, and two Unicode forms of one name are one
 * name. Every change happens whole or not at all.
 */
export interface SessionFiles {
  /** Makes the directories above it. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<FileStat>
  /** Throws file_not_found or file_is_directory. */
  read(path: string): Promise<FileContent>
  stat(path: string): Promise<FileStat | undefined>
  /** What is in a directory itself, by name. */
  list(path?: string, options?: PageOptions): Promise<FilePage>
  /** Files and directories whose path fits, by path. A name that begins with a dot is only met by a dot. */
  glob(pattern: string, options?: PageOptions): Promise<FilePage>
  /** With those above it; one that is there already is left as it is. */
  makeDirectory(path: string): Promise<FileStat>
  /** False if there is nothing. `ifHash` is for files. */
  remove(path: string, options?: { readonly recursive?: boolean; readonly ifHash?: string }): Promise<boolean>
  /** A file or a whole directory. `replace` lets a file take the place of a file. */
  move(from: string, to: string, options?: { readonly replace?: boolean }): Promise<FileStat>
}
