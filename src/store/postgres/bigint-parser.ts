// Type parser for the store's connections.

import pg from 'pg'

/** Parses int8 as a number: positions and instants stay below 2^53. */
export const bigintsAsNumbers = ((oid: typeof pg.types.builtins.INT8, format: 'text') =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser
