// Checks the JSON of commands against their schemas. The commands are child processes on one local store, and later ones
// use what earlier ones have made.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { routes } from '../../src/server/routes/routes.ts'
import { pawl, shopProject } from '../kit/run-pawl.ts'

const object = (schema: z.ZodType): z.ZodObject => schema as unknown as z.ZodObject

/** The items of a list that a route returns. */
const itemOf = (schema: z.ZodType): z.ZodType => (schema as unknown as z.ZodArray<z.ZodType>).element

export const refundInput = '{"order":"A1","cents":4200}'

export class JsonCheck {
  readonly cwd = shopProject()
  readonly checked = new Set<string>()
  /** What the last command has printed. */
  last: unknown = null

  readonly run = async (schema: z.ZodType, exitCode: number, name: string, ...args: string[]): Promise<void> => {
    const { code, out, err } = await pawl({ cwd: this.cwd }, ...name.split(' '), ...args, '--json')
    expect(code, `${name}: ${err}`).toBe(exitCode)
    this.last = JSON.parse(out)
    expect(schema.safeParse(this.last).error, name).toBeUndefined()
    this.checked.add(name)
  }

  /** The id of the item, or of the first one of a list, that the last command has printed. */
  get lastId(): string {
    const [item] = [this.last].flat() as { id: string }[]
    return item?.id ?? ''
  }
}

/** What people do every day, and the names of its commands. */
export const daily = {
  names: ['tools', 'call', 'turn', 'inbox', 'deny', 'approve', 'answer', 'sessions'],
  run: checkDaily,
}

async function checkDaily(check: JsonCheck): Promise<void> {
  const { run } = check
  await run(z.array(itemOf(routes['tools.list'].output)), 0, 'tools')
  await run(routes['tools.get'].output, 0, 'tools', 'refund')
  await run(routes['calls.run'].output, 0, 'call', 'look_up_order', '{"order":"A1"}')
  await run(routes['calls.run'].output, 1, 'call', 'broken', '{"order":"A1"}')
  await run(routes['calls.run'].output, 5, 'call', 'refund', refundInput)
  const turn = z.strictObject({ turn: z.string(), status: z.literal('waiting'), inbox: routes['inbox.list'].output })
  await run(turn, 5, 'turn', 'chat-1', 'Please', 'refund', 'A1', '--id', 'm1')
  await run(routes['inbox.list'].output, 0, 'inbox')
  const [first, second] = check.last as { id: string }[]
  await run(routes['inbox.get'].output, 0, 'inbox', first?.id ?? '')
  await run(routes['inbox.decide'].output, 0, 'deny', first?.id ?? '', '--reason', 'no')
  await run(routes['inbox.decide'].output, 0, 'approve', second?.id ?? '')
  const ended = z.strictObject({ turn: z.string(), status: z.literal('success'), outcome: z.looseObject({}) })
  await run(ended, 0, 'turn', 'chat-1', 'Please', 'refund', 'A1', '--id', 'm1')
  await run(routes['calls.run'].output, 5, 'call', 'choose_size', '{"order":"A1"}', '--session', 'q')
  await run(routes['inbox.list'].output, 0, 'inbox', '--session', 'q')
  await run(routes['inbox.decide'].output, 0, 'answer', check.lastId, '42')
  const idle = await pawl({ cwd: check.cwd }, 'worker', '--once')
  expect(idle.code).toBe(0)
  await run(routes['sessions.list'].output, 0, 'sessions')
  const session = object(routes['sessions.get'].output).extend({ calls: routes['calls.list'].output })
  await run(session, 0, 'sessions', 'q')
  expect(check.last).toMatchObject({ calls: [{ outcome: { status: 'success', value: '42' } }] })
}

/** Rules, tasks, schedules, tokens, the store, and MCP: all commands that are not daily and print a document. */
export const administration = {
  names: [
    'call',
    'inbox',
    'approve',
    'rules',
    'rules revoke',
    'tasks start',
    'tasks',
    'tasks message',
    'tasks cancel',
    'schedules create',
    'schedules',
    'schedules pause',
    'schedules resume',
    'schedules run',
    'schedules cancel',
    'health',
    'tokens create',
    'tokens',
    'tokens list',
    'tokens revoke',
    'prune',
    'migrate',
    'config',
    'version',
    'sessions cancel',
    'sessions end',
    'sessions erase',
    'init',
    'mcp servers',
    'mcp import',
    'mcp restore',
    'mcp config',
  ],
  run: checkAdministration,
}

