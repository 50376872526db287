// Opens an address in the browser of the person at this terminal, if there is a desktop.

import { spawn } from 'node:child_process'

export type BrowserCommand = readonly [program: string, ...args: string[]]

/** The command that opens an address; null if no browser would be in front of the person. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): BrowserCommand | null {
  // Over SSH the browser would open on the other machine.
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return null
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null
}

/** Failures are ignored: the address is on the screen. */
export function openBrowser(url: string): void {
  const command = browserCommand(process.platform, process.env)
  if (command === null) return
  const [program, ...args] = command
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
