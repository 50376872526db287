// Fields whose names say that their values are nobody's business: what people read of a call does not show them (SESS-9).

/** Anywhere in a name: 'accesstoken', 'dbPassword'. */
const parts =
  /passw|passphrase|passcode|secret|token|credential|authori[sz]ation|cookie|bearer|api-?key|private-?key|access-?key|card-?n|mnemonic/
/** As a word of a name: 'card_number', 'userPin', 'key'. */
const words: ReadonlySet<string> = new Set(
  'pwd pass key keys auth jwt card cards cvv cvc pin otp iban ssn signature seed cred creds session sid'.split(' '),
)

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)

export function looksSecret(name: string): boolean {
  const all = wordsOf(name)
  return parts.test(all.join('-')) || all.some((word) => words.has(word))
}

/** A text that has one in it: 'password=…', 'Bearer …'. */
const holds =
  /(?:passw\w*|pwd|passphrase|secret|token|key|credentials?|authori[sz]ation|cookie|auth)["']?\s*[=:]|\b(?:bearer|basic)\s+\S{8}/i
export const holdsSecret = (text: string): boolean => holds.test(text)

/** In place of what is not shown. */
export const hidden = '…'
const deepest = 64

/**
 * The same without the values of such fields, for a tool that puts a call into words: what it does not get it cannot show. A field that is just
 * called 'key' stays: whoever writes words about it knows what it is.
 */
export function withoutSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  if (depth > deepest) return hidden as T
  if (Array.isArray(value)) return value.map((each: unknown) => withoutSecrets(each, depth + 1)) as T
  const fields = Object.entries(value).map(([name, each]: [string, unknown]) => [
    name,
    name !== 'key' && name !== 'keys' && looksSecret(name) ? hiddenOf(each) : withoutSecrets(each, depth + 1),
  ])
  return Object.fromEntries(fields) as T
}

/** What says nothing stays what it is. */
const hiddenOf = (value: unknown): unknown =>
  value === null || value === undefined || typeof value === 'boolean' ? value : hidden

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as null)
