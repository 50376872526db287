// Text of a server made safe for logs, errors and the inbox. It stays data: quoted, short, on one line and without
// characters that are invisible or that change how the text around them is displayed.

const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu

/** One line of visible text. Line breaks become spaces; other invisible characters are shown as code points. */
export function plainText(text: string, maxLength: number): string {
  const visible = text
    .slice(0, maxLength)
    .replaceAll(/[\r\n\t]+/g, ' ')
    .replaceAll(
      invisible,
      (each) => `<U+${(each.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}>`,
    )
  const isCut = visible.length > maxLength || text.length > maxLength
  return isCut ? `${visible.slice(0, maxLength)}…` : visible
}

/** The same in quotation marks, for a sentence of ours. */
export const quotedText = (text: string, maxLength = 300): string => JSON.stringify(plainText(text, maxLength))

/** Removes secrets from text that does not pass through the runtime's redaction. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let shown = text
  for (const secret of secrets) shown = shown.replaceAll(secret, '[redacted]')
  return shown
}

/** A copy in which secrets are replaced in all texts. The depth of a message is limited when it arrives. */
export function deepWithoutSecrets<T>(value: T, secrets: readonly string[]): T {
  return secrets.length === 0 ? value : (redactedCopy(value, secrets) as T)
}

function redactedCopy(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets)
  if (Array.isArray(value)) return value.map((each) => redactedCopy(each, secrets))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redactedCopy(each, secrets)]))
}
