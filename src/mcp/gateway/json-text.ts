// Reads a JSON file of a host with the position of every value, so that an edit replaces only the text of what changes:
// everything else of the file keeps its bytes. Comments and trailing commas are accepted, as editors accept them.

/** A value with the place of its text. `value` is undefined for objects and arrays, whose parts have their own. */
export interface JsonNode {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'literal'
  readonly start: number
  readonly end: number
  readonly members: readonly JsonMember[]
  readonly items: readonly JsonNode[]
  readonly value?: string | number | boolean | null
}

export interface JsonMember {
  readonly key: string
  /** Where the text of the key begins. */
  readonly start: number
  readonly node: JsonNode
}

/** Says what is wrong with the text, and on which line. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError'
}

/** Deeper text would exhaust the stack, and no configuration is as deep. */
const maxDepth = 200

export function parseJsonText(text: string): JsonNode {
  return new Parser(text).parse()
}

/** The member of an object. Undefined if there is none, or if the node is no object. */
export const memberOf = (node: JsonNode, key: string): JsonMember | undefined =>
  node.members.find((member) => member.key === key)

/** The plain value of a node. Keys such as `__proto__` stay keys. */
export function valueOf(node: JsonNode): unknown {
  if (node.kind === 'array') return node.items.map(valueOf)
  if (node.kind !== 'object') return node.value
  const value: Record<string, unknown> = {}
  for (const { key, node: inner } of node.members)
    Object.defineProperty(value, key, { value: valueOf(inner), enumerable: true, configurable: true, writable: true })
  return value
}

/** The numbers in a node that JavaScript cannot hold exactly. A copy of the node would change them. */
export function inexactNumbers(text: string, node: JsonNode): string[] {
  if (node.kind === 'number') {
    const written = text.slice(node.start, node.end)
    const exact = Number.isFinite(node.value) && (!/^-?\d+$/.test(written) || Number.isSafeInteger(node.value))
    return exact ? [] : [written.slice(0, 40)]
  }
  const inner = node.kind === 'object' ? node.members.map((member) => member.node) : node.items
  return inner.flatMap((each) => inexactNumbers(text, each))
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
    if (text.startsWith('\ufeff')) this.#at = 1
  }

  parse(): JsonNode {
    const node = this.#value(0)
    this.#skip()
    if (this.#at < this.#text.length) this.#fail('there is text after the end')
    return node
  }

  #value(depth: number): JsonNode {
    if (depth > maxDepth) this.#fail(`it is more than ${maxDepth} levels deep`)
    this.#skip()
    const character = this.#text[this.#at]
    if (character === '{') return this.#object(depth)
    if (character === '[') return this.#array(depth)
    if (character === '"') return this.#string()
    return this.#word()
  }

  #object(depth: number): JsonNode {
    const start = this.#at++
    const members: JsonMember[] = []
    const keys = new Set<string>()
    while (!this.#closes('}')) {
      const at = this.#at
      if (this.#text[at] !== '"') this.#fail('a key in double quotes is expected')
      const key = this.#string().value as string
      // Programs differ in which of two equal keys they read, so an edit could change the wrong one.
      if (keys.has(key)) this.#fail(`the key ${JSON.stringify(key.slice(0, 80))} occurs twice in one object`)
      keys.add(key)
      this.#skip()
      if (this.#text[this.#at] !== ':') this.#fail('a colon is expected')
      this.#at++
      members.push({ key, start: at, node: this.#value(depth + 1) })
      this.#separator('}')
    }
    return { kind: 'object', start, end: this.#at, members, items: [] }
  }

  #array(depth: number): JsonNode {
    const start = this.#at++
    const items: JsonNode[] = []
    while (!this.#closes(']')) {
      items.push(this.#value(depth + 1))
      this.#separator(']')
    }
    return { kind: 'array', start, end: this.#at, members: [], items }
  }

  /** Whether the object or array ends here; then its end is consumed. */
  #closes(end: string): boolean {
    this.#skip()
    if (this.#at >= this.#text.length) this.#fail('the text ends too early')
    if (this.#text[this.#at] !== end) return false
    this.#at++
    return true
  }

  #separator(end: string): void {
    this.#skip()
    if (this.#text[this.#at] === ',') this.#at++
    else if (this.#text[this.#at] !== end) this.#fail(`a comma or ${end} is expected`)
  }

  #string(): JsonNode {
    const start = this.#at
    const end = this.#stringEnd(start)
    if (end === null) return this.#fail('a string has no end')
    const written = this.#text.slice(start, end)
    this.#at = end
    try {
      const value = JSON.parse(written) as string
      return { kind: 'string', start, end: this.#at, members: [], items: [], value }
    } catch {
      this.#at = start
      return this.#fail('a string has an invalid escape or control character')
    }
  }

  /** No pattern: hosts keep pictures in their files, and strings of that length exhaust the stack of one. */
  #stringEnd(start: number): number | null {
    for (let at = start + 1; at < this.#text.length; at++) {
      const character = this.#text[at]
      if (character === '"') return at + 1
      if (character === '\n' || character === '\r') return null
      if (character === '\\') at++
    }
    return null
  }

  #word(): JsonNode {
    const start = this.#at
    const pattern = /-?[A-Za-z0-9+.-]+/y
    pattern.lastIndex = start
    const [written] = pattern.exec(this.#text) ?? []
    const end = start + (written?.length ?? 0)
    try {
      const value = JSON.parse(written ?? '') as number | boolean | null
      this.#at = end
      const kind = typeof value === 'number' ? 'number' : 'literal'
      return { kind, start, end, members: [], items: [], value }
    } catch {
      return this.#fail('a value is expected')
    }
  }

  /** White space and comments. */
  #skip(): void {
    const pattern = /[ \t\r\n]+|\/\/[^\n]*|\/\*[^]*?\*\//y
    pattern.lastIndex = this.#at
    while (pattern.test(this.#text)) this.#at = pattern.lastIndex
  }

  #fail(problem: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length
    throw new JsonTextError(`line ${line}: ${problem}`)
  }
}
