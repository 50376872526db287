// Requests a refund that needs approval through each adapter, on a SQLite file, as a process of its own. It reports what
// the models read and stays alive until it is killed.

import { refundThroughAdapters, refundRuntime } from './refund-adapters.ts'

const { runtime } = await refundRuntime(process.argv[2] ?? '')
process.send?.(await refundThroughAdapters(runtime, 'waiting'))
setInterval(() => {}, 1_000)
