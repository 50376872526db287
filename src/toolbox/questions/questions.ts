// toolbox.questions(): the model asks the person it works for with ask_user.

import type { Tool } from '../../tools/tool.ts'
import { askUser } from './ask-user.ts'

export const questionTools = (): Tool[] => [askUser]
