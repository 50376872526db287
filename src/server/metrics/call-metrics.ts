// Metrics of the calls that this process runs, from the events of the observer port. Calls of other workers are in
// their own metrics.

import type { ObservedEvent } from '../../index.ts'
import { BoundedNames, Counter, Histogram } from './text-format.ts'

/** Names of tools come from configuration, providers and remote servers. */
const maxTools = 200
/** Upper bounds in seconds. */
const shortBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const longBounds = [1, 10, 60, 300, 1_800, 3_600, 14_400, 86_400, 604_800]

const absentTool = 'pawl:absent'
const turnPrefix = 'pawl:turn:'

export class CallMetrics {
  readonly #names = new BoundedNames(maxTools)
  readonly #calls = new Counter('pawl_calls_total', 'Calls that ended in this process, by tool and outcome.')
  readonly #recovered = new Counter(
    'pawl_calls_recovered_total',
    'Calls that continued here after their worker was lost.',
  )
  readonly #attempts = new Counter('pawl_attempts_total', 'Attempts that ended in this process.')
  readonly #queue = new Histogram(
    'pawl_call_queue_seconds',
    'Time a call was ready to run and did not run.',
    shortBounds,
  )
  readonly #run = new Histogram('pawl_call_run_seconds', 'Time the body of a call ran, over all attempts.', shortBounds)
  readonly #wait = new Histogram('pawl_wait_seconds', 'Time until a wait was answered, by its kind.', longBounds)
  readonly #models = new Histogram('pawl_model_request_seconds', 'Duration of model requests.', shortBounds)

  readonly observe = (event: ObservedEvent): void => {
    switch (event.type) {
      case 'callStarted':
        if (event.lostWorker) this.#recovered.add({ tool: this.#toolOf(event) })
        break
      case 'callSettled': {
        const tool = this.#toolOf(event)
        this.#calls.add({ tool, outcome: event.status })
        this.#queue.observe({ tool }, event.queuedMs / 1_000)
        this.#run.observe({ tool }, event.runningMs / 1_000)
        break
      }
      case 'attemptEnded':
        this.#attempts.add({ tool: this.#toolOf(event), status: event.status })
        break
      case 'waitResolved':
        this.#wait.observe({ kind: event.kind, answer: event.by }, event.durationMs / 1_000)
        break
      case 'modelCallEnded':
        this.#models.observe({ model: this.#names.of(event.model), status: event.status }, event.durationMs / 1_000)
        break
      default:
    }
  }

  render(): string[] {
    const metrics = [this.#calls, this.#recovered, this.#attempts, this.#queue, this.#run, this.#wait, this.#models]
    return metrics.flatMap((metric) => metric.render())
  }

  /** All turns count as one tool; their models have a metric of their own. */
  #toolOf({ tool }: ObservedEvent): string {
    if (tool === absentTool) return 'unknown_tool'
    return this.#names.of(tool.startsWith(turnPrefix) ? 'turn' : tool)
  }
}
