// Finds an inbox item by its id, or by the beginning of one.

import type { Client } from '../client/client-types.ts'
import type { InboxItem } from '../index.ts'
import { CliError, exitCodes } from './exit-codes.ts'

const minimum = 4

export async function findItem(client: Client, given: string): Promise<InboxItem> {
  const item = await findOpenItem(client, given)
  if (item) return item
  throw noOpenItem(given)
}

/** Undefined if no open item has this id or begins with it. */
export async function findOpenItem(client: Client, given: string): Promise<InboxItem | undefined> {
  const items = await allItems(client)
  const exact = items.find(({ id }) => id === given)
  if (exact) return exact
  const part = given.toLowerCase()
  const matching = given.length < minimum ? [] : items.filter(({ id }) => id.toLowerCase().startsWith(part))
  const [found, another] = matching
  if (found && !another) return found
  if (another)
    throw new CliError(
      exitCodes.usage,
      `${matching.length} open items begin with '${given}': ${matching.map(({ id }) => id).join(', ')}.`,
    )
  if (given.length < minimum)
    throw new CliError(
      exitCodes.notFound,
      `'${given}' is too short for an id; give at least ${minimum} characters of it.`,
    )
  return undefined
}

export const noOpenItem = (given: string): CliError =>
  new CliError(
    exitCodes.notFound,
    `There is no open item '${given}'. It may be decided or expired; \`pawl inbox\` lists the open ones.`,
  )

/** The open items, oldest first. */
export async function allItems(
  client: Client,
  query: { readonly session?: string; readonly kind?: InboxItem['kind'] } = {},
): Promise<InboxItem[]> {
  const items: InboxItem[] = []
  for (let after: string | undefined; ; after = items.at(-1)?.id) {
    const page = await client.inbox.list({ ...query, limit: 1_000, ...(after === undefined ? {} : { after }) })
    items.push(...page)
    if (page.length < 1_000) return items
  }
}
