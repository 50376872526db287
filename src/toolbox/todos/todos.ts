// box.todos(): a model that plans where people can see it.

import type { Tool } from '../../tools/tool.ts'
import { writeTodos } from './write-todos.ts'

export const todos = (): Tool[] => [writeTodos]
