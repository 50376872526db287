// Processes are killed at every one of their writes and effects, and a worker at every second one.

import { test } from 'vitest'
import { killsADecider, killsAProcess, killsAWorker } from './kill-approvals.ts'

const timeout = 240_000

test('POL-2 POL-4: a process killed at every write completes its calls after a restart', { timeout }, () =>
  killsAProcess(1),
)

test('POL-2 POL-4: a worker killed while another process decides loses no decision', { timeout }, () => killsAWorker(2))

test('POL-2 POL-3: a decider killed at every write leaves reported decisions recorded', { timeout }, () =>
  killsADecider(1),
)
