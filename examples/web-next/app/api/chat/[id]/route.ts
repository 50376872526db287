// GET /api/chat/:id: the recorded messages, for a page that loads.
import { openSession } from '../../../../lib/pawl.ts'

export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  const session = await openSession((await params).id)
  return Response.json(await session.turns.uiMessages())
}
