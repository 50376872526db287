// Every attack on approvals through HTTP on SQLite and PostgreSQL.

import { describe } from 'vitest'
import { attackOverHttp } from './attack-over-http.ts'

describe.each(['sqlite', 'postgres'] as const)('approval attacks through HTTP on %s', attackOverHttp)
