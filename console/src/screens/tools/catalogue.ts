// The tools of the runtime, for every screen that names one. Apart from the screen of the catalogue, which loads later.

import { client } from '../../api/client.ts'

export type Listing = Awaited<ReturnType<typeof client.tools.list>>[number]

export const toolsQuery = { queryKey: ['tools'], queryFn: () => client.tools.list() } as const

export const toolPath = (name: string): string => `/tools/${encodeURIComponent(name)}`
