// toolbox.questions(): with ask_user, the model puts questions to the person it works for.

import type { Tool } from '../../tools/tool.ts'
import { askUser } from './ask-user.ts'

export const questionTools = (): Tool[] => [askUser]
