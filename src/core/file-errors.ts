// WORDS: the rows of the table of errors (errors.ts) that are about the files of a session.

export const fileErrors = {
  file_path_invalid: {
    http: 400,
    retry: false,
    says: 'The path cannot name a file of the session.',
    next: 'Give a plain path such as notes/today.md. Nothing was read or written.',
  },
  file_pattern_invalid: {
    http: 400,
    retry: false,
    says: 'The pattern cannot be looked for.',
    next: 'Use *, ?, **, [abc] and {a,b}, in a shorter or narrower pattern.',
  },
  file_not_found: {
    http: 404,
    retry: false,
    says: 'There is no such file or directory in the session.',
    next: 'List the directory to see what there is.',
  },
  file_is_directory: {
    http: 409,
    retry: false,
    says: 'The path names a directory, not a file.',
    next: 'Name a file in it, or list it. Nothing was written.',
  },
  file_not_directory: {
    http: 409,
    retry: false,
    says: 'The path names a file where a directory is needed.',
    next: 'Choose another path. Nothing was written.',
  },
  file_exists: {
    http: 409,
    retry: false,
    says: 'Something stands at this path already.',
    next: 'Choose another path, or say that it is to be replaced. Nothing was written.',
  },
  file_changed: {
    http: 409,
    retry: false,
    says: 'The file is not the version that was expected.',
    next: 'Read it again and make the change anew. Nothing was written.',
  },
  file_readonly: {
    http: 403,
    retry: false,
    says: 'Nothing can be written here.',
    next: 'Choose another path. Nothing was written.',
  },
  file_not_plain: {
    http: 403,
    retry: false,
    says: 'The path leads over a link, a device, a pipe or a socket, which are no files of a session.',
    next: 'Put a plain file or directory in its place. Nothing was read or written.',
  },
  directory_not_empty: {
    http: 409,
    retry: false,
    says: 'The directory is not empty.',
    next: 'Remove what is in it first, or say { recursive: true }. Nothing was removed.',
  },
  file_too_large: {
    http: 413,
    retry: false,
    says: 'The file is larger than one may be.',
    next: 'Write it in parts, or raise the quota fileBytes. Nothing was written.',
  },
  files_full: {
    http: 413,
    retry: false,
    says: 'The files of the session have reached their quota.',
    next: 'Remove what is not needed, or raise the quota that the message names. Nothing was written.',
  },
  file_busy: {
    http: 503,
    retry: true,
    says: 'Others keep changing the same files.',
    next: 'Try again. Nothing was written.',
  },
} as const
