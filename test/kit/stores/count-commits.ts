// Counts the SQLite transactions committed in this process, including groups passed to a store's thread. In `power`
// mode each is one sync of the WAL.

import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

export interface CommitCount {
  /** The number of commits since the last call. */
  take(): number
}

export function countCommits(): CommitCount {
  let commits = 0
  const prepare = DatabaseSync.prototype.prepare
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: []) {
    const statement = prepare.call(this, sql, ...rest)
    if (sql !== 'COMMIT') return statement
    const run = statement.run.bind(statement)
    statement.run = (...args: never[]) => {
      commits++
      return run(...args)
    }
    return statement
  }
  const post = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (this: Worker, message: { question?: { do?: string } }, ...rest) {
    if (message.question?.do === 'write') commits++
    return post.call(this, message, ...rest)
  }
  return {
    take() {
      const taken = commits
      commits = 0
      return taken
    },
  }
}
