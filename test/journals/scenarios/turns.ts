// Turns: the writes of the model loop, decisions and tasks within it, and worker deaths. Agents, frames, capabilities.

import { agent, result, type RuntimeOptions, type Session, type StartTurn, type Tool } from 'pawl'
import { type Line, scriptedModel, type ScriptedModelOptions } from 'pawl/testing'
import type { Death, Scenario, World } from '../scenario.ts'
import { bodiless, never, work } from './kit.ts'

const model = (lines: readonly Line[], options: ScriptedModelOptions = {}) =>
  scriptedModel(lines, { name: 'm', price: { input: 1, output: 2 }, ...options })
const look = work((input) => ({ found: input }), { name: 'look', hints: { readOnly: true } })
const turn: StartTurn = { model: 'm', message: 'Hello', id: 'turn-1' }
const calls = (...names: string[]): Line => ({ say: 'I look.', call: names.map((name, n) => ({ name, input: { n } })) })

const seen = async (session: Session): Promise<unknown> =>
  (await session.messages.list()).map(({ number, message, turn: of }) => ({ number, turn: of, message }))

/** Runs one turn on one worker; `meanwhile` acts while it is open. */
const one =
  (
    lines: readonly Line[],
    tools: readonly Tool[] = [look],
    how: { turn?: Partial<StartTurn>; model?: ScriptedModelOptions; options?: Partial<RuntimeOptions> } = {},
    meanwhile?: (
      session: Session,
      world: World,
      open: { cancel(reason?: string, by?: string): Promise<boolean> },
    ) => Promise<unknown>,
  ): Scenario =>
  async (world) => {
    const runtime = await world.run(tools, { models: [model(lines, how.model)], ...how.options })
    const session = runtime.session('s', { principal: 'user:ada' })
    const open = session.turn({ ...turn, ...how.turn })
    if (meanwhile) {
      await world.advance('1s')
      await meanwhile(session, world, open)
    }
    return {
      outcome: await world.outcome(open.outcome),
      messages: await seen(session),
      usage: (await session.usage()).total,
    }
  }

/** Starts the turn on a worker that dies during it. */
async function dieInTurn(world: World, tools: readonly Tool[], lines: readonly Line[], death?: Death): Promise<void> {
  const worker = await world.open({ tools, models: [model(lines)] }, death)
  void worker.runtime
    .session('s')
    .turn(turn)
    .outcome.catch(() => {})
  await world.advance('1s')
  worker.die()
}

/** The first worker dies during a turn; the second continues it. */
const dies =
  (death: Death, lines: readonly Line[], tools: readonly Tool[] = [look]): Scenario =>
  async (world) => {
    await dieInTurn(world, tools, lines, death)
    const asked = model(lines)
    const session = (await world.run(tools, { models: [asked] })).session('s')
    await world.advance('1m')
    return {
      outcome: await world.outcome(session.turn(turn).outcome),
      messages: await seen(session),
      asked: asked.asked,
    }
  }

const twice: readonly Line[] = [calls('look', 'look'), 'Found it.']
const approved = work(() => 'refunded', { name: 'refund', approval: 'always' })
const exports = work(async (_, ctx) => (await ctx.sleep('1m'), 'exported'), {
  name: 'export',
  onCrash: 'rerun',
  background: true,
})
const spawns: Line = { call: { name: 'spawn_background', input: { tool: 'export', args: {} } } }

