// The code of docs/guide/turns.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, result, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const dir = mkdtempSync(join(tmpdir(), 'pawl-turns-'))
try {
  const lookUp = tool({
    name: 'look_up',
    description: 'Look up an order',
    input: z.object({ order: z.string() }),
    hints: { readOnly: true },
    execute: ({ order }) => ({ order, cents: 4200 }),
  })
  const model = scriptedModel(
    [
      { say: 'Let me see.', call: { name: 'look_up', input: { order: 'A1' } } },
      'Order A1 was 42.00 €.',
      'You are welcome.',
    ],
    { name: 'desk-model', price: { input: 1, output: 4 } },
  )

  // #region turn
  const runtime = await createRuntime({ store: `sqlite:${join(dir, 'agent.db')}`, tools: [lookUp], models: [model] })
  const session = runtime.session('chat-42', { principal: 'user:ada' })

  const turn = session.turn({
    model: 'desk-model',
    instructions: 'Be brief.',
    message: 'How much was order A1?',
    id: 'msg-7',
  })
  const outcome = await turn.outcome // after a crash, ask for the same turn again, in any process: it goes on where it stands
  assert.equal(outcome.status === 'success' && outcome.value.text, 'Order A1 was 42.00 €.')
  // #endregion

  const mailModel = scriptedModel(
    [{ call: { name: 'look_up', input: { order: 'A1' } } }, '{"order":"A1","cents":4200,"sentOn":"2026-05-04"}'],
    { name: 'mail-model' },
  )

  // #region output
  const mails = runtime.session('mails')
  const mail = await mails.turn({
    model: mailModel,
    message: 'I want my money back for order A1, sent on 4 May.',
    toolChoice: { tool: 'look_up' },
    output: z.object({
      order: z.string(),
      cents: z.int(),
      sentOn: z.iso.date().transform((day) => new Date(day)),
    }),
  }).outcome
  if (mail.status === 'success' && mail.value.output) {
    const { order, cents, sentOn } = mail.value.output // typed by the schema
    assert.deepEqual([order, cents, sentOn], ['A1', 4200, new Date('2026-05-04')])
  }
  // #endregion
  assert.equal(mail.status, 'success')

  // #region accepted
  const other = runtime.session('chat-43')
  const handedIn = other.turn({ model: 'desk-model', id: 'msg-9', message: 'How much was order A1?' })
  await handedIn.accepted // durable: answer 202 now
  // #endregion
  assert.equal((await handedIn.outcome).status, 'success')

  const said = scriptedModel(['Good morning, Ada.'], { name: 'greeter' })
  let text = ''
  // #region streams
  const greeting = runtime.session('chat-44').turn({ model: said, message: 'Hello' })
  for await (const piece of greeting.textStream) text += piece
  // #endregion
  assert.equal(text, 'Good morning, Ada.')

  // #region messages
  for (const { number, message } of await session.messages.list()) console.log(number, message.role)
  // 1 user, 2 assistant, 3 tool, 4 assistant

  await session.messages.send('Thank you!', { id: 'msg-8' }) // the model of an open turn reads it next; else the next turn does
  const next = await session.turn({ model: 'desk-model' }).outcome
  assert.equal(next.status === 'success' && next.value.text, 'You are welcome.')
  // #endregion

  // #region usage
  const { total, models } = await session.usage()
  console.log(total.cost, models['desk-model']?.times)
  // #endregion
  assert.equal(models['desk-model']?.times, 3)

  // #region control
  const handOver = tool({
    name: 'ask_a_specialist',
    description: 'Hand the customer over to a specialist',
    input: z.object({ about: z.string() }),
    execute: ({ about }) => result('Handed over', { control: { switchFrame: { frame: 'specialist', task: about } } }),
  })
  const order = tool({
    name: 'place_order',
    description: 'Place the order. Ends the conversation',
    input: z.object({ item: z.string() }),
    execute: ({ item }) => result('Placed', { control: { finish: { item } } }),
  })
  // #endregion

  const specialist = scriptedModel([{ call: { name: 'place_order', input: { item: 'kettle' } } }], {
    name: 'specialist-model',
  })
  const clerk = scriptedModel([{ call: { name: 'ask_a_specialist', input: { about: 'They want a kettle' } } }], {
    name: 'clerk',
  })
  // #region frames
  const shop = await createRuntime({
    store: 'memory:',
    tools: [handOver, order],
    models: [clerk],
    frames: [{ name: 'specialist', model: specialist, instructions: 'You know all kettles.', tools: ['place_order'] }],
  })
  const sold = await shop.session('s').turn({ model: 'clerk', message: 'I need a kettle' }).outcome
  assert.deepEqual(sold.status === 'success' && sold.value.value, { item: 'kettle' })
  // #endregion
  await shop.close()

  const researcher = scriptedModel(['Kettles of 2026 boil in 40 s.'], { name: 'researcher' })
  const boss = scriptedModel(
    [{ call: { name: 'research', input: { task: 'How fast are kettles?' } } }, ({ last }) => last],
    {
      name: 'boss',
    },
  )
  // #region agent
  const research = agent({
    name: 'research',
    description: 'A researcher. Say all that is to be known for the task.',
    model: researcher,
    instructions: 'You find things out.',
    tools: [],
    limits: { steps: 10 },
  })
  const office = await createRuntime({ store: 'memory:', tools: [research] })
  const answer = await office.session('s').turn({ model: boss, message: 'Find out' }).outcome
  assert.equal(answer.status === 'success' && answer.value.text, 'Kettles of 2026 boil in 40 s.')
  // #endregion
  await office.close()

  const reader = scriptedModel(['Nothing to read.', 'I can read now.'], { name: 'reader' })
  const read = tool({
    name: 'read',
    description: 'Read a file',
    input: z.object({}),
    hints: { readOnly: true },
    execute: () => 'text',
  })
  // #region capabilities
  const library = await createRuntime({
    store: 'memory:',
    models: [reader],
    capabilities: [{ name: 'files', tools: [read], instructions: 'Read before you write.', limits: { steps: 10 } }],
  })
  const visitor = library.session('s')
  await visitor.turn({ model: 'reader', message: 'Read it' }).outcome // the model has no tool
  await visitor.capabilities.switchOn('files') // on record: on every worker, after every restart
  await visitor.turn({ model: 'reader', message: 'And now?' }).outcome
  // #endregion
  assert.deepEqual(
    reader.requests.map(({ tools }) => tools.length),
    [0, 1],
  )
  await library.close()
  await runtime.close()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
