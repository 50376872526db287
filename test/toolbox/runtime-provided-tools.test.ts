// Tools that capabilities and the runtime provide follow the same conventions as the toolbox.

import { toolbox } from 'pawl/toolbox'
import { expect, test } from 'vitest'
import { readOutputTool } from '../../src/index.ts'
import { taskTools } from '../../src/tasks/task-tools.ts'
import { toolSearchTool } from '../../src/tools/tool-search.ts'
import { hasForm } from './tool-conventions.ts'

for (const each of [...taskTools, toolSearchTool]) hasForm(each, { grows: true })
for (const each of toolbox.outputs()) hasForm(each)

test('BOX-1: toolbox.outputs() contains read_output', () => {
  expect(toolbox.outputs().map(({ name }) => name)).toEqual([readOutputTool().name])
})
