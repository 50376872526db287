// The runtime of the application. It is kept on `globalThis`, because `next dev` loads modules again after an edit.
import { createRuntime, type Runtime, type Session, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'

const refund = tool({
  name: 'refund',
  description: 'Refund the order',
  input: { type: 'object' },
  hints: { destructive: true }, // asks a person first
  execute: () => 'Paid 42 €',
})
// A script needs no key. A real model is aiModel(openai('gpt-5')), with aiModel from 'pawl/ai-sdk'.
export const model = scriptedModel([
  { when: 'Refund', say: 'I refund it.', call: { name: 'refund' } },
  { when: '', say: 'Done.' },
])

const shared = globalThis as { pawl?: Promise<Runtime> }
export const openRuntime = (): Promise<Runtime> =>
  (shared.pawl ??= createRuntime({ store: 'sqlite:chat.db', tools: [refund], models: [model], wake: true }))

/** The signed-in person: ask your authentication, for example with `await auth()` or `await cookies()`. */
export const currentUser = async (): Promise<string> => 'user:ada'

/** A conversation of the signed-in person. */
export async function openSession(id: string): Promise<Session> {
  const [runtime, user] = await Promise.all([openRuntime(), currentUser()])
  return runtime.session(`${user}:${id}`, { principal: user })
}
