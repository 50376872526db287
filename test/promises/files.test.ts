// The files of a session keep their promises wherever they are kept. PostgreSQL: test/postgres/files.test.ts.

import { fileCases } from '../files/cases.ts'
import { keepings } from '../files/keeping.ts'

for (const [name, make] of Object.entries(keepings)) fileCases(`BOX-2, ${name}`, make)
