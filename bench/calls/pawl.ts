// Pawl as a subject: on memory, or on a fresh SQLite file in the bench folder.

import { join } from 'node:path'
import { createRuntime, tool } from '../../src/index.ts'
import { expectAll, input, inputText, many, noop, perSize, schema, sizes, type Subject } from './workload.ts'

interface PawlOptions {
  readonly name: string
  readonly store: 'memory' | 'sqlite'
  readonly commit?: 'power' | 'process'
  /** Pass the arguments as JSON text instead of an object. */
  readonly text?: boolean
}

let files = 0

export function pawl({ name, store, commit = 'power', text = false }: PawlOptions, dir: string): Subject {
  const calls = perSize((size) =>
    many(size, (index) => ({ id: `c${index}`, name: 'noop', input: text ? inputText : input })),
  )
  const work = tool({
    name: 'noop',
    description: 'Does nothing',
    input: schema,
    hints: { readOnly: true },
    execute: noop,
  })
  return {
    name,
    sizes,
    hasModel: false,
    async open() {
      const at = store === 'memory' ? 'memory:' : `sqlite:${join(dir, `calls-${files++}.db`)}`
      const runtime = await createRuntime({ store: at, tools: [work], commit })
      const session = runtime.session('bench')
      let batches = 0
      return {
        async batch(size) {
          const outcomes = await session.run(calls(size), { batch: `b${batches++}` })
          let done = 0
          for (const { status } of outcomes) if (status === 'success') done++
          expectAll(name, done, size)
        },
        close: () => runtime.close(),
      }
    },
  }
}
