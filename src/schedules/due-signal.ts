// Tells the scheduler of this process about new rows in the `due` collection. Created before the scheduler, because
// tools, turns and schedules write such rows; a process without a scheduler (`worker: false`) ignores the signal.

export class DueSignal {
  /** Set by the scheduler when it starts. */
  listener: { wakeAt(at: number): void; expectWrite(): void } | null = null

  /** Called after a row that is due at this instant was written. */
  dueAt(at: number): void {
    this.listener?.wakeAt(at)
  }

  /** Called before a row that is due at once is committed. */
  expectWrite(): void {
    this.listener?.expectWrite()
  }
}
