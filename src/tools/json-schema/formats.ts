// The formats that are enforced; others are annotations, as the standard says. Each test is linear in the length of the
// text, which is untrusted; parts that are not, like labels of host names, have a maximum length.

import { isIPv4, isIPv6 } from 'node:net'
import { isHostname, isIdnHostname } from './hostname-formats.ts'
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from './uri-formats.ts'

interface Format {
  readonly test: (text: string) => boolean
  /** Shown to the model when the format does not match. */
  readonly example: string
}

const datePart = /^(\d{4})-(\d\d)-(\d\d)$/
const timePart = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i
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
function isEmail(text: string, isLocal: (local: string) => boolean, isHost: (host: string) => boolean): boolean {
  const cut = text.lastIndexOf('@')
  const [local, host] = [text.slice(0, cut), text.slice(cut + 1)]
  if (cut < 1 || Buffer.byteLength(local) > 64 || !isLocal(local)) return false
  if (!host.startsWith('[') || !host.endsWith(']')) return isHost(host)
  const literal = host.slice(1, -1)
  return /^ipv6:/i.test(literal) ? isIPv6(literal.slice(5)) : isIPv4(literal)
}

const isLocalPart = (local: string): boolean => localPart.test(local) || quotedLocalPart.test(local)
/** RFC 6531 adds every character beyond ASCII. */
const isIdnLocalPart = (local: string): boolean =>
  local.isWellFormed() && isLocalPart(local.replaceAll(/[\u0080-\u{10ffff}]/gu, 'a'))

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
  ['email', { test: (text) => isEmail(text, isLocalPart, isHostname), example: 'ada@example.com' }],
  ['idn-email', { test: (text) => isEmail(text, isIdnLocalPart, isIdnHostname), example: 'ada@bücher.example' }],
  ['hostname', { test: isHostname, example: 'example.com' }],
  ['idn-hostname', { test: isIdnHostname, example: 'bücher.example' }],
  ['ipv4', { test: isIPv4, example: '192.0.2.1' }],
  ['ipv6', { test: (text) => isIPv6(text) && !text.includes('%'), example: '2001:db8::1' }],
  ['uri', { test: isUri, example: 'https://example.com/a' }],
  ['uri-reference', { test: isUriReference, example: '/a?b=c' }],
  ['iri', { test: isIri, example: 'https://example.com/é' }],
  ['iri-reference', { test: isIriReference, example: '/é?b=c' }],
  ['uri-template', { test: isUriTemplate, example: '/orders/{id}{?page}' }],
  ['uuid', { test: (text) => uuid.test(text), example: '0190f5c2-7b1c-7def-8a12-1234567890ab' }],
  ['regex', { test: isRegex, example: '^[a-z]+$' }],
  ['json-pointer', { test: (text) => pointer.test(text), example: '/a/0' }],
  ['relative-json-pointer', { test: (text) => relativePointer.test(text), example: '1/a' }],
])
