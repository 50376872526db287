// The command that an empty screen shows: a call of a tool that this server has, with arguments that fit its schema.

import { useQuery } from '@tanstack/react-query'
import { client } from '../../api/client.ts'
import { exampleText } from '../../forms/example.ts'
import { quoted } from '../calls/commands.ts'
import { type Listing, toolsQuery } from './catalogue.ts'

export interface ExampleCall {
  readonly name: string
  /** Its arguments as JSON. */
  readonly input: string
}

/** Tools that the runtime adds for tasks. They need the id of a task. */
const taskTools = /^(?:(?:cancel|get|message|wait)_task|list_tasks|move_to_background|spawn_background)$/

const isShown = ({ name, internal, available, quarantined }: Listing): boolean =>
  !internal && available && !quarantined && !taskTools.test(name)

/** Null while it is read, and on a server without tools. `prefers`: a tool to take before the first one. */
export function useExampleCall(prefers: (tool: Listing) => boolean): ExampleCall | null {
  const { data: tools = [] } = useQuery(toolsQuery)
  const shown = tools.filter(isShown)
  const name = (shown.find(prefers) ?? shown[0])?.name ?? ''
  return useExampleOf(name)
}

function useExampleOf(name: string): ExampleCall | null {
  const { data } = useQuery({
    queryKey: ['tool', name],
    queryFn: () => client.tools.get({ tool: name }),
    enabled: name !== '',
  })
  return data ? { name, input: exampleText(data.input) } : null
}

/** `pawl init` writes a first agent with a tool. */
export const callCommand = (call: ExampleCall | null): string =>
  call ? `pawl call ${quoted(call.name)} ${quoted(call.input)}` : 'pawl init'
