// Type parser for the store's connections.

import type { Pg } from './load-pg.ts'

/** Parses int8 as a number: positions and instants stay below 2^53. */
export const bigintsAsNumbers = ({ types }: Pg): Pg['types']['getTypeParser'] =>
  ((oid: typeof types.builtins.INT8, format: 'text') =>
    oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser
