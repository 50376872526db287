// The streams of a turn's handle. Nothing is loaded or read until the first chunk is requested, and cancelling a stream
// does not cancel the turn.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { Turn, UiStreamOptions } from '../../models/turn-interface.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import type { TurnHost } from '../ports.ts'
import type { TurnPart } from './turn-parts.ts'

export const uiStreamOptions = {
  until: option.oneOf('waiting', 'ended'),
  stepsShown: option.wholeNumber(0),
} satisfies OptionTable<UiStreamOptions>

/** `started`: the turn is recorded, or will be. A stream fails with the error of a turn that could not be started. */
export const turnStreams = (
  host: TurnHost,
  position: CallPosition,
  started: Promise<{ readonly settled: Promise<unknown> }>,
): Pick<Turn, 'textStream' | 'uiMessageStream'> => {
  let hasSettled = false
  void started
    .then(({ settled }) => settled)
    .then(
      () => (hasSettled = true),
      () => {}, // the handle reports it
    )
  const read = async (signal: AbortSignal): Promise<AsyncGenerator<TurnPart, void, void>> => {
    const { readTurn } = await import('./read-turn.ts')
    return readTurn(host, position, signal, () => hasSettled)
  }
  return {
    get textStream() {
      return streamOf(started, async (signal) => {
        const { textOfTurn } = await import('./text-stream.ts')
        return textOfTurn(await read(signal))
      })
    },
    uiMessageStream(options) {
      checkOptions(options, uiStreamOptions, 'uiMessageStream()')
      const { until = 'waiting', stepsShown = 0 } = options ?? {}
      const terms = { turn: position.id, endsWhenWaiting: until === 'waiting', stepsShown }
      return streamOf(started, async (signal) => {
        const { uiChunksOf } = await import('./ui-message-stream.ts')
        return uiChunksOf(await read(signal), terms)
      })
    },
  }
}

/** A stream of the items that `open` yields. Its signal aborts when the stream is cancelled. */
function streamOf<T>(
  ready: Promise<unknown>,
  open: (signal: AbortSignal) => Promise<AsyncGenerator<T, void, void>>,
): ReadableStream<T> {
  const stop = new AbortController()
  let items: AsyncGenerator<T, void, void> | null = null
  return new ReadableStream<T>(
    {
      async pull(controller) {
        await ready
        items ??= await open(stop.signal)
        const { done, value } = await items.next()
        if (stop.signal.aborted) return
        if (done) controller.close()
        else controller.enqueue(value)
      },
      // Between two chunks no read is pending that the signal could end.
      async cancel() {
        stop.abort()
        await items?.return()
      },
    },
    { highWaterMark: 0 },
  )
}
