// `pawl` in a real pseudo-terminal: decisions with one key, live events, Ctrl-C, colours.

import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasTerminal, pawl, pawlInTerminal, shopProject } from '../kit/run-pawl.ts'

const refundInput = '{"order":"A1","cents":4200}'
const ctrlC = '\u0003'

/** A project with refunds that wait for a person. */
async function withRefunds(...keys: string[]): Promise<string> {
  const cwd = shopProject()
  for (const key of keys) expect((await pawl({ cwd }, 'call', 'refund', refundInput, '--key', key)).code).toBe(5)
  return cwd
}

/** The calls of the session by their key, after a worker has run what was decided. */
async function outcomes(cwd: string): Promise<Record<string, string>> {
  await pawl({ cwd }, 'worker', '--once')
  const { calls } = JSON.parse((await pawl({ cwd }, 'sessions', 'cli', '--json')).out) as {
    calls: { callId: string; state: string; outcome: { status: string; failure?: { code: string } } | null }[]
  }
  return Object.fromEntries(
    calls.map(({ callId, state, outcome }) => [callId, outcome?.failure?.code ?? outcome?.status ?? state]),
  )
}

describe.skipIf(!hasTerminal)(
  `in a pseudo-terminal${hasTerminal ? '' : ' (skipped: there is no `script` of util-linux)'}`,
  () => {
    test('DOOR-2 POL-3: approve walks through the inbox: approve, deny with a reason, skip, quit', async () => {
      const cwd = await withRefunds('r1', 'r2', 'r3', 'r4')
      const terminal = pawlInTerminal({ cwd }, 'approve')
      await terminal.until(/1 of 4[^]*Refund 4200 cents for order A1\.[^]*Your decision\?[^]*quit/)
      terminal.type('a')
      await terminal.until(/Approved[^]*2 of 4[^]*Your decision\?[^]*quit/)
      terminal.type('d')
      await terminal.until('Why?')
      terminal.type('not delivered\r')
      await terminal.until(/Denied[^]*3 of 4[^]*Your decision\?[^]*quit/)
      terminal.type('s')
      await terminal.until(/4 of 4[^]*Your decision\?[^]*quit/)
      terminal.type('q')
      expect(await terminal.ended).toBe(0)
      expect(terminal.shown()).toContain('2 decisions; 2 left.')
      expect(await outcomes(cwd)).toEqual({ r1: 'success', r2: 'denied_by_person', r3: 'parked', r4: 'parked' })
    })

    test('DOOR-2 POL-2: e opens the editor, and the edited arguments run', async () => {
      const cwd = await withRefunds('r1')
      const editor = join(cwd, 'editor.sh')
      writeFileSync(editor, '#!/bin/sh\nsed -i s/4200/2100/ "$1"\n')
      chmodSync(editor, 0o755)
      const terminal = pawlInTerminal({ cwd, env: { EDITOR: editor } }, 'approve')
      await terminal.until(/Your decision\?[^]*quit/)
      terminal.type('e')
      await terminal.until(/"cents": 2100[^]*Approve with these arguments\?/)
      terminal.type('y')
      expect(await terminal.ended).toBe(0)
      await pawl({ cwd }, 'worker', '--once')
      const { out } = await pawl({ cwd }, 'call', 'refund', refundInput, '--key', 'r1', '--json')
      expect(JSON.parse(out)).toMatchObject({ status: 'success', value: { refunded: 2100 } })
    })

    test('DOOR-2: Ctrl-C at a question decides nothing and exits with 130', async () => {
      const cwd = await withRefunds('r1')
      for (const keys of [[ctrlC], ['d', ctrlC]]) {
        const terminal = pawlInTerminal({ cwd }, 'approve')
        await terminal.until(/Your decision\?[^]*quit/)
        for (const [index, key] of keys.entries()) {
          if (index > 0) await terminal.until('Why?')
          terminal.type(key)
        }
        expect(await terminal.ended).toBe(130)
      }
      expect(await outcomes(cwd)).toEqual({ r1: 'parked' })
    })

    test('DOOR-2 FEED-2: tail shows events of another process live, and Ctrl-C ends it with 130', async () => {
      const cwd = await withRefunds('r1')
      const terminal = pawlInTerminal({ cwd }, 'tail')
      await terminal.until('Ctrl-C ends.')
      await pawl({ cwd }, 'turn', 'chat-1', 'Please refund order A1')
      await terminal.until(
        /call\.settled[^]*look_up_order[^]*Let me look it up|Let me look it up[^]*call\.settled[^]*look_up_order/,
      )
      terminal.type(ctrlC)
      expect(await terminal.ended).toBe(130)
      expect(terminal.shown()).toContain('\u001b[36mcall.settled')
    })

    test('DOOR-2: turn asks for the approval in the terminal and goes on', async () => {
      const cwd = shopProject()
      const terminal = pawlInTerminal({ cwd }, 'turn', 'chat-1', 'Please refund order A1')
      await terminal.until(/I will refund it\.[^]*Your decision\?[^]*quit/)
      terminal.type('a')
      expect(await terminal.ended).toBe(0)
      expect(terminal.shown()).toMatch(/Approved[^]*Done: 42\.00 € are on their way\./)
    })

    test('DOOR-2: call shows progress on a terminal and leaves only the result', async () => {
      const cwd = shopProject()
      const terminal = pawlInTerminal({ cwd }, 'call', 'measure', '{"order":"A1"}')
      await terminal.until(/█░*[^]*1 of 4 pages/)
      writeFileSync(join(cwd, 'go'), '')
      expect(await terminal.ended).toBe(0)
      // The bar was erased before the result was written.
      const afterBar = terminal.shown().split('\u001b[2K').slice(1).at(-1)
      expect(afterBar).toContain('measured')
    })

    test('DOOR-2: prune asks, and does nothing without a yes', async () => {
      const cwd = await withRefunds('r1')
      const terminal = pawlInTerminal({ cwd }, 'prune', '--older-than', '1d')
      await terminal.until('Delete all calls')
      terminal.type('n')
      expect(await terminal.ended).toBe(1)
      expect(terminal.shown()).toContain('Nothing was done.')
    })

    test('DOOR-2: colours follow the terminal, NO_COLOR and --no-color, and CI is never asked', async () => {
      const cwd = await withRefunds('r1')
      const shown = async (env: Record<string, string>, ...args: string[]): Promise<string> => {
        const terminal = pawlInTerminal({ cwd, env }, ...args)
        await terminal.ended
        return terminal.shown()
      }
      expect(await shown({}, 'inbox')).toContain('\u001b[33mapproval')
      expect(await shown({ NO_COLOR: '1' }, 'inbox')).not.toContain('\u001b')
      expect(await shown({}, 'inbox', '--no-color')).not.toContain('\u001b')
      expect((await pawl({ cwd, env: { FORCE_COLOR: '1' } }, 'inbox')).out).toContain('\u001b[33mapproval')
      expect((await pawl({ cwd }, 'inbox')).out).not.toContain('\u001b')
      expect(await shown({ CI: 'true' }, 'approve')).toContain('Name the item')
    })
  },
)
