// Every attack on approvals through HTTP on the memory store. The other stores are in the slow tier.

import { describe } from 'vitest'
import { attackOverHttp } from './attack-over-http.ts'

describe('approval attacks through HTTP on memory', () => attackOverHttp('memory'))
