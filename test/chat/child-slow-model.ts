// Preloaded into the server of the packed chat example, which stays as pasted: its scripted model answers word by word,
// so that kills hit answers in the middle, and prints how far it is.

import { registerHooks } from 'node:module'
import { type Line, type ScriptedModel, scriptedModel as realModel } from 'pawl/testing'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'pawl/testing' && context.parentURL !== import.meta.url
      ? { url: import.meta.url, shortCircuit: true }
      : next(specifier, context),
})

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export function scriptedModel(lines: readonly Line[]): ScriptedModel {
  const model = realModel(lines)
  return {
    ...model,
    async generate(call) {
      console.log('asked')
      const words: string[] = []
      const answer = await model.generate({
        ...call,
        told: (delta) => void (delta.type === 'text' && words.push(...delta.delta.split(/(?<= )/))),
      })
      await pause(700)
      for (const word of words) {
        call.told({ type: 'text', delta: word })
        console.log('said')
        await pause(150)
      }
      return answer
    },
  }
}
