// Sends a tools/call, and declines the questions to a person that the server asks back (revision 2026-07-28). Our client
// does not declare that it can ask: a server that asks nevertheless gets an answer, and can finish without it.

import type { Client, RequestOptions } from '@modelcontextprotocol/client'
import { fail } from '../../index.ts'
import { anyObject, isRecord } from './any-object.ts'

type CallParams = { readonly name: string; readonly arguments: Record<string, unknown> }

/** A server that goes on asking gets no further answer. */
const maxRounds = 3
const maxQuestions = 20

/** Rejects with an outcome if the server asks for something else than an answer of a person, or does not stop asking. */
export async function callDeclining(
  client: Client,
  params: CallParams,
  options: RequestOptions & { readonly maxTotalTimeout: number },
  server: string,
): Promise<Readonly<Record<string, unknown>>> {
  const startedAt = performance.now()
  let answers = {}
  for (let round = 0; ; round++) {
    const left = Math.max(1, options.maxTotalTimeout - (performance.now() - startedAt))
    const result = await client.request({ method: 'tools/call', params: { ...params, ...answers } }, anyObject, {
      ...options,
      timeout: Math.min(options.timeout ?? left, left),
      maxTotalTimeout: left,
      allowInputRequired: true,
    })
    if (result.resultType !== 'input_required') return result
    const keys = round < maxRounds ? questionKeys(result.inputRequests) : null
    if (!keys)
      throw fail(`${server} asks for input that Pawl does not pass on. The call did not finish.`, {
        class: 'external',
        code: 'input_required',
      })
    answers = {
      inputResponses: Object.fromEntries(keys.map((key) => [key, { action: 'decline' }])),
      ...(typeof result.requestState === 'string' ? { requestState: result.requestState } : {}),
    }
  }
}

/** The keys of the questions; null if one of them is not for a person, or there are too many. */
function questionKeys(requests: unknown): readonly string[] | null {
  const entries = isRecord(requests) ? Object.entries(requests) : []
  const areQuestions = entries.every(([, asked]) => isRecord(asked) && asked.method === 'elicitation/create')
  return areQuestions && entries.length > 0 && entries.length <= maxQuestions ? entries.map(([key]) => key) : null
}
