// Punycode (RFC 3492), for the host name formats. The platform's own functions also map and normalize names, which
// would hide what is wrong with a label.

const base = 36
const tMin = 1
const tMax = 26
const initialBias = 72
const initialCode = 128

function adapt(delta: number, points: number, isFirst: boolean): number {
  let rest = isFirst ? Math.floor(delta / 700) : delta >> 1
  rest += Math.floor(rest / points)
  let k = 0
  for (; rest > ((base - tMin) * tMax) >> 1; k += base) rest = Math.floor(rest / (base - tMin))
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + 38))
}

const threshold = (k: number, bias: number): number => Math.min(Math.max(k - bias, tMin), tMax)
const digitAt = (text: string, at: number): number => Number.parseInt(text.charAt(at), base)
/** The digits are a to z, then 0 to 9; radix 36 has them the other way round. */
const toValue = (radix36: number): number => (radix36 + 26) % base
const toDigit = (value: number): string => ((value + 10) % base).toString(base)

const codePointsOf = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) as number)

/** Undefined if the text, without `xn--`, is not Punycode. Quadratic: pass one label, not a whole name. */
export function decodePunycode(text: string): string | undefined {
  const cut = text.lastIndexOf('-')
  const points = codePointsOf(text.slice(0, Math.max(cut, 0)))
  let [code, bias, index] = [initialCode, initialBias, 0]
  for (let at = cut + 1; at < text.length;) {
    const before = index
    for (let [k, weight] = [base, 1]; ; k += base) {
      const digit = toValue(digitAt(text, at++))
      if (Number.isNaN(digit)) return undefined
      index += digit * weight
      if (index > 0x7fffffff) return undefined
      const limit = threshold(k, bias)
      if (digit < limit) break
      weight *= base - limit
    }
    const count = points.length + 1
    bias = adapt(index - before, count, before === 0)
    code += Math.floor(index / count)
    index %= count
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined
    points.splice(index++, 0, code)
  }
  return String.fromCodePoint(...points)
}

/** Without `xn--`. The text must be well-formed. Quadratic: pass one label, not a whole name. */
export function encodePunycode(text: string): string {
  const points = codePointsOf(text)
  const basic = points.filter((point) => point < initialCode)
  let encoded = String.fromCodePoint(...basic) + (basic.length > 0 ? '-' : '')
  let [code, bias, delta, handled] = [initialCode, initialBias, 0, basic.length]
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= code))
    delta += (next - code) * (handled + 1)
    code = next
    for (const point of points) {
      if (point < code) delta += 1
      if (point !== code) continue
      let rest = delta
      for (let k = base; ; k += base) {
        const limit = threshold(k, bias)
        if (rest < limit) break
        encoded += toDigit(limit + ((rest - limit) % (base - limit)))
        rest = Math.floor((rest - limit) / (base - limit))
      }
      encoded += toDigit(rest)
      bias = adapt(delta, handled + 1, handled === basic.length)
      delta = 0
      handled += 1
    }
    delta += 1
    code += 1
  }
  return encoded
}
