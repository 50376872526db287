// A group of changes as rows for one statement (write_group in schema.ts). What the changes of a group mean to each other is judged here,
// because the database judges all guards as the rows were before the group:
//
// - A place that a change of the group takes is taken for the ones after it, whether or not that change succeeds: if it does not, somebody
//   had the place before. The same goes for a wait that is answered twice.
// - A call that the group inserts is held by its inserter's fence; what its holder does next goes with the insert, in one row.
// - A call that one change settles is settled for the later ones of the same fence. One of another fence can only be true if that change
//   was refused, and the database tells.

import type { CallProgress, CallRecord } from '../records/call-record.ts'
import type { Change, Guard, Take, Written } from '../store.ts'
import { digest, keptIn, keptPlace, nameIn, nameOut, placeIn, placeOf } from './rows.ts'

/** About what is sent at once: a text of JavaScript and a message of PostgreSQL have their ends. */
const mostBytes = 32 * 1024 * 1024

type Needs = readonly number[]
type Row = Record<string, unknown>

export interface Plan {
  /** How many of the changes are in it. */
  readonly taken: number
  /** What write_group takes, in its order; null where there is nothing. */
  readonly values: readonly (string | null)[]
  /** The answers, once the database has said which guards are false. */
  answers(bad: readonly number[], lacking: Readonly<Record<number, string>>): Written[]
}

interface Inserted {
  readonly row: Row
  readonly needs: Needs
  readonly fence: number
  settled: boolean
  /** A change with more needs than the insert moved it: what follows is written apart. */
  apart: boolean
}

/** What the database has to say about the guards of a change, in their order, and the one that is false whatever it says. */
interface End {
  readonly judged: { readonly guard: Guard; readonly needs: Needs }[]
  readonly refused: Guard | null
}

export function planOf(changes: readonly Change[]): Plan {
  const plan = new Planner()
  for (const change of changes) {
    // Whether a call is settled, or what is kept, may depend on what the group does before: that is asked for first in a group.
    if (plan.taken > 0 && change.guards.some(({ kind }) => kind === 'unsettled' || kind === 'kept')) break
    plan.add(change)
    if (plan.full) break
  }
  return plan
}

class Planner implements Plan {
  readonly #guards: Row[] = []
  /** By kind, name and fence: the same guard is asked about once. */
  readonly #asked = new Map<string, number>()
  readonly #calls: Row[] = []
  readonly #moves: Row[] = []
  readonly #steps: Row[] = []
  readonly #waits: Row[] = []
  readonly #answers: Row[] = []
  readonly #files: Row[] = []
  readonly #facts: Row[] = []
  readonly #placings: Row[] = []
  readonly #uses: Row[] = []
  readonly #keeps: Row[] = []
  readonly #placesTaken = new Set<string>()
  readonly #inserted = new Map<string, Inserted>()
  readonly #newWaits = new Map<string, Needs>()
  readonly #answered = new Set<string>()
  /** By uid and fence. */
  readonly #settled = new Set<string>()
  readonly #ends: End[] = []
  #n = 0
  #bytes = 0
  /** Enough for one statement; or what the last change did depends on more than can be told here, and the next one needs to see it. */
  full = false

  get taken(): number {
    return this.#ends.length
  }

