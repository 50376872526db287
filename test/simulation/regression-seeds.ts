// Seeds that once broke a law, and what they found. They are always run. A change to the programs makes other histories of them; then they stand
// for themselves.

export const kept: readonly number[] = [
  58, // an answer to a wait was on record, its writer heard of a failure, and the body waited for ever
  182, // a process was stopped past the deadline of its call, and started a step before its timer rang
  710, // a call that had left its batch's line to sleep waited for a key of one behind it, which waited for its turn in the line
  1056, // a worker froze and took up its own calls again: one under another came back to the attempt that was over, and was driven by nobody
  959, // a runtime that was closed while a cancelled body had its grace left a timer behind
  1082, // the store was away while a cancelled call ended its waits, and the call settled as an internal error
  1347, // the store was away, a call under another was lost, and the one above settled as failed by it
  1755, // the store was away when the hint came that another worker had answered, and nobody looked again
  101576, // a session was cancelled, the store was away for one of its calls while the others were looked up, and a stray rejection ended the process
  104514, // a worker was frozen while its call was cancelled, and started one more step when it woke
  104634, // a call under another was looked up while the runtime closed, and began after that
]
