// A model that streams what the test pushes, for tests of readers that join in mid-answer.

import type { AssistantPart, Model, ModelDelta } from 'pawl'

const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }

export interface PushedModel {
  readonly model: Model
  /** Streams pieces of text. */
  push(...deltas: string[]): void
  /** Streams a delta of any kind. */
  pushDelta(delta: ModelDelta): void
  /** Ends the answer: with what was pushed, then these calls. */
  finish(...calls: { readonly id: string; readonly name: string }[]): void
  /** Cuts the answer off; the turn requests it again. */
  fail(error: Error): void
  /** Number of requests so far. */
  asked(): number
}

export function pushedModel(name = 'm'): PushedModel {
  let told: PushedModel['pushDelta'] = () => {}
  let done: PushedModel['finish'] = () => {}
  let fail: PushedModel['fail'] = () => {}
  let asked = 0
  const model: Model = {
    name,
    generate: (call) =>
      new Promise((resolve, reject) => {
        asked++
        const parts: AssistantPart[] = []
        told = (delta) => {
          add(parts, delta)
          call.told(delta)
        }
        done = (...calls) => {
          for (const { id, name: tool } of calls) parts.push({ type: 'call', id, name: tool, input: '{}' })
          resolve({ parts, finish: parts.some(({ type }) => type === 'call') ? 'calls' : 'stop', usage })
        }
        fail = reject
      }),
  }
  return {
    model,
    push: (...deltas) => deltas.forEach((delta) => told({ type: 'text', delta })),
    pushDelta: (delta) => told(delta),
    finish: (...calls) => done(...calls),
    fail: (error) => fail(error),
    asked: () => asked,
  }
}

/** Adds a delta to the answer; arguments belong to the last call. */
function add(parts: AssistantPart[], delta: ModelDelta): void {
  const last = parts.at(-1)
  if (delta.type === 'call') parts.push({ type: 'call', id: delta.id, name: delta.name, input: '' })
  else if (delta.type === 'input' && last?.type === 'call')
    parts[parts.length - 1] = { ...last, input: last.input + delta.delta }
  else if (delta.type === 'text' || delta.type === 'reasoning')
    if (last?.type === delta.type) parts[parts.length - 1] = { ...last, text: last.text + delta.delta }
    else parts.push({ type: delta.type, text: delta.delta })
}
