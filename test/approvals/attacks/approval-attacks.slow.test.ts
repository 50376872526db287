// Every attack on approvals through the library on PostgreSQL.

import { describe } from 'vitest'
import { attackThroughLibrary } from './attack-through-library.ts'

describe('approval attacks through the library on postgres', () => attackThroughLibrary('postgres'))
