// The attempts of a call, read from its events. Pure, so that it is tested without a browser.

export interface Attempt {
  readonly number: number
  readonly from: number
  /** Null: it has not ended. */
  readonly to: number | null
  /** `stopped`: its worker died or handed the call back. Null: it runs, or it is not known. */
  readonly end: 'stopped' | 'failed' | 'waits' | 'settled' | null
  /** The code of the failure that is tried again. */
  readonly code: string | null
  /** Steps that it ran and recorded. */
  readonly ran: readonly string[]
  /** Steps of earlier attempts. It got their recorded values. */
  readonly replayed: readonly string[]
}

/** An event of the time line of a call. */
interface Event {
  readonly type: string
  readonly call: string
  readonly at: number
  readonly body: object
}

function stepOf({ body }: Event): string {
  const { step } = body as { readonly step?: unknown }
  return typeof step === 'string' ? step.replace(/^step:/, '') : ''
}

/** `events`: of the call and those under it, oldest first. */
export function attemptsOf(events: readonly Event[], call: string): readonly Attempt[] {
  const attempts: Attempt[] = []
  const recorded: string[] = []
  const change = (changes: Partial<Attempt>): void => {
    const last = attempts.pop()
    if (last) attempts.push({ ...last, ...changes })
  }
  const end = (how: Attempt['end'], at: number, code: string | null = null): void => {
    if (attempts.at(-1)?.to === null) change({ end: how, to: at, code })
  }
  for (const event of events) {
    if (event.call !== call) continue
    const { type, at, body } = event
    const { attempt, code } = body as { readonly attempt?: unknown; readonly code?: unknown }
    if (type === 'call.started') {
      end('stopped', at)
      const number = typeof attempt === 'number' ? attempt : attempts.length + 1
      attempts.push({ number, from: at, to: null, end: null, code: null, ran: [], replayed: [...recorded] })
    } else if (type === 'step.done') {
      recorded.push(stepOf(event))
      change({ ran: [...(attempts.at(-1)?.ran ?? []), stepOf(event)] })
    } else if (type === 'call.queued') end('failed', at, typeof code === 'string' ? code : null)
    else if (type === 'call.parked') end('waits', at)
    else if (type === 'call.settled') end('settled', at)
  }
  return attempts
}
