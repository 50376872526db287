// Routes of files, values, secrets and attachments.

import { z } from 'zod'
import { changed, flag, inSession, json, limit, name, text, wholeNumber } from '../schemas/fields.ts'
import { filePage, fileStat, secretStat, valueEntry, valuePage, valueStat } from '../schemas/data.ts'
import { noJson, route } from './route.ts'

const path = text.min(1).max(4_096)
const hash = text.max(200)

export const data = {
  'files.list': route({
    needs: 'read',
    summary: 'Lists a directory, or the files that match a glob pattern.',
    input: z.strictObject({
      ...inSession,
      path: path.exactOptional(),
      glob: path.exactOptional(),
      after: path.exactOptional(),
      limit: limit().exactOptional(),
    }),
    output: filePage,
  }),
  'files.read': route({
    needs: 'read',
    kind: 'download',
    summary: 'Downloads a file. The ETag is its hash.',
    input: z.strictObject({ ...inSession, path }),
    output: noJson,
  }),
  'files.write': route({
    needs: 'call',
    kind: 'upload',
    summary: 'Writes a file. `If-Match: <hash>` replaces this version only; `If-None-Match: *` creates a new file.',
    input: z.strictObject({
      ...inSession,
      path,
      ifHash: hash.nullable().exactOptional(),
      mediaType: text.max(200).exactOptional(),
    }),
    output: fileStat,
  }),
  'files.remove': route({
    needs: 'call',
    summary: 'Removes a file or a directory.',
    input: z.strictObject({ ...inSession, path, recursive: flag.exactOptional(), ifHash: hash.exactOptional() }),
    output: changed,
  }),
  'values.list': route({
    needs: 'read',
    summary: 'Lists the keys of a session.',
    input: z.strictObject({
      ...inSession,
      prefix: text.max(512).exactOptional(),
      after: name.exactOptional(),
      limit: limit().exactOptional(),
    }),
    output: valuePage,
  }),
  'values.get': route({
    needs: 'read',
    summary: 'Reads a value.',
    input: z.strictObject({ ...inSession, key: name }),
    output: valueEntry,
  }),
  'values.set': route({
    needs: 'call',
    summary: 'Sets a value.',
    input: z.strictObject({
      ...inSession,
      key: name,
      value: json,
      ifRevision: wholeNumber(1).nullable().exactOptional(),
    }),
    output: valueStat,
  }),
  'values.delete': route({
    needs: 'call',
    summary: 'Deletes a value.',
    input: z.strictObject({ ...inSession, key: name, ifRevision: wholeNumber(1).exactOptional() }),
    output: changed,
  }),
  'secrets.list': route({
    needs: 'read',
    summary: 'Lists the names of the secrets of a session. No operation returns their values.',
    input: z.strictObject(inSession),
    output: z.array(secretStat),
  }),
  'secrets.set': route({
    needs: 'call',
    summary: 'Sets a secret that tool bodies of the session may read.',
    input: z.strictObject({
      ...inSession,
      name,
      value: z.string().min(1).max(65_536),
      tools: z.array(name).max(200).exactOptional(),
    }),
    output: secretStat,
  }),
  'secrets.delete': route({
    needs: 'call',
    summary: 'Deletes a secret.',
    input: z.strictObject({ ...inSession, name }),
    output: changed,
  }),
  'attachments.read': route({
    needs: 'read',
    kind: 'download',
    summary: 'Downloads the bytes of an attachment.',
    input: z.strictObject({ attachment: name }),
    output: noJson,
  }),
}
