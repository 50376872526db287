// What is drawn at random is the same in every run: what passed passes again, and a failure is the fault of the change. PAWL_SEED=<n> draws
// otherwise, `npm run test:long` anew each time; who fails says its seed.

import fc from 'fast-check'
import { long } from './long-run.ts'

export const seed = Number(process.env.PAWL_SEED ?? (long ? Date.now() % 2 ** 31 : 1))
fc.configureGlobal({ seed })
export { fc }
