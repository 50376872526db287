// Child process that plays approval-scene.ts and is killed at a chosen point (test/kit/processes/child-kill-at.ts).

import { type Orders, play } from './approval-scene.ts'

const ended = await play(JSON.parse(process.env.PAWL_ORDERS as string) as Orders, () => process.send?.('waiting'))
if (ended) console.log(JSON.stringify(ended))
process.disconnect?.()
