// The open requests, for the inbox, its count, and every screen that names one.

import { client } from '../api/client.ts'
import { shownItem } from '../screens/inbox/item-words.ts'

export const inboxQuery = {
  queryKey: ['inbox'],
  queryFn: async () => (await client.inbox.list({ limit: 1_000 })).map(shownItem),
} as const
