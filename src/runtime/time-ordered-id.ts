// Ids in the order of time, where none are given.

import { randomBytes } from 'node:crypto'

let lastTime = 0
let timeText = ''
let count = 0
const ofThisProcess = randomBytes(10).toString('hex')
/** Time first, so that rows of one moment lie together; then what tells processes apart, and a count that tells calls apart. */
export function timeOrderedId(): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    timeText = now.toString(36).padStart(9, '0')
  }
  return timeText + (count++).toString(36).padStart(6, '0') + ofThisProcess
}
