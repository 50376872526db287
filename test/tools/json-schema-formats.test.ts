// The formats of host names, e-mail addresses, IRIs and URI templates, with cases taken from the rules of their RFCs.

import { domainToASCII } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/tool-value.ts'
import { decodePunycode, encodePunycode } from '../../src/tools/json-schema/punycode.ts'
import { type CheckResult, compileSchema } from '../../src/tools/schema.ts'
import { fc } from '../kit/seeded-fast-check.ts'

const accepts = (format: string, value: Json): boolean =>
  (compileSchema({ format }, 'Tool x').check(value) as CheckResult).ok
const aLabel = (label: string): string => `xn--${encodePunycode(label)}`

/** Labels with a rule of RFC 5891 or 5892 that they keep or break. */
const validLabels: Record<string, string> = {
  'letters of one script': 'bücher',
  'exceptions that are allowed': 'straße',
  'final sigma': 'νόμος',
  'middle dot between two l': 'col\u00b7lecció',
  'keraia before Greek': 'α\u0375β',
  'geresh after Hebrew': 'ג\u05f3',
  'gershayim after Hebrew': 'צה\u05f4ל',
  'Katakana dot with Han': '東\u30fb京',
  'Arabic-Indic digits': 'ب\u0661\u0662',
  'extended Arabic-Indic digits': 'پ\u06f1\u06f2',
  'joiner after a virama': 'क\u094d\u200dष',
  'non-joiner after a virama': 'क\u094d\u200cष',
  'non-joiner between joining letters': 'نامه\u200cای',
  'dotless i': 'ısı',
  'Cherokee capitals, which folding keeps': 'ᎠᎡ',
}
const invalidLabels: Record<string, string> = {
  'a mark at the start': '\u0301a',
  'upper case': 'bÜcher',
  'a compatibility form': 'ﬁé',
  'not in NFC': 'bu\u0308cher',
  'a symbol': 'a☃',
  'a Cherokee small letter': 'ꭰ',
  'an exception that is forbidden': 'ا\u0640ب',
  'a Hangul tone mark': '실\u302e례',
  'old Hangul jamo': 'ᄀᄀé',
  'an invisible character': 'a\u00adé',
  'a musical symbol': 'é\u{1d165}',
  'an unassigned character': 'é\u0378',
  'middle dot elsewhere': 'a\u00b7l',
  'middle dot at the end': 'l\u00b7',
  'keraia at the end': 'α\u0375',
  'keraia before Latin': 'α\u0375a',
  'geresh at the start': '\u05f3ג',
  'gershayim after Latin': 'a\u05f4ג',
  'Katakana dot alone': 'a\u30fbb',
  'mixed Arabic digits': 'ب\u0661\u06f1',
  'joiner without a virama': 'क\u200dष',
  'joiner at the start': '\u200dक',
  'non-joiner after a letter that joins only to the right': 'د\u200cب',
  'non-joiner between Latin letters': 'a\u200cbé',
  'a hyphen at the end': 'é-',
  'hyphens in the third and fourth place': 'aé--b',
}

