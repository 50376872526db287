// GET /api/chat/:id/stream: the open turn, for a page that was reloaded.
import { resumeChatResponse } from 'pawl/ai-sdk'
import { openSession } from '../../../../../lib/pawl.ts'

export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return resumeChatResponse(await openSession((await params).id))
}
