// The workflow of the Workflow DevKit, whose compiler reads the directives.

declare global {
  var benchStep: (() => unknown) | undefined
}

async function step(): Promise<unknown> {
  'use step'
  return globalThis.benchStep?.()
}

export async function work(steps: number): Promise<unknown> {
  'use workflow'
  let last
  for (let index = 0; index < steps; index++) last = await step()
  return last
}
