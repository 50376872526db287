// POST /api/chat: a message, or decisions about approvals.
import { chatResponse } from 'pawl/ai-sdk'
import { currentUser, model, openRuntime, openSession } from '../../../lib/pawl.ts'

export async function POST(request: Request): Promise<Response> {
  const body = (await request.json()) as { id: string }
  const [runtime, session, by] = await Promise.all([openRuntime(), openSession(body.id), currentUser()])
  return chatResponse({ runtime, session, request: body, by, turn: { model } })
}
