// Ways in which a program may write a secret: encoded, escaped, wrapped, or as a number.

import { generateKeyPairSync } from 'node:crypto'

const text = 'p@ss/word+"é\\1=z<&>\'tail'
const digits = '4915550123'
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
export const secrets: Readonly<Record<string, string>> = { text, digits, pem }

const bytes = Buffer.from(text)
const wrapped = (columns: number, end: string): string =>
  (
    Buffer.from(`prefix ${pem}`)
      .toString('base64')
      .match(new RegExp(`.{1,${columns}}`, 'g')) as string[]
  ).join(end)
const entities = (write: (code: number) => string): string =>
  Array.from(text, (character) => write(character.codePointAt(0) as number)).join('')
const named = text.replaceAll(
  /[&<>"'+/=]/g,
  (character) =>
    ({
      '&': '&amp;',
      '<': '&lt;',
      '>': '&gt;',
      '"': '&quot;',
      "'": '&#39;',
      '+': '&plus;',
      '/': '&sol;',
      '=': '&equals;',
    })[character] as string,
)
const pemLines = pem.trim().split('\n')

/** A text, a number, or a list of lines. */
export const spellings: Readonly<Record<string, string | number | readonly string[]>> = {
  plain: text,
  base64: bytes.toString('base64'),
  'base64 inside other bytes': Buffer.from(`us${text}end`).toString('base64'),
  base64url: Buffer.from(`user:${text}`).toString('base64url'),
  hex: bytes.toString('hex'),
  'hex in capitals': bytes.toString('hex').toUpperCase(),
  url: encodeURIComponent(text),
  'url in small letters': encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase()),
  form: new URLSearchParams({ k: text }).toString(),
  json: JSON.stringify(text),
  'json in json': JSON.stringify(JSON.stringify(text)),
  'json in ASCII': JSON.stringify(text).replaceAll('é', String.raw`\u00e9`),
  'named entities': named,
  'decimal entities': entities((code) => `&#${code};`),
  'hexadecimal entities': entities((code) => `&#x${code.toString(16).padStart(4, '0')};`),
  'base64 in 76 columns': wrapped(76, '\r\n'),
  'base64 in 64 columns': wrapped(64, '\n'),
  'base64 in indented lines': wrapped(60, '\r\n    '),
  'a number': Number(digits),
  'inside a number': Number(`7${digits}12`),
  'a negative fraction': -Number(`${digits}.5`),
  'a key': pem,
  'a key with CRLF': pem.replaceAll('\n', '\r\n'),
  'an indented key': pemLines.map((line) => `\t  ${line}`).join('\n'),
  'numbered lines of a key': pemLines.map((line, at) => `${at + 1}|${line}`).join('\n'),
  'a list of the lines of a key': pemLines,
  'one line of a key': pemLines[3] as string,
}

/** Fragments of a spelling that must not remain. Only characters that no printer escapes. */
export function tracesOf(spelling: string | number | readonly string[]): string[] {
  if (typeof spelling === 'number') return [digits]
  const lines = typeof spelling === 'string' ? spelling.split(/[\r\n]+/) : spelling
  const runs = lines
    .filter((line) => !line.includes('-----'))
    .flatMap((line) => line.match(/[\w+/=&#;%@-]{10,}/g) ?? [])
  // The edges of base64 hold bytes that do not belong to the secret.
  return runs.map((run) => (run.length > 30 ? run.slice(14, -4) : run.slice(2, 9)))
}
