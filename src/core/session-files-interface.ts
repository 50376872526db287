// The interface of session files, implemented by the store and by real folders. test/storage/files/file-cases.ts runs
// the same cases against every implementation.

/** Facts about a file or directory. */
export interface FileStat {
  /** Normalized absolute path, for example /notes/today.md. */
  readonly path: string
  /** Last part of the path. */
  readonly name: string
  /** File or directory. */
  readonly kind: 'file' | 'directory'
  /** 0 for a directory. */
  readonly bytes: number
  /**
   * 'sha256:<hex>' of the bytes. Null for a directory, in the listing of a real folder (where files are not read), and
   * for a log that may still grow.
   */
  readonly hash: string | null
  /**
   * As passed to write(), otherwise derived from the file extension; null if unknown. In a real folder it is always
   * derived from the extension.
   */
  readonly mediaType: string | null
  /** In milliseconds since 1970. */
  readonly createdAt: number
  /** In milliseconds since 1970. */
  readonly updatedAt: number
  /** True if only the runtime writes there. */
  readonly readonly: boolean
}

/** The content of a file and its version. */
export interface FileContent {
  /** Its hash is the hash of these bytes. */
  readonly stat: FileStat
  /** The bytes. */
  readonly bytes: Uint8Array
  /** Null if the bytes are not valid UTF-8. */
  readonly text: string | null
}

/** A page of a listing. */
export interface FilePage {
  /** Files and directories, sorted by path. */
  readonly entries: readonly FileStat[]
  /** True if there are further entries. Pass the path of the last entry as `after` to read them. */
  readonly more: boolean
}

/** Which page of a listing. */
export interface PageOptions {
  /** Default 200, maximum 1,000. */
  readonly limit?: number
  /** The path of the last entry of the previous page. */
  readonly after?: string
}

/** Options of files.write(). */
export interface WriteOptions {
  /** Hash of the version to replace; null if the file must not exist yet. Default: replace any version. */
  readonly ifHash?: string | null
  /** For example 'text/csv'. Default: from the name. */
  readonly mediaType?: string
}

/**
 * Paths are normalized: `x`, `/x` and `/workspace/x` are the same file, `..` stops at the root, and names are compared
 * in Unicode NFC. Every change is atomic.
 */
export interface SessionFiles {
  /** Creates missing parent directories. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<FileStat>
  /** Throws file_not_found or file_is_directory. */
  read(path: string): Promise<FileContent>
  /** Facts about a file or directory; undefined if there is none. */
  stat(path: string): Promise<FileStat | undefined>
  /** The direct entries of a directory, ordered by name. */
  list(path?: string, options?: PageOptions): Promise<FilePage>
  /**
   * Matching files and directories, ordered by path. Names that start with a dot need a pattern that starts with one.
   */
  glob(pattern: string, options?: PageOptions): Promise<FilePage>
  /** Creates missing parents too. An existing directory is left unchanged. */
  makeDirectory(path: string): Promise<FileStat>
  /** False if the path does not exist. `ifHash` applies to files only. */
  remove(path: string, options?: { readonly recursive?: boolean; readonly ifHash?: string }): Promise<boolean>
  /** Moves a file or a whole directory. `replace` lets a file overwrite a file. */
  move(from: string, to: string, options?: { readonly replace?: boolean }): Promise<FileStat>
}