async function checkAdministration(check: JsonCheck): Promise<void> {
  const { run } = check
  await run(routes['calls.run'].output, 0, 'call', 'look_up_order', '{"order":"A1"}')
  await run(routes['calls.run'].output, 0, 'call', 'look_up_order', '{"order":"A1"}', '--session', 'q')
  await run(routes['calls.run'].output, 5, 'call', 'refund', refundInput, '--session', 'rules')
  await run(routes['inbox.list'].output, 0, 'inbox', '--session', 'rules')
  const remembered = ['--remember', 'session']
  await run(routes['inbox.decide'].output, 0, 'approve', check.lastId, ...remembered)
  await run(routes['rules.list'].output, 0, 'rules')
  const rule = check.lastId
  await run(routes['rules.revoke'].output, 0, 'rules revoke', rule, '--reason', 'no longer')
  await run(routes['rules.revoke'].output, 3, 'rules revoke', rule)
  await run(routes['rules.list'].output, 0, 'rules')
  expect(check.last).toEqual([])

  await run(routes['tasks.start'].output, 0, 'tasks start', 's', 'export_orders', '{"order":"A1"}', '--id', 't1')
  await run(z.array(itemOf(routes['tasks.list'].output)), 0, 'tasks', 's')
  await run(routes['tasks.get'].output, 0, 'tasks', 's', 't1')
  await run(routes['tasks.message'].output, 0, 'tasks message', 's', 't1', 'hello')
  await run(routes['tasks.cancel'].output, 0, 'tasks cancel', 's', 't1')
  const create = ['s', '--cron', '0 9 * * *', '--message', 'Good morning', '--id', 'daily']
  await run(routes['schedules.create'].output, 0, 'schedules create', ...create)
  await run(routes['schedules.list'].output, 0, 'schedules', 's')
  const schedule = object(routes['schedules.get'].output).extend({ history: routes['schedules.history'].output })
  await run(schedule, 0, 'schedules', 's', 'daily')
  await run(routes['schedules.pause'].output, 0, 'schedules pause', 's', 'daily')
  await run(routes['schedules.resume'].output, 0, 'schedules resume', 's', 'daily')
  await run(routes['schedules.run'].output, 0, 'schedules run', 's', 'daily')
  await run(routes['schedules.cancel'].output, 0, 'schedules cancel', 's', 'daily')

  expect((await pawl({ cwd: check.cwd }, 'worker', '--once')).code).toBe(0)
  await run(routes['health.get'].output, 0, 'health')
  await run(routes['tokens.create'].output, 0, 'tokens create', 'ci', '--role', 'caller', '--expires', '90d')
  const token = check.lastId
  await run(routes['tokens.list'].output, 0, 'tokens')
  await run(routes['tokens.list'].output, 0, 'tokens list')
  await run(routes['tokens.revoke'].output, 0, 'tokens revoke', token)
  await run(routes['tokens.revoke'].output, 3, 'tokens revoke', token)
  await run(routes['store.prune'].output, 0, 'prune', '--older-than', '30d', '--yes')
  const versions = z.strictObject({ found: z.number(), supported: z.number(), upgraded: z.boolean() })
  await run(versions, 0, 'migrate', '--check')
  const value = z.strictObject({ name: z.string(), value: z.string().nullable(), source: z.string(), from: z.string() })
  await run(z.object({ file: z.string(), worksOn: z.string(), values: z.array(value) }), 0, 'config')
  await run(z.strictObject({ pawl: z.string(), node: z.string() }), 0, 'version')
  await run(routes['sessions.cancel'].output, 0, 'sessions cancel', 'cli')
  await run(routes['sessions.end'].output, 0, 'sessions end', 's')
  await run(routes['sessions.erase'].output, 0, 'sessions erase', 'q', '--yes')
  const written = z.strictObject({ file: z.string(), template: z.string(), commands: z.array(z.string()) })
  await run(written, 0, 'init')

  writeFileSync(join(check.cwd, 'servers.json'), '{"mcpServers":{"off":{"command":"x","disabled":true}}}')
  await run(z.array(z.looseObject({ state: z.literal('disabled') })), 0, 'mcp servers', '--config', 'servers.json')
  writeFileSync(join(check.cwd, '.mcp.json'), '{"mcpServers":{"notes":{"command":"notes"}}}')
  const files = z.looseObject({ file: z.string(), serversFile: z.string() })
  await run(files, 0, 'mcp import', 'claude-code', '--yes')
  await run(files, 0, 'mcp restore', 'claude-code', '--yes')
  await run(z.object({ mcpServers: z.looseObject({}) }), 0, 'mcp config', 'cursor')
}
