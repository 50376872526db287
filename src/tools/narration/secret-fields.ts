// Recognizes fields whose names suggest a secret, so that narrations do not show their values.

/** Matches anywhere in a name: 'accesstoken', 'dbPassword'. */
const secretParts =
  /passw|passphrase|passcode|secret|token|credential|authori[sz]ation|cookie|bearer|api-?key|private-?key|access-?key|card-?n|mnemonic/
/** Matches a whole word of a name: 'card_number', 'userPin', 'key'. */
const secretWords: ReadonlySet<string> = new Set(
  'pwd pass key keys auth jwt card cards cvv cvc pin otp iban ssn signature seed cred creds session sid'.split(' '),
)

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)

export function isSecretName(name: string): boolean {
  const all = wordsOf(name)
  return secretParts.test(all.join('-')) || all.some((word) => secretWords.has(word))
}

/** A text that contains a secret: 'password=…', 'Bearer …'. */
const secretText =
  /(?:passw\w*|pwd|passphrase|secret|token|key|credentials?|authori[sz]ation|cookie|auth)["']?\s*[=:]|\b(?:bearer|basic)\s+\S{8}/i
export const containsSecret = (text: string): boolean => secretText.test(text)

/** Replaces a hidden value. */
export const hiddenValue = '…'
const maxDepth = 64

/**
 * Replaces the values of secret fields before a tool's `narrate` receives them, so that it cannot show them. A field
 * named just 'key' is kept: the author of the narration knows whether it is a secret.
 */
export function withoutSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  if (depth > maxDepth) return hiddenValue as T
  if (Array.isArray(value)) return value.map((each: unknown) => withoutSecrets(each, depth + 1)) as T
  const fields = Object.entries(value).map(([name, each]: [string, unknown]) => [
    name,
    name !== 'key' && name !== 'keys' && isSecretName(name) ? hideValue(each) : withoutSecrets(each, depth + 1),
  ])
  return Object.fromEntries(fields) as T
}

/** null, undefined and booleans reveal nothing and are kept. */
const hideValue = (value: unknown): unknown =>
  value === null || value === undefined || typeof value === 'boolean' ? value : hiddenValue

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as null)
