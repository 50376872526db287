// Rows of the error table (errors.ts) about session values and secrets.

export const valueErrors = {
  value_key_invalid: {
    http: 400,
    retry: false,
    summary: 'The key of a session value is invalid.',
    next: 'Pass a string of 1 to 255 characters that is not blank. Nothing was written.',
    detailOnly: true,
  },
  value_changed: {
    http: 409,
    retry: false,
    summary: 'The value is not the expected revision.',
    next: 'Read the value again and repeat the change. Nothing was written.',
  },
  value_too_large: {
    http: 413,
    retry: false,
    summary: 'The value exceeds the size limit.',
    next: 'Store it as a file, or raise the quota valueBytes. Nothing was written.',
  },
  values_full: {
    http: 413,
    retry: false,
    summary: 'The values of the session have reached their quota.',
    next: 'Delete values that are not needed, or raise the quota. Nothing was written.',
  },
  values_busy: {
    http: 503,
    retry: true,
    summary: 'The values of the session are being changed concurrently.',
    next: 'Try again. Nothing was written.',
  },
  secret_name_invalid: {
    http: 400,
    retry: false,
    summary:
      'The name of a secret must be 1 to 128 letters, digits, dots, dashes and underscores, and start with a letter or digit.',
    next: 'Choose another name. Nothing was written.',
  },
  secret_reserved: {
    http: 403,
    retry: false,
    summary: 'The name of the secret is reserved for the runtime or the host program.',
    next: 'Choose another name. Nothing was written.',
  },
  secret_invalid: {
    http: 400,
    retry: false,
    summary: 'A secret must be a string of 1 to 16,384 characters.',
    next: 'Pass a valid string. Nothing was written.',
  },
  secrets_full: {
    http: 413,
    retry: false,
    summary: 'The session has reached its limit of secrets.',
    next: 'Delete secrets that are not needed. Nothing was written.',
  },
} as const