export const turns: Readonly<Record<string, Scenario>> = {
  'a plain answer': one(['Hello, Ada.']),
  'calls and an answer': one(twice),
  'a turn is asked for again': async (world) => {
    const session = (await world.run([look], { models: [model(['Hello.', 'Again.'])] })).session('s')
    const first = await world.outcome(session.turn(turn).outcome)
    const same = await world.outcome(session.turn(turn).outcome)
    const other = await session
      .turn({ ...turn, message: 'Something else' })
      .outcome.catch((error: { code: string }) => error.code)
    const next = await world.outcome(session.turn({ ...turn, id: 'turn-2', message: 'Next' }).outcome)
    return { first, same, other, next }
  },
  'a call fails, one has invalid arguments and one has no tool': one(
    [calls('bad', 'strict', 'absent'), 'Sorry.'],
    [
      work(() => Promise.reject(new Error('broken')), { name: 'bad' }),
      work(() => 1, { name: 'strict', input: { type: 'object', properties: { n: { type: 'string' } } } }),
    ],
  ),
  'an approval in a turn': one([calls('refund'), 'Done.'], [approved], {}, async (_, world) => world.advance('1s')),
  'an approval in a turn is given': async (world) => {
    const runtime = await world.run([approved], { models: [model([calls('refund'), 'Done.'])] })
    const session = runtime.session('s')
    const open = session.turn(turn)
    await world.advance('1s')
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
    return { outcome: await world.outcome(open.outcome), messages: await seen(session) }
  },
  'the user speaks while an approval is open': one(
    [calls('refund'), 'I wait for it.', 'It was denied.'],
    [approved],
    {},
    async (session, world) => {
      await session.messages.send('Are you there?', { id: 'msg-2' })
      await session.messages.send('And later?', { when: 'after', id: 'msg-3' })
      await world.advance('1s')
    },
  ),
  'a client tool in a turn': one(
    [calls('camera'), 'Nice.'],
    [bodiless({ name: 'camera', client: true })],
    {},
    async (session, world) => {
      const [handed] = await session.pendingClientCalls()
      await session.answer(handed?.callId ?? '', { value: 'a picture' })
      await world.advance('1s')
    },
  ),
  'a turn is cancelled while a call runs': one(
    [calls('slow'), 'Never said.'],
    [work(never, { name: 'slow' })],
    {},
    (_, __, open) => open.cancel('Stop it', 'user:ada'),
  ),
  'a turn is cancelled while the model is asked': one(['Never said.'], [], { model: { wait: never } }, (_, __, open) =>
    open.cancel('Stop it'),
  ),
  'the model fails and is asked again': one([{ say: 'Hello.', fails: { times: 2, afterMs: 1_000 } }]),
  'the model fails for good': one([{ say: 'Hello.', fails: { times: 99, retryable: false, what: 'no such model' } }]),
  'a turn reaches its limit of steps': one([calls('look'), calls('look'), 'Never said.'], [look], {
    turn: { limits: { steps: 2 } },
  }),
  'a turn reaches its limit of time': one(
    [calls('slow'), 'Never said.'],
    [work(never, { name: 'slow', timeout: '1h' })],
    {
      turn: { limits: { time: '1m' } },
    },
  ),
  'too many invalid calls in a row': one(
    [calls('strict'), calls('strict'), 'x'],
    [work(() => 1, { name: 'strict', input: { type: 'object', required: ['x'] } })],
    {
      turn: { limits: { invalid: 2 } },
    },
  ),
  'the conversation is summed up': async (world) => {
    const long = 'word '.repeat(300)
    const lines: Line[] = [{ when: /User: /, say: 'They talked.' }, long, 'Second.', 'Third.']
    const session = (await world.run([], { models: [model(lines, { contextTokens: 1_000 })] })).session('s')
    for (const n of [1, 2, 3])
      await world.outcome(session.turn({ ...turn, id: `turn-${n}`, message: `${n} ${long}` }).outcome)
    return (await session.messages.list()).map(({ message }) => message.role)
  },
  'the model says that it was given too much': one([
    { when: /User: /, say: 'Short.' },
    calls('look'),
    { say: 'Done.', fails: { times: 1, tooLong: true } },
  ]),
  'a tool finishes the turn, and another one is not heard': one(
    [calls('order', 'order')],
    [work((input) => result('Placed', { control: { finish: { n: input.n as number } } }), { name: 'order' })],
  ),
  'a tool hands the turn to another frame': async (world) => {
    const hand = work(() => result('Handed over', { control: { switchFrame: { frame: 'expert', task: 'Kettles' } } }), {
      name: 'hand',
    })
    const expert = scriptedModel(['The red one.'], { name: 'expert' })
    const frames = [{ name: 'expert', model: expert, instructions: 'You know kettles.', tools: ['look'] }]
    const session = (await world.run([hand, look], { models: [model([calls('hand')])], frames })).session('s')
    return { outcome: await world.outcome(session.turn(turn).outcome), messages: await seen(session) }
  },
  'a task ends while no turn is open, and the next turn reads the notice': async (world) => {
    const session = (await world.run([exports], { models: [model([spawns, 'Started.', 'It is done.'])] })).session('s')
    await world.outcome(session.turn(turn).outcome)
    await world.advance('5m')
    await world.outcome(session.turn({ model: 'm', id: 'turn-2' }).outcome)
    return seen(session)
  },
  'a task ends and wakes the session': async (world) => {
    const options = { models: [model([spawns, 'Started.', 'It is done.'])], wake: { maxConsecutive: 1 } }
    const session = (await world.run([exports], options)).session('s')
    await world.outcome(session.turn(turn).outcome)
    await world.advance('5m')
    return seen(session)
  },
  'the session ends while a turn is open': one(
    [calls('slow'), 'Never said.'],
    [work(never, { name: 'slow' })],
    {},
    (session) => session.end({ reason: 'Over', by: 'user:ada' }),
  ),
  'a message with a file': one(['A picture.'], [], {
    turn: {
      message: { text: 'What is this?', attachments: [{ data: 'bytes', mediaType: 'image/png', name: 'shot.png' }] },
    },
  }),
  'a tool is found with tool_search': one(
    [{ call: { name: 'tool_search', input: { query: 'weather' } } }, calls('weather'), 'Sunny.'],
    [
      look,
      work(() => 'sun', {
        name: 'weather',
        description: 'The weather of a place',
        defer: 'always',
        hints: { readOnly: true },
      }),
    ],
  ),
  'a body asks a model': one(
    [calls('sum'), 'Done.'],
    [
      work(
        async (_, ctx) => [
          (await ctx.complete('Sum up')).text,
          (await ctx.complete({ prompt: 'Sum up', name: 'named' })).text,
        ],
        {
          name: 'sum',
          onCrash: 'rerun',
        },
      ),
    ],
    { options: { models: [model([{ when: 'Sum up', say: 'A sum.' }, calls('sum'), 'Done.'])] } },
  ),
  'an agent works for a turn': async (world) => {
    const helper = agent({
      name: 'research',
      description: 'Finds out',
      model: scriptedModel([calls('look'), 'It boils in 40 s.'], { name: 'helper' }),
      instructions: 'You find things out.',
      tools: ['look'],
      limits: { steps: 5 },
    })
    const lines: Line[] = [{ call: { name: 'research', input: { task: 'Kettles' } } }, 'Forty seconds.']
    const session = (await world.run([helper, look], { models: [model(lines)] })).session('s')
    return { outcome: await world.outcome(session.turn(turn).outcome), usage: await session.usage() }
  },
  'an agent asks a person, and its caller is cancelled': async (world) => {
    const helper = agent({
      name: 'research',
      description: 'Finds out',
      model: scriptedModel([calls('refund'), 'x'], { name: 'helper' }),
    })
    const lines: Line[] = [{ call: { name: 'research', input: { task: 'Refund' } } }, 'Never said.']
    const runtime = await world.run([helper, approved], { models: [model(lines)] })
    const open = runtime.session('s').turn(turn)
    await world.advance('1s')
    const items = await runtime.inbox({ tenant: 'default', session: 's' })
    await open.cancel('Stop')
    return { asked: items.map(({ tool }) => tool), outcome: await world.outcome(open.outcome) }
  },
  'a worker dies while an agent works': async (world) => {
    const open = (): Tool[] => [
      agent({
        name: 'research',
        description: 'Finds out',
        model: scriptedModel([calls('look'), 'Found.'], { name: 'helper' }),
        tools: ['look'],
      }),
      look,
    ]
    const lines: Line[] = [{ call: { name: 'research', input: { task: 'Kettles' } } }, 'Done.']
    const first = await world.open(
      { tools: open(), models: [model(lines)] },
      { event: 'turn.answered', nth: 3, when: 'before' },
    )
    void first.runtime
      .session('s')
      .turn(turn)
      .outcome.catch(() => {})
    await world.advance('1s')
    const session = (await world.run(open(), { models: [model(lines)] })).session('s')
    await world.advance('1m')
    return world.outcome(session.turn(turn).outcome)
  },
  'a capability is switched on and off': async (world) => {
    const capabilities = [{ name: 'files', tools: [look], instructions: 'Look first.', limits: { steps: 3 } }]
    const session = (
      await world.run([], { models: [model(['Nothing.', calls('look'), 'Found.', 'Gone.'])], capabilities })
    ).session('s')
    await world.outcome(session.turn({ ...turn, id: 'turn-1' }).outcome)
    await session.capabilities.switchOn('files')
    await world.outcome(session.turn({ ...turn, id: 'turn-2' }).outcome)
    await session.capabilities.switchOff('files')
    await world.outcome(session.turn({ ...turn, id: 'turn-3' }).outcome)
    return seen(session)
  },
  'two turns are asked for at once': async (world) => {
    const session = (await world.run([look], { models: [model(['One.', 'Two.'])] })).session('s')
    const both = [session.turn(turn), session.turn({ ...turn, id: 'turn-2', message: 'And me?' })]
    await world.outcome(Promise.all(both.map(({ outcome }) => outcome)))
    return seen(session)
  },
  'a turn that waits for a person hands over to the next one': async (world) => {
    const runtime = await world.run([approved], { models: [model([calls('refund'), 'Two.', 'Three.'])] })
    const session = runtime.session('s')
    const first = session.turn(turn)
    await world.advance('1s')
    const second = session.turn({ ...turn, id: 'turn-2', message: 'And me?' })
    await world.outcome(Promise.all([first.outcome, second.outcome]))
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
    await world.advance('1s')
    await world.outcome(session.turn({ ...turn, id: 'turn-3', message: 'And now?' }).outcome)
    return seen(session)
  },
  'a worker dies before the first answer is on record': dies({ event: 'turn.answered', when: 'before' }, twice),
  'a worker dies when the first answer is on record': dies({ event: 'turn.answered', when: 'after' }, twice),
  'a worker dies when a call of a turn is on record': dies({ event: 'call.settled', when: 'after' }, twice),
  'a worker dies before the last answer is on record': dies({ event: 'turn.answered', nth: 2, when: 'before' }, twice),
  'a worker dies when the last answer is on record': dies({ event: 'turn.answered', nth: 2, when: 'after' }, twice),
  'a worker dies while a call of a turn waits for a person': async (world) => {
    const lines = [calls('refund'), 'Done.']
    await dieInTurn(world, [approved], lines)
    const runtime = await world.run([approved], { models: [model(lines)] })
    await world.advance('1m')
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { deny: true, by: 'user:bea' })
    return world.outcome(runtime.session('s').turn(turn).outcome)
  },
}
