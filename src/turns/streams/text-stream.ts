// turn.textStream: the text of all answers of a turn, in pieces.

import { PawlError } from '../../core/errors.ts'
import type { TurnPart } from './turn-parts.ts'

/**
 * An answer that was cut off is requested again. If the new one begins with the delivered text, the stream goes on
 * behind it; a text stream cannot take text back, so otherwise it fails.
 */
export async function* textOfTurn(parts: AsyncIterable<TurnPart>): AsyncGenerator<string, void, void> {
  let delivered = ''
  /** Text of the answer since it began again, as long as it repeats what was delivered. */
  let repeated: string | null = null
  for await (const part of parts) {
    switch (part.type) {
      case 'step':
        delivered = ''
        repeated = null
        break
      case 'reset':
        repeated = ''
        break
      case 'text': {
        const text: string = (repeated ?? '') + part.delta
        if (repeated === null) {
          delivered += part.delta
          yield part.delta
        } else if (delivered.startsWith(text)) repeated = text === delivered ? null : text
        else if (text.startsWith(delivered)) {
          const rest = text.slice(delivered.length)
          delivered = text
          repeated = null
          yield rest
        } else throw differs()
        break
      }
      case 'answered':
        if (repeated !== null && repeated !== delivered) throw differs()
        break
      case 'ended':
        return
      default:
    }
  }
}

const differs = (): PawlError => new PawlError('stream_retracted')
