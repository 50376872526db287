// Calls to a closed runtime fail with a PawlError such as `runtime_closed`, whatever the store.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, PawlError, type Runtime, type Session, tool } from 'pawl'
import { expect, test } from 'vitest'
import { quiet } from '../kit/stores/fresh-store.ts'

const work = tool({
  name: 'work',
  description: 'd',
  input: { type: 'object' },
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})

const asked: Readonly<Record<string, (session: Session, runtime: Runtime) => Promise<unknown>>> = {
  'tasks.get': ({ tasks }) => tasks.get('x'),
  'tasks.list': ({ tasks }) => tasks.list(),
  'tasks.wait': ({ tasks }) => tasks.wait('x'),
  'tasks.signal': ({ tasks }) => tasks.signal('x', 'go'),
  'tasks.message': ({ tasks }) => tasks.message('x', 'hello'),
  'tasks.cancel': ({ tasks }) => tasks.cancel('x'),
  'schedules.create': ({ schedules }) => schedules.create({ tool: 'work', input: {}, cron: '0 * * * *' }),
  'schedules.list': ({ schedules }) => schedules.list(),
  'triggers.subscribe': ({ triggers }) => triggers.subscribe({ event: 'paid', message: 'Paid' }),
  'notices.list': ({ notices }) => notices.list(),
  'files.write': ({ files }) => files.write('/a', 'x'),
  'files.read': ({ files }) => files.read('/a'),
  'values.get': ({ values }) => values.get('a'),
  emit: (_, runtime) => runtime.emit('paid', 1, { key: 'k' }),
  inbox: (_, runtime) => runtime.inbox(),
  prune: (_, runtime) => runtime.prune({ olderThan: '1d' }),
}

test.each(Object.keys(asked).flatMap((name) => (['memory', 'sqlite'] as const).map((kind) => [name, kind] as const)))(
  'DUR-13: %s of a closed runtime on %s returns or rejects with a PawlError',
  async (name, kind) => {
    const store = kind === 'memory' ? 'memory:' : `sqlite:${join(mkdtempSync(join(tmpdir(), 'adv-closed-')), 'a.db')}`
    const runtime = await createRuntime({ store, tools: [work], logger: quiet })
    const session = runtime.session('s')
    await session.tasks.start({ tool: work, id: 'x' })
    await session.tasks.wait('x')
    await runtime.close()
    const heard = await (asked[name] as (typeof asked)[string])(session, runtime).then(
      () => 'answered',
      (error: unknown) => (error instanceof PawlError ? 'ours' : String(error)),
    )
    expect(['answered', 'ours']).toContain(heard)
  },
)
