// WORDS: the rows of the table of errors (errors.ts) that are about values and secrets of a session.

export const valueErrors = {
  value_key_invalid: {
    http: 400,
    retry: false,
    says: 'The key cannot name a value of the session.',
    next: 'Give a text of 1 to 255 characters that is not blank. Nothing was written.',
  },
  value_changed: {
    http: 409,
    retry: false,
    says: 'The value is not the version that was expected.',
    next: 'Read it again and make the change anew. Nothing was written.',
  },
  value_too_large: {
    http: 413,
    retry: false,
    says: 'The value is larger than one may be.',
    next: 'Keep it as a file, or raise the quota valueBytes. Nothing was written.',
  },
  values_full: {
    http: 413,
    retry: false,
    says: 'The values of the session have reached their quota.',
    next: 'Delete what is not needed, or raise the quota that the message names. Nothing was written.',
  },
  values_busy: {
    http: 503,
    retry: true,
    says: 'Others keep changing the values of the session.',
    next: 'Try again. Nothing was written.',
  },
  secret_name_invalid: {
    http: 400,
    retry: false,
    says: 'The name cannot be that of a secret.',
    next: 'Give 1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first. Nothing was written.',
  },
  secret_reserved: {
    http: 403,
    retry: false,
    says: 'The secret is reserved.',
    next: 'Choose another name: this one belongs to the runtime or to the program. Nothing was written.',
  },
  secret_invalid: {
    http: 400,
    retry: false,
    says: 'A secret must be a text of 1 to 16,384 characters.',
    next: 'Give a text. Nothing was written.',
  },
  secrets_full: {
    http: 413,
    retry: false,
    says: 'The session has as many secrets as it may have.',
    next: 'Delete what is not needed. Nothing was written.',
  },
} as const
