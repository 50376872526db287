// Commands of the CLI, which every object and every empty screen has.

import type { ReactNode } from 'react'
import { useMe } from '../shell/me.tsx'
import { Copy } from './parts.tsx'

/** An empty screen teaches the command that fills it. */
export const Empty = (props: {
  readonly title: string
  /** Null: the person cannot run it. */
  readonly command: string | null
  readonly children: ReactNode
}): ReactNode => (
  <div className="panel mx-auto mt-8 max-w-xl p-6 text-center">
    <h2 className="mb-1 text-lg font-semibold">{props.title}</h2>
    <p className="text-soft">{props.children}</p>
    {props.command !== null && (
      <div className="mt-4 flex justify-center">
        <Command text={props.command} />
      </div>
    )}
  </div>
)

/** A command of the CLI as it is typed where the server runs: from a checkout there is no `pawl` on the path. */
export function useCliCommand(): (command: string) => string {
  const { command: cli } = useMe()
  return (command) => command.replace(/^pawl\b/, cli)
}

/** A command for a shell, with a button that copies it. `text`: begins with `pawl`. */
export function Command({ text }: { readonly text: string }): ReactNode {
  const command = useCliCommand()(text)
  return (
    <p className="flex flex-wrap items-center gap-2">
      <code className="any rounded-md bg-sunk px-2 py-1 text-left text-sm">{command}</code>
      <Copy text={command} label="Copy command" />
    </p>
  )
}