describe('host names', () => {
  test.each(Object.entries(validLabels))('TOOL-6: %s is accepted as U-label and as A-label', (_, label) => {
    expect(accepts('idn-hostname', `${label}.example`)).toBe(true)
    expect(accepts('hostname', `${aLabel(label)}.example`)).toBe(true)
    expect(accepts('hostname', `${label}.example`)).toBe(false)
  })

  test.each(Object.entries(invalidLabels))('TOOL-6: %s is refused as U-label and as A-label', (_, label) => {
    expect(accepts('idn-hostname', `www.${label}`)).toBe(false)
    expect(accepts('idn-hostname', `www.${aLabel(label)}`)).toBe(false)
    expect(accepts('hostname', `www.${aLabel(label)}`)).toBe(false)
  })

  test('TOOL-6: A-labels that are not the encoding of a U-label are refused', () => {
    for (const label of ['xn--', 'xn--a', 'xn--abc-', 'xn--99999999', 'xn---', 'xn--bcher-kva0', 'xn--a-é'])
      expect([label, accepts('hostname', label)]).toEqual([label, false])
    expect(accepts('hostname', 'XN--BCHER-KVA.example')).toBe(true)
    expect(accepts('hostname', 'ab--cd.example')).toBe(true)
    expect(accepts('idn-hostname', 'ab--cd.example')).toBe(false)
  })

  test('TOOL-6: the length of labels and names counts in A-labels; dots of other scripts separate labels', () => {
    const longest = 'é'.repeat(57)
    expect(aLabel(longest)).toHaveLength(63)
    expect(accepts('idn-hostname', longest)).toBe(true)
    expect(accepts('idn-hostname', `${longest}é`)).toBe(false)
    expect(accepts('idn-hostname', Array.from({ length: 4 }, () => longest).join('.'))).toBe(false)
    for (const dot of ['.', '\u3002', '\uff0e', '\uff61']) {
      expect(accepts('idn-hostname', `é${dot}example`)).toBe(true)
      for (const name of [dot, `${dot}é`, `é${dot}`, `é${dot}${dot}é`])
        expect(accepts('idn-hostname', name)).toBe(false)
    }
  })

  test('TOOL-6: Punycode round-trips, and agrees with the platform', () => {
    const label = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    fc.assert(fc.property(label, (text) => decodePunycode(encodePunycode(text)) === text))
    for (const text of Object.values(validLabels)) expect(domainToASCII(text)).toBe(aLabel(text))
  })
})

/** Format, accepted texts, refused texts. */
test.each<[string, string[], string[]]>([
  [
    'idn-email',
    ['ädä@bücher.example', 'ada@example.com', '"ä b"@example.com', 'ä@[192.0.2.1]'],
    ['ä', 'ä@', '@bücher.example', 'ä b@example.com', `${'ä'.repeat(33)}@example.com`, 'ä@\u0301a.example', 'ä@-é.de'],
  ],
  ['email', ['ada@xn--bcher-kva.example'], ['ada@xn--a.example', 'ädä@example.com', 'ada@bücher.example']],
  [
    'iri',
    ['https://bücher.example/é?q=\ue000#ü', 'urn:é', 'https://[2001:db8::1]/é', 'https://[v1.a]/', 'https://ü:p@é:80/'],
    ['/é', 'é', 'https://é/\ue000', 'https://é/#\ue000', 'https://é/%é4', 'https://é/\u202e', 'https://é/ '].concat([
      'https://[v1.é]/',
      'https://[é]/',
      'https://é/\ud800',
      'https://é/\ufdd0',
      'https://é:x/',
      'https://é/#a#b',
      'https://é/[',
    ]),
  ],
  ['iri-reference', ['/é', 'é?\ue000', '#é', '//é/a', ''], ['é\\', ':é', '%é', '//[é]/', 'é|']],
  ['uri', ['https://a@b/', 'https://[v1.a:b]/'], ['https://é/', 'https://[v1.]/', 'https://[v.a]/', 'https://a@b@c/']],
  [
    'uri-template',
    ['', '/orders/{id}', '{+a,b*,c:3}{?d%20.e}', '{#a}{.a}{/a}{;a}{&a}', "it's%20é", '{=a}{|a}', '{a:9999}'],
    ['{', '}', '{}', '{a', 'a}', '{{a}}', '{a b}', '{a-b}', '{.}', '{a.}', '{a,}', '{a:0}', '{a:}', '{a:10000}'].concat(
      ['{a*:1}', '{%4}', '{é}', '%', '%4x', 'a b', 'a"b', '<a>', 'a\\b', 'a^b', 'a`b', 'a|b', 'a\u007f', '\ud800'],
    ),
  ],
])('TOOL-6: the format %s follows its RFC', (format, taken, refused) => {
  expect(taken.filter((text) => !accepts(format, text))).toEqual([])
  expect(refused.filter((text) => accepts(format, text))).toEqual([])
  expect(accepts(format, 5)).toBe(true)
})
