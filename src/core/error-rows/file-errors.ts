// Rows of the error table (errors.ts) about session files.

export const fileErrors = {
  file_path_invalid: {
    http: 400,
    retry: false,
    summary: 'The path is not a valid file path.',
    next: 'Pass a plain path such as notes/today.md. Nothing was read or written.',
    detailOnly: true,
  },
  file_pattern_invalid: {
    http: 400,
    retry: false,
    summary: 'The glob pattern is invalid.',
    next: 'Use *, ?, **, [abc] and {a,b} in a shorter or narrower pattern.',
    detailOnly: true,
  },
  file_not_found: {
    http: 404,
    retry: false,
    summary: 'The file or directory does not exist in this session.',
    next: 'List the directory to see its entries.',
    detailOnly: true,
  },
  file_is_directory: {
    http: 409,
    retry: false,
    summary: 'The path is a directory, not a file.',
    next: 'Pass the path of a file in it, or list the directory. Nothing was written.',
  },
  file_not_directory: {
    http: 409,
    retry: false,
    summary: 'The path is a file, but a directory is needed.',
    next: 'Choose another path. Nothing was written.',
  },
  file_exists: {
    http: 409,
    retry: false,
    summary: 'A file or directory already exists at this path.',
    next: 'Choose another path, or pass the option that replaces it. Nothing was written.',
  },
  file_changed: {
    http: 409,
    retry: false,
    summary: 'The file is not the expected version.',
    next: 'Read the file again and repeat the change. Nothing was written.',
  },
  file_readonly: {
    http: 403,
    retry: false,
    summary: 'The path is read-only.',
    next: 'Choose another path. Nothing was written.',
  },
  file_not_plain: {
    http: 403,
    retry: false,
    summary: 'The path leads through a link, a device, a pipe or a socket, which session files do not support.',
    next: 'Replace it with a plain file or directory. Nothing was read or written.',
  },
  directory_not_empty: {
    http: 409,
    retry: false,
    summary: 'The directory is not empty.',
    next: 'Remove its entries first, or pass { recursive: true }. Nothing was removed.',
  },
  file_too_large: {
    http: 413,
    retry: false,
    summary: 'The file exceeds the size limit.',
    next: 'Write it in parts, or raise the quota fileBytes. Nothing was written.',
  },
  files_full: {
    http: 413,
    retry: false,
    summary: 'The files of the session have reached their quota.',
    next: 'Remove files that are not needed, or raise the quota. Nothing was written.',
  },
  file_busy: {
    http: 503,
    retry: true,
    summary: 'The files are being changed concurrently.',
    next: 'Try again. Nothing was written.',
  },
} as const
