// Maps times to positions on the page. Long periods without any activity are shortened, so that seconds of work remain
// visible between hours of waiting. Used by the HTML page.

export interface Span {
  readonly from: number
  readonly to: number
}

export interface TimeScale {
  /** Position from 0 to 100. */
  at(time: number): number
  /** Periods that are not drawn to scale. */
  readonly breaks: readonly Span[]
  /** Round times from the start, with their positions. */
  readonly ticks: readonly { readonly position: number; readonly elapsed: number }[]
}

/** Idle periods above this share of the active time are shortened. */
const longIdle = 0.6
/** Width of all shortened periods together, in percent. */
const breaksWidth = 60
const wantedTicks = 5
const maxBreaks = 6

/** @param active Periods in which something ran, was queued or ended. They are always drawn to scale. */
export function timeScale(from: number, to: number, active: readonly Span[]): TimeScale {
  const idle = idleSpans(from, to, active)
  const total = Math.max(to - from, 1)
  const idleTotal = idle.reduce((sum, span) => sum + span.to - span.from, 0)
  const activeTotal = Math.max(total - idleTotal, 1)
  const breaks = idle
    .filter((span) => span.to - span.from > activeTotal * longIdle)
    .toSorted((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, maxBreaks)
    .toSorted((a, b) => a.from - b.from)
  const shortened = breaks.reduce((sum, span) => sum + span.to - span.from, 0)
  // All of it is idle: one linear scale.
  const isLinear = breaks.length === 0 || total - shortened < 1
  const used = isLinear ? [] : breaks
  const breakWidth = used.length === 0 ? 0 : breaksWidth / used.length
  const perMs = (100 - (used.length === 0 ? 0 : breaksWidth)) / (isLinear ? total : total - shortened)
  const at = (time: number): number => {
    let position = 0
    let done = from
    for (const span of used) {
      if (time <= span.from) break
      position += (span.from - done) * perMs
      done = span.to
      if (time < span.to) return position + ((time - span.from) / (span.to - span.from)) * breakWidth
      position += breakWidth
    }
    return Math.min(100, Math.max(0, position + (time - done) * perMs))
  }
  return {
    at,
    breaks: used,
    ticks: ticksOf(from, to, at, used, (isLinear ? total : total - shortened) / wantedTicks),
  }
}

function idleSpans(from: number, to: number, active: readonly Span[]): Span[] {
  const idle: Span[] = []
  let reached = from
  for (const span of active.toSorted((a, b) => a.from - b.from)) {
    if (span.from > reached) idle.push({ from: reached, to: span.from })
    reached = Math.max(reached, span.to)
  }
  if (to > reached) idle.push({ from: reached, to })
  return idle
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
]
const longSteps = [600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000]
/** Labels nearer to each other would overlap on a small screen. */
const minDistance = 14

function ticksOf(from: number, to: number, at: TimeScale['at'], breaks: readonly Span[], wanted: number) {
  const day = 86_400_000
  const step = [...steps, ...longSteps].find((each) => each >= wanted) ?? Math.ceil(wanted / day) * day
  const ticks: { position: number; elapsed: number }[] = []
  const add = (elapsed: number): void => {
    const time = from + elapsed
    const position = at(time)
    if (breaks.some((span) => time > span.from && time < span.to)) return
    if (position > 94 || position - (ticks.at(-1)?.position ?? -minDistance) < minDistance) return
    ticks.push({ position, elapsed })
  }
  let next = 0
  for (const span of [...breaks, { from: to, to }]) {
    for (; from + next <= span.from; next += step) add(next)
    // Round times inside the shortened period are skipped at once: there may be very many.
    next = Math.ceil((span.to - from) / step) * step
  }
  return ticks
}
