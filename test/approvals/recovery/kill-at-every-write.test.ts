// Processes are killed at some of their writes and effects. The slow tier kills them at every one.

import { test } from 'vitest'
import { killsADecider, killsAProcess, killsAWorker } from './kill-approvals.ts'

const timeout = 120_000

test('POL-2 POL-4: a process killed at every sixth write completes its calls after a restart', { timeout }, () =>
  killsAProcess(6),
)

test('POL-2 POL-4: a worker killed while another process decides loses no decision', { timeout }, () => killsAWorker(6))

test('POL-2 POL-3: a killed decider leaves reported decisions recorded and the rest open', { timeout }, () =>
  killsADecider(4),
)
