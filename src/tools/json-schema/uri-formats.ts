// The formats of URIs (RFC 3986), IRIs (RFC 3987) and URI templates (RFC 6570).

import { isIPv6 } from 'node:net'

const scheme = /^[a-z][a-z0-9+.-]*:/i
// RFC 3986: any other character must be percent-encoded.
const notUriText = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]|%(?![0-9a-f]{2})/i
const futureAddress = /^v[0-9a-f]+\.[\w\-.~!$&'()*+,;=:]+$/i

export function isUriReference(text: string): boolean {
  if (notUriText.test(text)) return false
  const hash = text.indexOf('#')
  if (hash !== -1 && text.includes('#', hash + 1)) return false
  const host = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i.exec(text)?.[1]
  const outside = host === undefined ? text : text.replace(host, '')
  if (/[[\]]/.test(outside)) return false
  if (host === undefined) return scheme.test(text) || !/^[^/?#]*:/.test(text)
  const cut = host.lastIndexOf('@') + 1
  const address = host.slice(cut)
  if (/[[\]@]/.test(host.slice(0, Math.max(cut - 1, 0)))) return false
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(address)
  return bracketed
    ? isIPv6(bracketed[1] as string) || futureAddress.test(bracketed[1] as string)
    : /^[^[\]:]*(?::\d*)?$/.test(address)
}

export const isUri = (text: string): boolean => scheme.test(text) && isUriReference(text)

const plane = (number: number): string => `\\u{${number.toString(16)}0000}-\\u{${number.toString(16)}fffd}`
const planes = Array.from({ length: 13 }, (_, index) => plane(index + 1)).join('')
/** `ucschar`, without the characters that RFC 3987 forbids because they reorder the text. */
const letters = `\\u00a0-\\u200d\\u2010-\\u2029\\u202f-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef${planes}\\u{e1000}-\\u{efffd}`
const privateUse = `\\ue000-\\uf8ff${plane(15)}${plane(16)}`
const letter = new RegExp(`[${letters}]+`, 'gu')
const letterInQuery = new RegExp(`[${letters}${privateUse}]+`, 'gu')
/** A letter that is no hexadecimal digit, which could complete a percent-encoding. */
const asciiLetter = 'z'

/** An IRI is a URI in which some more characters may stand where letters may. */
export function isIriReference(text: string): boolean {
  const hash = text.indexOf('#')
  const end = hash === -1 ? text.length : hash
  const question = text.lastIndexOf('?', end) === -1 ? -1 : text.indexOf('?')
  const query = question === -1 || question > end ? end : question
  // An address in brackets has no such characters.
  if (/^[^/?#]*\/\/[^/?#]*\[[^\]]*[^\0-\x7f]/.test(text)) return false
  return isUriReference(
    text.slice(0, query).replace(letter, asciiLetter) +
      text.slice(query, end).replace(letterInQuery, asciiLetter) +
      text.slice(end).replace(letter, asciiLetter),
  )
}

export const isIri = (text: string): boolean => scheme.test(text) && isIriReference(text)

const variable = '(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})'
const name = `${variable}+(?:\\.${variable}+)*(?:\\*|:[1-9][0-9]{0,3})?`
const expression = new RegExp(`^[+#./;?&=,!@|]?${name}(?:,${name})*$`)
/** With the apostrophe, which an erratum added. */
const literals = new RegExp(`[^!#$&-;=?-\\[\\]_a-z~%${letters}${privateUse}]|%(?![0-9A-Fa-f]{2})`, 'u')

export function isUriTemplate(text: string): boolean {
  let at = 0
  while (at < text.length) {
    const start = text.indexOf('{', at)
    if (literals.test(text.slice(at, start === -1 ? text.length : start))) return false
    if (start === -1) return true
    const end = text.indexOf('}', start)
    if (end === -1 || !expression.test(text.slice(start + 1, end))) return false
    at = end + 1
  }
  return true
}
