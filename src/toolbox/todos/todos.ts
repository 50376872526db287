// toolbox.todos(): the model keeps a to-do list that people can see.

import type { Tool } from '../../tools/tool.ts'
import { writeTodos } from './write-todos.ts'

export const todos = (): Tool[] => [writeTodos]