  add(change: Change): void {
    const end = this.#endOf(change.guards)
    this.#ends.push(end)
    if (end.refused) return
    const { take, line, give } = change
    const before = end.judged.flatMap((each) => each.needs)
    // Judged by the database, after all guards and in the order of the group.
    const i = take ? -1 - this.#placings.length : 0
    if (take) this.#place('take', take, before, take.places.map(placeIn), i)
    if (take) end.judged.push({ guard: { kind: 'room', name: '' }, needs: [i] })
    const needs = take ? [...before, i] : before
    if (line) this.#place('line', line, needs, [placeIn(line)])
    if (give) this.#place('give', { worker: '', ...give }, needs, give.names?.map((name) => placeIn({ name })) ?? null)
    if (change.insertCall) this.#insert(change.insertCall, needs)
    if (change.updateCall) this.#move(change.updateCall, needs)
    for (const s of change.steps ?? []) {
      this.#steps.push({ ...s, n: ++this.#n, needs, call: nameIn(s.call), key: nameIn(s.key), place: digest(s.key) })
    }
    for (const w of change.insertWaits ?? []) {
      const { id, call, name, salt, keyHash } = w
      const names = {
        id: nameIn(id),
        call: nameIn(call),
        name: nameIn(name),
        salt: nameIn(salt),
        keyHash: nameIn(keyHash),
      }
      this.#waits.push({ ...w, ...names, needs })
      if (w.resolution === null) this.#newWaits.set(id, needs)
    }
    if (change.resolveWait) {
      const { id, resolution } = change.resolveWait
      this.#answers.push({ id: nameIn(id), resolution, needs })
      this.#answered.add(id)
    }
    this.#bytes += (change.updateCall?.progress.outcome ?? '').length
    for (const s of change.steps ?? []) this.#bytes += s.value?.length ?? 0
    for (const a of change.attachments ?? []) {
      this.#bytes += a.data.byteLength * 1.4
      const names = { tenant: nameIn(a.tenant), id: nameIn(a.id), mediaType: nameIn(a.mediaType), name: nameIn(a.name) }
      this.#files.push({ ...names, needs, place: digest(a.tenant, a.id), data: Buffer.from(a.data).toString('base64') })
    }
    for (const u of change.uses ?? []) this.#uses.push({ needs, place: digest(u.tenant, u.id), call: nameIn(u.call) })
    for (const each of change.documents ?? []) {
      this.#bytes += each.value?.length ?? 0
      this.#keeps.push({ ...keptIn(each), n: ++this.#n, needs, value: each.value })
    }
    if (this.#bytes > mostBytes) this.full = true
    for (const e of change.events) {
      const { tenant, session, call, type, at } = e
      const names = { tenant: nameIn(tenant), session: nameIn(session), call: nameIn(call) }
      this.#facts.push({
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
    const [guards, calls, moves, steps] = [this.#guards, this.#calls, this.#moves, this.#steps]
    const [waits, answers, files, facts] = [this.#waits, this.#answers, this.#files, this.#facts]
    const all = [guards, calls, moves, steps, waits, answers, files, facts, this.#placings, this.#uses, this.#keeps]
    return all.map((rows) => (rows.length === 0 ? null : JSON.stringify(rows)))
  }

  answers(bad: readonly number[], lacking: Readonly<Record<number, string>>): Written[] {
    const isBad = new Set(bad)
    return this.#ends.map(({ judged, refused }) => {
      const first = judged.find(({ needs }) => needs.some((index) => isBad.has(index)))
      if (first?.guard.kind === 'room')
        return { ok: false, refused: { kind: 'room', name: nameOut(lacking[first.needs[0] as number] ?? '') } }
      const no = first?.guard ?? refused
      return no ? { ok: false, refused: no } : { ok: true }
    })
  }

  #endOf(guards: readonly Guard[]): End {
    const judged: { guard: Guard; needs: Needs }[] = []
    for (const guard of guards) {
      const needs = this.#judge(guard)
      if (needs === false) return { judged, refused: guard }
      judged.push({ guard, needs })
    }
    return { judged, refused: null }
  }

  #judge(guard: Guard): Needs | false {
    switch (guard.kind) {
      case 'absent': {
        const place = placeOf(guard.position)
        return this.#placesTaken.has(place) ? false : this.#ask(guard, place, 0)
      }
      case 'holds':
      case 'held': {
        const { call, fence } = guard
        const own = this.#inserted.get(call)
        if (own) return own.fence === fence && !(own.settled && guard.kind === 'holds') ? own.needs : false
        if (guard.kind === 'holds' && this.#settled.has(`${fence} ${call}`)) return false
        return this.#ask(guard, nameIn(call), fence)
      }
      case 'unsettled':
        return this.#ask(guard, nameIn(guard.call), 0)
      case 'open':
        if (this.#answered.has(guard.wait)) return false
        return this.#newWaits.get(guard.wait) ?? this.#ask(guard, nameIn(guard.wait), 0)
      case 'kept':
        return this.#ask(guard, keptPlace(guard), guard.revision)
      case 'room':
        return []
    }
  }

  #place(
    op: string,
    { holder, above = [], worker }: Omit<Take, 'places'>,
    needs: Needs,
    places: Row[] | null,
    i = 0,
  ): void {
    this.#placings.push({
      n: ++this.#n,
      i,
      needs,
      op,
      holder: nameIn(holder),
      above: above.map(nameIn),
      worker: nameIn(worker),
      places,
    })
  }

  #ask(guard: Guard, k: string, f: number): Needs {
    const name = `${guard.kind} ${f} ${k}`
    let i = this.#asked.get(name)
    if (i === undefined) {
      i = this.#guards.length
      this.#asked.set(name, i)
      this.#guards.push({ i, kind: guard.kind, k, f })
    }
    return [i]
  }

  #insert(call: CallRecord, needs: Needs): void {
    const { position: p, ...rest } = call
    const place = placeOf(p)
    this.#placesTaken.add(place)
    const names = {
      uid: nameIn(call.uid),
      principal: nameIn(call.principal),
      tool: nameIn(call.tool),
      hash: nameIn(call.hash),
      line: nameIn(call.line),
    }
    const where = {
      tenant: nameIn(p.tenant),
      session: nameIn(p.session),
      batch: nameIn(p.batch),
      id: nameIn(p.id),
      occurrence: p.occurrence,
    }
    const row: Row = {
      ...rest,
      ...names,
      ...where,
      needs,
      place,
      scope: digest(p.tenant, p.session),
      owner: nameIn(call.owner),
      wait: nameIn(call.wait),
    }
    this.#calls.push(row)
    this.#inserted.set(call.uid, { row, needs, fence: call.fence, settled: call.state === 'settled', apart: false })
  }

  #move({ uid, progress, release = false }: NonNullable<Change['updateCall']>, needs: Needs): void {
    const own = this.#inserted.get(uid)
    const moved = { ...progress, wait: nameIn(progress.wait) } satisfies CallProgress
    if (own && !own.apart && sameNeeds(own.needs, needs)) {
      Object.assign(own.row, moved, release ? { owner: null } : {})
    } else {
      if (own) own.apart = true
      this.#moves.push({ ...moved, n: ++this.#n, needs, uid: nameIn(uid), release })
    }
    if (progress.state !== 'settled') return
    if (own) own.settled = true
    const [index] = needs
    const { kind, k, f } = (index === undefined ? {} : this.#guards[index]) as { kind?: string; k?: string; f?: number }
    if (own ? own.apart : needs.length !== 1 || kind !== 'holds' || k !== nameIn(uid)) this.full = true
    else this.#settled.add(`${f} ${uid}`)
  }
}

const sameNeeds = (a: Needs, b: Needs): boolean => a.length === b.length && a.every((index, at) => index === b[at])
