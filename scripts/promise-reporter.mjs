// A vitest reporter for full runs: fails the run if a promise that is built is cited by no test that passed.
//
// PAWL_JUDGE_PROMISES=1      judges this run alone
// PAWL_JUDGE_PROMISES=collect  the first of two runs (npm test): writes the ids that its tests cite to a file
// PAWL_JUDGE_PROMISES=merge    the second (the slow tier): judges its own ids together with those in the file
//
// Without the variable the reporter does nothing: a run of some files proves nothing about the rest.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { idsIn, judgePromises } from '../test/kit/judge-promises.ts'
import { promises } from '../test/project/contract.ts'

const file = join(import.meta.dirname, '../node_modules/.cache/pawl-promises.json')

export default class PromiseReporter {
  onTestRunEnd(modules, errors, reason) {
    const mode = process.env.PAWL_JUDGE_PROMISES
    if (mode === undefined) return
    const passed = modules.flatMap((module) => [...module.children.allTests('passed')].map(({ fullName }) => fullName))
    if (mode === 'collect') {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, JSON.stringify(idsIn(passed)))
      return
    }
    const collected = mode === 'merge' ? JSON.parse(readFileSync(file, 'utf8')) : []
    // Used once: a later run must not count on tests that ran long before it.
    rmSync(file, { force: true })
    // If a test failed, the run has failed already; the ids that only it cites would hide the reason.
    if (reason !== 'passed' || errors.length > 0) return
    const cited = new Set([...collected, ...idsIn(passed)])
    const { missing, unexpected } = judgePromises(cited, promises)
    if (missing.length > 0)
      console.error(`\nBuilt in test/project/contract.ts, but cited by no test that passed: ${missing.join(', ')}`)
    if (unexpected.length > 0)
      console.error(
        `\nCited by a test that passed, but not begun in test/project/contract.ts: ${unexpected.join(', ')}`,
      )
    if (missing.length + unexpected.length > 0) process.exitCode = 1
    else console.log(`${cited.size} of ${Object.keys(promises).length} promises are cited by tests that passed`)
  }
}
