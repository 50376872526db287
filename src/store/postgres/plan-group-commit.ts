// Turns a group of changes into the rows of one statement (write_group in schema.ts). The database checks all guards
// against the state before the group, so interactions within the group are decided here:
//
// - A position that a change takes counts as taken for the later ones, even if that change is refused: then another
//   call already had it. The same goes for a wait that is answered twice.
// - A call inserted by the group is held under its inserter's fence; the holder's next changes are merged into the
//   insert.
// - A call settled by one change is settled for later changes of the same fence. A guard with another fence can hold
//   only if that change was refused, and the database decides that.

import type { CallProgress, CallRecord } from '../records/call-record.ts'
import type { Change, Guard, TakeSlots, Written } from '../store.ts'
import { digest, documentRow, documentDigest, escapeName, unescapeName, slotRow, positionDigest } from './rows.ts'

/** Approximate size limit of one statement: JavaScript strings and PostgreSQL messages have maximum lengths. */
const maxBytes = 32 * 1024 * 1024

type GuardIds = readonly number[]
type Row = Record<string, unknown>

export interface Plan {
  /** How many of the changes are in the plan. */
  readonly taken: number
  /** The parameters of write_group, in order; null where there are no rows. */
  readonly values: readonly (string | null)[]
  /** The results, once the database has reported which guards failed. */
  answers(bad: readonly number[], lacking: Readonly<Record<number, string>>): Written[]
}

interface Inserted {
  readonly row: Row
  readonly needs: GuardIds
  readonly fence: number
  settled: boolean
  /** The call was updated by a change with more guards than the insert, so later updates are written separately. */
  separate: boolean
}

/** The guards of a change that the database checks, in order, and the one that fails in any case. */
interface Verdict {
  readonly checks: { readonly guard: Guard; readonly needs: GuardIds }[]
  readonly refused: Guard | null
}

export function planGroup(changes: readonly Change[]): Plan {
  const plan = new Planner()
  for (const change of changes) {
    // The state of a call or document may depend on earlier changes of the group, so such a change must come first in
    // a group.
    if (plan.taken > 0 && change.guards.some(({ kind }) => kind === 'unsettled' || kind === 'kept')) break
    plan.add(change)
    if (plan.full) break
  }
  return plan
}

class Planner implements Plan {
  readonly #guards: Row[] = []
  /** By kind, name and fence, so that equal guards are checked once. */
  readonly #guardIds = new Map<string, number>()
  readonly #calls: Row[] = []
  readonly #updates: Row[] = []
  readonly #steps: Row[] = []
  readonly #waits: Row[] = []
  readonly #resolutions: Row[] = []
  readonly #attachments: Row[] = []
  readonly #events: Row[] = []
  readonly #slotOps: Row[] = []
  readonly #uses: Row[] = []
  readonly #documents: Row[] = []
  readonly #takenPositions = new Set<string>()
  readonly #inserted = new Map<string, Inserted>()
  readonly #insertedWaits = new Map<string, GuardIds>()
  readonly #answered = new Set<string>()
  /** By fence and uid. */
  readonly #settled = new Set<string>()
  readonly #verdicts: Verdict[] = []
  #n = 0
  #bytes = 0
  /**
   * The plan is large enough for one statement, or the last change has an effect that cannot be decided here and that
   * the next change must see.
   */
  full = false

  get taken(): number {
    return this.#verdicts.length
  }

