// Unified diff of edits at known positions, for edit_file. There is no search, so the cost is linear in the text.

import { Lines } from './split-lines.ts'

/** Replaces the range from `start` to `end` with `text`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A line range of the old text and the lines that replace it, each with its ending. */
interface Block {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

const contextLines = 3
export const maxDiffChars = 16_000

export interface Diff {
  readonly diff: string
  readonly truncated: boolean
  /** The first changed line, counted from 1. */
  readonly firstLine: number
}

/** The edits must be sorted and must not overlap. Lines end with \n. */
export function unifiedDiff(path: string, before: string, edits: readonly Edit[]): Diff {
  const old = new Lines(before)
  const blocks = changedBlocks(old, edits)
  const name = path.replace(/^\//, '')
  const parts = [`--- a/${name}`, `+++ b/${name}`]
  // Push one by one: an edit may have more lines than a function takes arguments.
  const add = (mark: string, from: number, to: number): void => {
    for (let nth = from; nth < to; nth++) parts.push(diffLine(mark, old.at(nth)))
  }
  let shift = 0
  for (const hunk of groupHunks(blocks)) {
    const from = Math.max(0, (hunk[0] as Block).from - contextLines)
    const to = Math.min(old.count, (hunk.at(-1) as Block).to + contextLines)
    const added = hunk.reduce((sum, { lines }) => sum + lines.length, 0)
    const removed = hunk.reduce((sum, block) => sum + block.to - block.from, 0)
    const counts = { old: to - from, new: to - from - removed + added }
    parts.push(`@@ -${range(from, counts.old)} +${range(from + shift, counts.new)} @@`)
    let at = from
    for (const block of hunk) {
      add(' ', at, block.from)
      add('-', block.from, block.to)
      for (const line of block.lines) parts.push(diffLine('+', line))
      at = block.to
    }
    add(' ', at, to)
    shift += added - removed
  }
  const diff = `${parts.join('\n')}\n`
  return { ...truncateDiff(diff), firstLine: (blocks[0]?.from ?? 0) + 1 }
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
/** For an empty range, unified diff names the line before it. */
const range = (from: number, count: number): string => `${count === 0 ? from : from + 1},${count}`
const diffLine = (mark: string, line: string): string =>
  line.endsWith('\n') ? `${mark}${line.slice(0, -1)}` : `${mark}${line}\n\\ No newline at end of file`

/** The changes in whole lines. Edits that touch the same line become one block. */
function changedBlocks(old: Lines, edits: readonly Edit[]): Block[] {
  const groups: { from: number; to: number; edits: Edit[] }[] = []
  for (const edit of edits) {
    const from = old.lineAt(edit.start)
    // Include the line at the end of the edit: if its line ending is removed, the next line joins it.
    const to = Math.min(old.count, old.lineAt(edit.end) + 1)
    const last = groups.at(-1)
    if (last && from < last.to) {
      last.to = Math.max(last.to, to)
      last.edits.push(edit)
    } else groups.push({ from, to, edits: [edit] })
  }
  return groups.flatMap(({ from, to, edits: own }) => {
    const block = trimUnchanged(old, {
      from,
      to,
      lines: splitLines(applyEdits(old.text, own, old.startOf(from), old.startOf(to))),
    })
    return block.from === block.to && block.lines.length === 0 ? [] : [block]
  })
}

/** Returns the text from `start` to `end` with the edits applied. */
export function applyEdits(before: string, edits: readonly Edit[], start = 0, end = before.length): string {
  const parts: string[] = []
  let at = start
  for (const edit of edits) {
    parts.push(before.slice(at, edit.start), edit.text)
    at = edit.end
  }
  parts.push(before.slice(at, end))
  return parts.join('')
}

/** Removes unchanged lines from both ends of a block. */
function trimUnchanged(old: Lines, { from, to, lines }: Block): Block {
  let [head, tail] = [0, 0]
  const most = Math.min(to - from, lines.length)
  while (head < most && old.at(from + head) === lines[head]) head++
  while (tail < most - head && old.at(to - 1 - tail) === lines[lines.length - 1 - tail]) tail++
  return { from: from + head, to: to - tail, lines: lines.slice(head, lines.length - tail) }
}

/** Groups blocks whose context lines would touch. */
function groupHunks(blocks: readonly Block[]): Block[][] {
  const hunks: Block[][] = []
  for (const block of blocks) {
    const last = hunks.at(-1)
    if (last && block.from - (last.at(-1) as Block).to <= 2 * contextLines) last.push(block)
    else hunks.push([block])
  }
  return hunks
}

/** Truncates at a line end if possible. */
function truncateDiff(diff: string): { diff: string; truncated: boolean } {
  if (diff.length <= maxDiffChars) return { diff, truncated: false }
  const end = diff.lastIndexOf('\n', maxDiffChars - 1)
  // Drop half of a surrogate pair at the cut.
  const cut =
    end > maxDiffChars / 2 ? diff.slice(0, end + 1) : diff.slice(0, maxDiffChars).replace(/[\ud800-\udbff]$/, '')
  return { diff: cut, truncated: true }
}
