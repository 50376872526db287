// Edits of a JSON text that leave every other byte as it is: members of one object are replaced, removed or added.

import { type JsonNode, JsonTextError, memberOf, parseJsonText } from './json-text.ts'

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Changes of the members of one object: `null` removes one, a text replaces or adds it. */
export interface ObjectChange {
  /** Keys from the root to the object. Missing objects are created. */
  readonly path: readonly string[]
  readonly remove: readonly string[]
  /** Members to add: a value, or JSON text that is used as it is. They take the place of the first removed one. */
  readonly add: readonly (readonly [key: string, value: object | RawJson])[]
}

/** The text after the change. An empty text counts as `{}`. */
export function changeObject(given: string, { path, remove, add }: ObjectChange): string {
  const text = given.trim() === '' ? '{}\n' : given
  const root = parseJsonText(text)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const style = { eol, indent: indentOf(text) }
  let node = root
  for (const [depth, key] of path.entries()) {
    requireObject(node, path.slice(0, depth))
    const next = memberOf(node, key)
    if (next === undefined) {
      const inner = path
        .slice(depth + 1)
        .reduceRight<object>((value, name) => ({ [name]: value }), Object.fromEntries(add))
      const member = memberText(key, inner, depth + 1, style)
      return applyEdits(text, [insertion(text, node, member, depth + 1, style)])
    }
    node = next.node
  }
  requireObject(node, path)
  return applyEdits(text, memberEdits(text, node, { path, remove, add }, style))
}

function requireObject({ kind }: JsonNode, path: readonly string[]): void {
  if (kind === 'object') return
  throw new JsonTextError(path.length === 0 ? 'the text is no object' : `\`${path.join('.')}\` is no object`)
}

/** JSON text of another file. It is written as it is, without a margin of its own. */
export class RawJson {
  readonly text: string
  constructor(text: string, margin = '') {
    this.text = text.replaceAll('\r\n', '\n').replaceAll(`\n${margin}`, '\n')
  }
}

interface Style {
  readonly eol: string
  readonly indent: string
}

function memberEdits(text: string, node: JsonNode, change: ObjectChange, style: Style): Edit[] {
  const depth = change.path.length + 1
  const { members } = node
  const leaving = members.filter(({ key }) => change.remove.includes(key))
  const added = change.add.map(([key, value]) => memberText(key, value, depth, style))
  if (leaving.length === 0)
    return added.length === 0 ? [] : [insertion(text, node, added.join(separator(depth, style)), depth, style)]
  const edits: Edit[] = []
  const kept = members.findIndex((member) => !leaving.includes(member))
  for (const member of leaving) {
    const at = members.indexOf(member)
    const before = members[at - 1]
    if (member === leaving[0] && added.length > 0)
      edits.push({ start: member.start, end: member.node.end, text: added.join(separator(depth, style)) })
    // With the comma and the comments before it.
    else if (before && (added.length > 0 || (kept !== -1 && kept < at)))
      edits.push({ start: before.node.end, end: member.node.end, text: '' })
    // The members at the beginning go together, with the comma after them.
    else if (at === 0) edits.push({ start: member.start, end: members[kept]?.start ?? node.end - 1, text: '' })
  }
  return edits
}

/** Adds a member at the end of an object. */
function insertion(text: string, node: JsonNode, member: string, depth: number, style: Style): Edit {
  const last = node.members.at(-1)
  const margin = style.eol + style.indent.repeat(depth)
  if (last) return { start: last.node.end, end: last.node.end, text: `,${margin}${member}` }
  // Comments of an empty object stay.
  const inside = text.slice(node.start + 1, node.end - 1).trimEnd()
  const closing = style.eol + style.indent.repeat(depth - 1)
  return { start: node.start + 1, end: node.end - 1, text: `${inside}${margin}${member}${closing}` }
}

const separator = (depth: number, { eol, indent }: Style): string => `,${eol}${indent.repeat(depth)}`

const memberText = (key: string, value: object, depth: number, { eol, indent }: Style): string =>
  `${JSON.stringify(key)}: ${write(value, indent)
    .replaceAll('\r\n', '\n')
    .replaceAll('\n', `${eol}${indent.repeat(depth)}`)}`

function write(value: unknown, indent: string): string {
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map((each) => write(each, indent)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, each]) => `${indent}${JSON.stringify(key)}: ${write(each, indent).replaceAll('\n', `\n${indent}`)}`,
  )
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n}`
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let changed = text
  for (const { start, end, text: replacement } of edits.toSorted((a, b) => b.start - a.start))
    changed = changed.slice(0, start) + replacement + changed.slice(end)
  parseJsonText(changed) // an edit must never leave a broken file
  return changed
}

/** The indentation of the first indented key; two spaces if there is none. */
const indentOf = (text: string): string => /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
