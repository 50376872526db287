// `pawl inbox`: what waits for people.

import type { Run } from '../cli.ts'
import { findItem, allItems } from '../find-item.ts'
import type { InboxItem } from '../../index.ts'
import { count, inline, relativeTime } from '../output/format.ts'
import { bold, dim } from '../output/output.ts'
import { given } from '../read-arguments.ts'
import { kindOf, showItem } from '../show-item.ts'

interface InboxFlags {
  readonly session?: string
  readonly kind?: InboxItem['kind']
}

export const inbox: Run<InboxFlags> = async (cli, [id], { session, kind }) => {
  const { output } = cli
  const client = await cli.client()
  if (id !== undefined) {
    const item = await findItem(client, id)
    output.result(item, () => {
      showItem(item, output)
      output.note()
      output.note(dim(hintFor(item)))
    })
    return
  }
  const items = await allItems(client, given({ session, kind }))
  output.list(items, () => {
    if (items.length === 0) return output.note(dim('Nothing waits for a person.'))
    const shown = uniqueLength(items.map((item) => item.id))
    output.table(
      [
        { title: 'ID' },
        { title: 'KIND' },
        { title: 'TOOL' },
        { title: 'WHAT', flexible: true },
        { title: 'SESSION' },
        { title: 'ASKED' },
        { title: 'EXPIRES' },
      ],
      items.map((item) => [
        item.id.slice(0, shown),
        kindOf(item.kind),
        bold(item.tool),
        item.question?.text ?? (item.preview.summary || inline(item.args)),
        item.session,
        dim(relativeTime(item.askedAt)),
        dim(relativeTime(item.expiresAt)),
      ]),
    )
    output.note()
    output.note(dim(`${count(items.length, 'item')}. Decide: pawl approve · pawl deny <id> · pawl answer <id> <text>`))
  })
}

/** The command that decides it. */
export const hintFor = ({ id, kind }: Pick<InboxItem, 'id' | 'kind'>): string =>
  kind === 'question' ? `pawl answer ${id} <answer>` : `pawl approve ${id}    pawl deny ${id} --reason <text>`

/** How many characters tell the ids apart; the commands accept the beginning of an id. */
function uniqueLength(ids: readonly string[]): number {
  const longest = Math.max(...ids.map((id) => id.length))
  for (let length = 10; length < longest; length++)
    if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return length
  return longest
}
