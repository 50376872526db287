// Default id generator: ids sort by time.

import { randomBytes } from 'node:crypto'

let lastTime = 0
let timeText = ''
let count = 0
const processSuffix = randomBytes(10).toString('hex')
/**
 * Time first, so that rows created at about the same time are stored together; then a counter, then a suffix that is
 * unique per process.
 */
export function timeOrderedId(): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    timeText = now.toString(36).padStart(9, '0')
  }
  return timeText + (count++).toString(36).padStart(6, '0') + processSuffix
}
