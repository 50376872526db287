// Compares the promise ids in test titles with the states in test/project/contract.ts. Called by
// scripts/promise-reporter.mjs.

import type { ContractPromise } from '../project/contract.ts'

const promiseId = /\b(?:TOOL|VAL|CALL|SCHED|TIME|DUR|WAIT|POL|TASK|CRON|SESS|BOX|FEED|DOOR|MCP|RST|KIT)-\d+\b/g

/** The distinct promise ids in these test titles. */
export const idsIn = (titles: Iterable<string>): string[] => [
  ...new Set([...titles].flatMap((title) => title.match(promiseId) ?? [])),
]

export interface PromiseVerdict {
  /** Promises that are built, at least in part, but cited by no passing test. */
  readonly missing: readonly string[]
  /** Promises cited by a passing test that are not listed or are marked 'not yet'. */
  readonly unexpected: readonly string[]
}

export function judgePromises(
  cited: Iterable<string>,
  promises: Readonly<Record<string, ContractPromise>>,
): PromiseVerdict {
  const found = new Set(cited)
  const isBegun = (id: string): boolean => promises[id] !== undefined && promises[id].state !== 'not yet'
  return {
    missing: Object.keys(promises).filter((id) => isBegun(id) && !found.has(id)),
    unexpected: [...found].filter((id) => !isBegun(id)),
  }
}
