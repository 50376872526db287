// Dumps a store as plain SQL, so that a golden journal is readable and can be committed.

import type { DatabaseSync } from 'node:sqlite'
import type { Client } from 'pg'

type Row = Record<string, string | number | null>

export function dumpSqlite(db: DatabaseSync): string {
  const all = (sql: string): Row[] => db.prepare(sql).all() as unknown as Row[]
  const lines: string[] = []
  for (const pragma of ['application_id', 'user_version'])
    lines.push(`PRAGMA ${pragma} = ${Number(Object.values(all(`PRAGMA ${pragma}`)[0] ?? {})[0])};`)
  const made = all(
    `SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, rowid`,
  )
  for (const { sql } of made) lines.push(`${String(sql)};`)
  for (const { name } of [...made.filter(({ type }) => type === 'table'), { name: 'sqlite_sequence' }]) {
    const columns = all(`PRAGMA table_info(${String(name)})`).map((column) => `"${String(column.name)}"`)
    const values = columns.map((column) => `quote(${column})`).join(` || ', ' || `)
    for (const { line } of all(`SELECT ${values} AS line FROM ${String(name)} ORDER BY 1`)) {
      // quote() truncates text at U+0000, so those characters are written separately.
      lines.push(`INSERT INTO ${String(name)} (${columns.join(', ')}) VALUES (${String(line)});`)
    }
  }
  const nul = made
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) =>
      all(`PRAGMA table_info(${String(name)})`).flatMap((column) =>
        all(
          `SELECT count(*) AS n FROM ${String(name)} WHERE typeof("${String(column.name)}") = 'text' AND instr("${String(column.name)}", char(0)) > 0`,
        )
          .filter(({ n }) => Number(n) > 0)
          .map(() => [String(name), String(column.name)] as const),
      ),
    )
  for (const [name, column] of nul) {
    for (const { value, pk } of all(
      `SELECT "${column}" AS value, uid AS pk FROM ${name} WHERE instr("${column}", char(0)) > 0`,
    )) {
      const text = String(value)
        .split('\0')
        .map((part) => `'${part.replaceAll("'", "''")}'`)
        .join(' || char(0) || ')
      lines.push(`UPDATE ${name} SET "${column}" = ${text} WHERE uid = '${String(pk)}';`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** Without the schema name: the dump is loaded into the current schema. */
export async function dumpPostgres(client: Client, schema: string): Promise<string> {
  await client.query(`SET search_path TO ${schema}`)
  const all = async (sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query(sql, values)).rows as Row[]
  const bare = (sql: unknown): string => String(sql).replaceAll(`${schema}.`, '')
  const lines: string[] = []
  const tables = await all(
    `SELECT oid, relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY relname`,
    [schema],
  )
  for (const { oid, relname } of tables) {
    const columns = await all(
      `SELECT quote_ident(attname) AS name, format_type(atttypid, atttypmod) AS type, attnotnull, pg_get_expr(adbin, adrelid) AS preset,
         (SELECT collname FROM pg_collation WHERE oid = attcollation AND collname <> 'default') AS collation
       FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      [oid],
    )
    const constraints = await all(
      `SELECT pg_get_constraintdef(oid) AS def FROM pg_constraint WHERE conrelid = $1 AND contype <> 'n' ORDER BY conname`,
      [oid],
    )
    const parts = columns.map(
      ({ name, type, attnotnull, preset, collation }) =>
        `${String(name)} ${String(type)}${collation ? ` COLLATE "${String(collation)}"` : ''}${attnotnull ? ' NOT NULL' : ''}${preset === null ? '' : ` DEFAULT ${String(preset)}`}`,
    )
    lines.push(
      `CREATE TABLE ${String(relname)} (${[...parts, ...constraints.map(({ def }) => String(def))].join(', ')});`,
    )
    const names = columns.map(({ name }) => String(name))
    const values = names.map((name) => `quote_nullable(${name})`).join(` || ', ' || `)
    for (const { line } of await all(`SELECT ${values} AS line FROM ${String(relname)} ORDER BY 1`)) {
      lines.push(`INSERT INTO ${String(relname)} VALUES (${String(line)});`)
    }
  }
  const indexes = await all(
    `SELECT pg_get_indexdef(indexrelid) AS def FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE relnamespace = $1::regnamespace
       AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) ORDER BY relname`,
    [schema],
  )
  for (const { def } of indexes) lines.push(`${bare(def)};`)
  const functions = await all(
    `SELECT pg_get_functiondef(oid) AS def FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY proname`,
    [schema],
  )
  for (const { def } of functions) lines.push(`${bare(def)};`)
  return `${lines.join('\n')}\n`
}
