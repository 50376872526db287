// Seeds that once violated an invariant; they are always run. A change to the random programs changes their histories,
// and then they are merely more seeds.

export const kept: readonly number[] = [
  58, // a wait was resolved on record, the writer got an error, and the body waited forever
  182, // a process froze past the deadline of its call and started a step before the timer fired
  710, // deadlock: a sleeping call waited for the lock of a later call, which waited for its batch order
  1056, // a worker froze and reclaimed its calls; a nested call joined an ended attempt and was never driven
  959, // a runtime closed during the grace period of a cancelled body and leaked a timer
  1082, // the store failed while a cancelled call closed its waits, and the call settled as internal error
  1347, // the store failed, a nested call was lost, and its parent settled as failed
  1755, // the store failed when the hint of a remote answer came, and it was never polled again
  101576, // the store failed for one call of a session cancel, and an unhandled rejection ended the process
  104514, // a worker froze while its call was cancelled and started one more step afterwards
  104634, // a nested call was read while the runtime closed and started afterwards
  2_000_255, // a turn ended as failure because the runtime closed before its calls had started
]
