// `pawl/testing`: for people who test their tools, and for ourselves.

export { type ManualClock, manualClock } from './clock.ts'
