// box.math(): numbers that a model had better not guess.

import type { Tool } from '../../tools/tool.ts'
import { add } from './add.ts'
import { divide } from './divide.ts'
import { multiply } from './multiply.ts'
import { subtract } from './subtract.ts'

export const math = (): Tool[] => [add, subtract, multiply, divide]