  add(change: Change): void {
    const verdict = this.#verdictOf(change.guards)
    this.#verdicts.push(verdict)
    if (verdict.refused) return
    const { takeSlots: take, queueForSlot: line, releaseSlots: give } = change
    const before = verdict.checks.flatMap((each) => each.needs)
    // Checked by the database after all guards, in the order of the group.
    const i = take ? -1 - this.#slotOps.length : 0
    if (take) this.#addSlotOp('take', take, before, take.slots.map(slotRow), i)
    if (take) verdict.checks.push({ guard: { kind: 'room', name: '' }, needs: [i] })
    const needs = take ? [...before, i] : before
    if (line) this.#addSlotOp('line', line, needs, [slotRow(line)])
    if (give)
      this.#addSlotOp('give', { worker: '', ...give }, needs, give.names?.map((name) => slotRow({ name })) ?? null)
    if (change.insertCall) this.#insert(change.insertCall, needs)
    if (change.updateCall) this.#update(change.updateCall, needs)
    for (const s of change.steps ?? []) {
      this.#steps.push({
        ...s,
        n: ++this.#n,
        needs,
        call: escapeName(s.call),
        key: escapeName(s.key),
        place: digest(s.key),
      })
    }
    for (const w of change.insertWaits ?? []) {
      const { id, call, name, salt, keyHash } = w
      const names = {
        id: escapeName(id),
        call: escapeName(call),
        name: escapeName(name),
        salt: escapeName(salt),
        keyHash: escapeName(keyHash),
      }
      this.#waits.push({ ...w, ...names, needs })
      if (w.resolution === null) this.#insertedWaits.set(id, needs)
    }
    if (change.resolveWait) {
      const { id, resolution } = change.resolveWait
      this.#resolutions.push({ id: escapeName(id), resolution, needs })
      this.#answered.add(id)
    }
    this.#bytes += (change.updateCall?.progress.outcome ?? '').length
    for (const s of change.steps ?? []) this.#bytes += s.value?.length ?? 0
    for (const a of change.attachments ?? []) {
      this.#bytes += a.data.byteLength * 1.4
      const names = {
        tenant: escapeName(a.tenant),
        id: escapeName(a.id),
        mediaType: escapeName(a.mediaType),
        name: escapeName(a.name),
      }
      this.#attachments.push({
        ...names,
        needs,
        place: digest(a.tenant, a.id),
        data: Buffer.from(a.data).toString('base64'),
      })
    }
    for (const u of change.uses ?? [])
      this.#uses.push({ needs, place: digest(u.tenant, u.id), call: escapeName(u.call) })
    for (const each of change.documents ?? []) {
      this.#bytes += each.value?.length ?? 0
      this.#documents.push({ ...documentRow(each), n: ++this.#n, needs, value: each.value })
    }
    if (this.#bytes > maxBytes) this.full = true
    for (const e of change.events) {
      const { tenant, session, call, type, at } = e
      const names = { tenant: escapeName(tenant), session: escapeName(session), call: escapeName(call) }
      this.#events.push({
        ...names,
        n: ++this.#n,
        needs,
        scope: digest(tenant, session),
        type,
        at,
        body: JSON.stringify(e.body),
      })
    }
  }

  get values(): readonly (string | null)[] {
    const [guards, calls, moves, steps] = [this.#guards, this.#calls, this.#updates, this.#steps]
    const [waits, answers, files, facts] = [this.#waits, this.#resolutions, this.#attachments, this.#events]
    const all = [guards, calls, moves, steps, waits, answers, files, facts, this.#slotOps, this.#uses, this.#documents]
    return all.map((rows) => (rows.length === 0 ? null : JSON.stringify(rows)))
  }

  answers(bad: readonly number[], lacking: Readonly<Record<number, string>>): Written[] {
    const isBad = new Set(bad)
    return this.#verdicts.map(({ checks, refused }) => {
      const first = checks.find(({ needs }) => needs.some((index) => isBad.has(index)))
      if (first?.guard.kind === 'room')
        return { ok: false, refused: { kind: 'room', name: unescapeName(lacking[first.needs[0] as number] ?? '') } }
      const refusal = first?.guard ?? refused
      return refusal ? { ok: false, refused: refusal } : { ok: true }
    })
  }

  #verdictOf(guards: readonly Guard[]): Verdict {
    const checks: { guard: Guard; needs: GuardIds }[] = []
    for (const guard of guards) {
      const needs = this.#check(guard)
      if (needs === false) return { checks, refused: guard }
      checks.push({ guard, needs })
    }
    return { checks, refused: null }
  }

  #check(guard: Guard): GuardIds | false {
    switch (guard.kind) {
      case 'absent': {
        const digest = positionDigest(guard.position)
        return this.#takenPositions.has(digest) ? false : this.#guardId(guard, digest, 0)
      }
      case 'holds':
      case 'held': {
        const { call, fence } = guard
        const own = this.#inserted.get(call)
        if (own) return own.fence === fence && !(own.settled && guard.kind === 'holds') ? own.needs : false
        if (guard.kind === 'holds' && this.#settled.has(`${fence} ${call}`)) return false
        return this.#guardId(guard, escapeName(call), fence)
      }
      case 'unsettled':
        return this.#guardId(guard, escapeName(guard.call), 0)
      case 'open':
        if (this.#answered.has(guard.wait)) return false
        return this.#insertedWaits.get(guard.wait) ?? this.#guardId(guard, escapeName(guard.wait), 0)
      case 'kept':
        return this.#guardId(guard, documentDigest(guard), guard.revision)
      case 'room':
        return []
    }
  }

  #addSlotOp(
    op: string,
    { holder, above = [], worker }: Omit<TakeSlots, 'slots'>,
    needs: GuardIds,
    places: Row[] | null,
    i = 0,
  ): void {
    this.#slotOps.push({
      n: ++this.#n,
      i,
      needs,
      op,
      holder: escapeName(holder),
      above: above.map(escapeName),
      worker: escapeName(worker),
      places,
    })
  }

  #guardId(guard: Guard, k: string, f: number): GuardIds {
    const name = `${guard.kind} ${f} ${k}`
    let i = this.#guardIds.get(name)
    if (i === undefined) {
      i = this.#guards.length
      this.#guardIds.set(name, i)
      this.#guards.push({ i, kind: guard.kind, k, f })
    }
    return [i]
  }

  #insert(call: CallRecord, needs: GuardIds): void {
    const { position: p, ...rest } = call
    const place = positionDigest(p)
    this.#takenPositions.add(place)
    const names = {
      uid: escapeName(call.uid),
      principal: escapeName(call.principal),
      tool: escapeName(call.tool),
      hash: escapeName(call.hash),
      line: escapeName(call.line),
    }
    const position = {
      tenant: escapeName(p.tenant),
      session: escapeName(p.session),
      batch: escapeName(p.batch),
      id: escapeName(p.id),
      occurrence: p.occurrence,
    }
    const row: Row = {
      ...rest,
      ...names,
      ...position,
      needs,
      place,
      scope: digest(p.tenant, p.session),
      owner: escapeName(call.owner),
      wait: escapeName(call.wait),
    }
    this.#calls.push(row)
    this.#inserted.set(call.uid, { row, needs, fence: call.fence, settled: call.state === 'settled', separate: false })
  }

  #update({ uid, progress, release = false }: NonNullable<Change['updateCall']>, needs: GuardIds): void {
    const own = this.#inserted.get(uid)
    const fields = { ...progress, wait: escapeName(progress.wait) } satisfies CallProgress
    if (own && !own.separate && sameGuards(own.needs, needs)) {
      Object.assign(own.row, fields, release ? { owner: null } : {})
    } else {
      if (own) own.separate = true
      this.#updates.push({ ...fields, n: ++this.#n, needs, uid: escapeName(uid), release })
    }
    if (progress.state !== 'settled') return
    if (own) own.settled = true
    const [index] = needs
    const { kind, k, f } = (index === undefined ? {} : this.#guards[index]) as { kind?: string; k?: string; f?: number }
    if (own ? own.separate : needs.length !== 1 || kind !== 'holds' || k !== escapeName(uid)) this.full = true
    else this.#settled.add(`${f} ${uid}`)
  }
}

const sameGuards = (a: GuardIds, b: GuardIds): boolean =>
  a.length === b.length && a.every((index, at) => index === b[at])
