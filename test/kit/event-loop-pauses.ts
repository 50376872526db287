/** Measures how long the event loop is blocked. stop() returns the longest pause in milliseconds. */
export function watchEventLoop(): { stop(): number } {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  return {
    stop() {
      clearInterval(timer)
      return longest
    },
  }
}
