// A logger for parts of the gateway: warnings and errors are shown to people, the rest is dropped.

import type { Logger } from '../../index.ts'

export function problemLogger(onProblem: (problem: string) => void): Logger {
  const report = (problem: string): void => onProblem(problem)
  return { debug() {}, info() {}, warn: report, error: report }
}
