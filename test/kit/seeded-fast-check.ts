// Seeds fast-check, so that every run draws the same values and a failure is caused by the change. PAWL_SEED=<n> sets
// another seed; `npm run test:long` draws a new one each time. A failure prints its seed.

import fc from 'fast-check'
import { long } from './long-run.ts'

export const seed = Number(process.env.PAWL_SEED ?? (long ? Date.now() % 2 ** 31 : 1))
fc.configureGlobal({ seed })
export { fc }
