// The formats that are enforced; others are annotations, as the standard says. Each test is linear in the length of the
// text, which is untrusted.

import { isIPv4, isIPv6 } from 'node:net'

interface Format {
  readonly test: (text: string) => boolean
  /** Shown to the model when the format does not match. */
  readonly example: string
}

const datePart = /^(\d{4})-(\d\d)-(\d\d)$/
const timePart = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const scheme = /^[a-z][a-z0-9+.-]*:/i
// RFC 3986: any other character must be percent-encoded.
const uriText = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const quotedLocalPart = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/
const duration =
  /^P(?:\d+W|(?=.)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?=\d)(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)$/
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const pointer = /^(?:\/(?:[^~/]|~[01])*)*$/
const relativePointer = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/

const daysIn = (year: number, month: number): number =>
  [31, leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
const leap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

function isDate(text: string): boolean {
  const [, year, month, day] = (datePart.exec(text) ?? []).map(Number)
  return day !== undefined && day >= 1 && day <= daysIn(year as number, month as number)
}

function isTime(text: string): boolean {
  const parts = timePart.exec(text)
  if (!parts) return false
  const [hour, minute, second, offsetHour, offsetMinute] = [
    parts[1],
    parts[2],
    parts[3],
    parts[5] ?? 0,
    parts[6] ?? 0,
  ].map(Number) as [number, number, number, number, number]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  // A leap second happens at the end of a day in UTC only.
  const offset = (offsetHour * 60 + offsetMinute) * (parts[4] === '-' ? -1 : 1)
  return second < 60 || (hour * 60 + minute - offset + 2880) % 1440 === 1439
}

const isDateTime = (text: string): boolean =>
  isDate(text.slice(0, 10)) && /^t/i.test(text.slice(10)) && isTime(text.slice(11))
const isHostname = (text: string): boolean => text.length <= 253 && text.split('.').every((part) => label.test(part))

function isEmail(text: string): boolean {
  const cut = text.lastIndexOf('@')
  const [local, host] = [text.slice(0, cut), text.slice(cut + 1)]
  if (cut < 1 || local.length > 64 || !(localPart.test(local) || quotedLocalPart.test(local))) return false
  if (!host.startsWith('[') || !host.endsWith(']')) return isHostname(host)
  const literal = host.slice(1, -1)
  return /^ipv6:/i.test(literal) ? isIPv6(literal.slice(5)) : isIPv4(literal)
}

function isUriReference(text: string): boolean {
  if (!uriText.test(text)) return false
  const hash = text.indexOf('#')
  if (hash !== -1 && text.includes('#', hash + 1)) return false
  const host = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i.exec(text)?.[1]
  const outside = host === undefined ? text : text.replace(host, '')
  if (/[[\]]/.test(outside)) return false
  if (host === undefined) return scheme.test(text) || !/^[^/?#]*:/.test(text)
  const address = host.slice(host.lastIndexOf('@') + 1)
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(address)
  return bracketed
    ? isIPv6(bracketed[1] as string) || /^v[0-9a-f]+\./i.test(bracketed[1] as string)
    : /^[^[\]:]*(?::\d*)?$/.test(address)
}

function isRegex(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp // parsed, never run
  } catch {
    return false
  }
}

export const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['date', { test: isDate, example: '2026-01-31' }],
  ['time', { test: isTime, example: '09:30:00Z' }],
  ['date-time', { test: isDateTime, example: '2026-01-31T09:30:00Z' }],
  ['duration', { test: (text) => duration.test(text) && !/[PT]$/.test(text), example: 'P3DT4H' }],
  ['email', { test: isEmail, example: 'ada@example.com' }],
  ['hostname', { test: isHostname, example: 'example.com' }],
  ['ipv4', { test: isIPv4, example: '192.0.2.1' }],
  ['ipv6', { test: (text) => isIPv6(text) && !text.includes('%'), example: '2001:db8::1' }],
  ['uri', { test: (text) => scheme.test(text) && isUriReference(text), example: 'https://example.com/a' }],
  ['uri-reference', { test: isUriReference, example: '/a?b=c' }],
  ['uuid', { test: (text) => uuid.test(text), example: '0190f5c2-7b1c-7def-8a12-1234567890ab' }],
  ['regex', { test: isRegex, example: '^[a-z]+$' }],
  ['json-pointer', { test: (text) => pointer.test(text), example: '/a/0' }],
  ['relative-json-pointer', { test: (text) => relativePointer.test(text), example: '1/a' }],
])
