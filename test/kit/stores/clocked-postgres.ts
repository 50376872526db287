// A database whose clock a test moves. PostgreSQL uses its own clock_timestamp() for leases, and functions belong to
// one database, so only this database is changed. The replaced function reads a row; every store call first sets that
// row to the clock that the store was opened with.

import pg from 'pg'
import type { Clock } from '../../../src/core/clock.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Connection } from './postgres-server.ts'

const replaceClock = `
  CREATE TABLE public.clock (ms double precision NOT NULL);
  INSERT INTO public.clock VALUES (0);
  ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO real_clock_timestamp;
  CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT 'epoch'::timestamptz + ms * interval '1 millisecond' FROM public.clock $$`

export interface ClockedDatabase {
  readonly connection: Connection
  /** Wraps a store so that its server uses this clock. */
  under(store: Store, clock: Clock): Store
  close(): Promise<void>
}

export async function clockedDatabase(server: Connection): Promise<ClockedDatabase> {
  const connection = { ...server, database: 'clocked' }
  const admin = new pg.Client(server)
  await admin.connect()
  await admin.query(`CREATE DATABASE ${connection.database}`)
  await admin.end()
  const hand = new pg.Client(connection)
  await hand.connect()
  await hand.query(replaceClock)
  const set = (clock: Clock): Promise<unknown> => hand.query('UPDATE public.clock SET ms = $1', [clock.monotonic()])
  return {
    connection,
    under(store, clock) {
      const asked =
        (method: (...args: never[]) => unknown) =>
        async (...args: never[]) => {
          await set(clock)
          return method(...args)
        }
      const { claim, commit, renew, leave } = store
      return {
        ...store,
        claim: asked(claim) as never,
        commit: asked(commit) as never,
        renew: asked(renew) as never,
        leave: asked(leave) as never,
      }
    },
    close: () => hand.end(),
  }
}
