// Operations of files, values, secrets and attachments.

import { decode } from '../../core/tool-value.ts'
import type { Attachment } from '../../index.ts'
import type { Input } from '../routes/routes.ts'
import { type Download, found, type Operation, type OperationContext, sessionOf, without } from './context.ts'

const listFiles: Operation<'files.list'> = (context, input) => {
  const { files } = sessionOf(context, input)
  const { path, glob, ...page } = without(input, 'session')
  return glob === undefined ? files.list(path, page) : files.glob(glob, page)
}

async function readFile(context: OperationContext, input: Input<'files.read'>): Promise<Download> {
  const { stat, bytes } = await sessionOf(context, input).files.read(input.path)
  const etag = stat.hash === null ? {} : { etag: stat.hash }
  return { mediaType: stat.mediaType ?? 'application/octet-stream', name: stat.name, ...etag, body: bytes }
}

const writeFile: Operation<'files.write'> = (context, input) => {
  const { path, body, ...options } = without(input as Input<'files.write'> & { body: Uint8Array }, 'session')
  return sessionOf(context, input).files.write(path, body, options)
}

const removeFile: Operation<'files.remove'> = async (context, input) => ({
  changed: await sessionOf(context, input).files.remove(input.path, without(input, 'session', 'path')),
})

const listValues: Operation<'values.list'> = (context, input) =>
  sessionOf(context, input).values.list(without(input, 'session'))

const getValue: Operation<'values.get'> = async (context, input) =>
  found(await sessionOf(context, input).values.get(input.key), 'value')

const setValue: Operation<'values.set'> = (context, input) => {
  const { key, value, ...options } = without(input, 'session')
  return sessionOf(context, input).values.set(key, value, options)
}

const deleteValue: Operation<'values.delete'> = async (context, input) => ({
  changed: await sessionOf(context, input).values.delete(input.key, without(input, 'session', 'key')),
})

const listSecrets: Operation<'secrets.list'> = async (context, input) => [
  ...(await sessionOf(context, input).secrets.list()),
]

const setSecret: Operation<'secrets.set'> = (context, input) => {
  const { name, value, ...options } = without(input, 'session')
  return sessionOf(context, input).secrets.set(name, value, options)
}

const deleteSecret: Operation<'secrets.delete'> = async (context, input) => ({
  changed: await sessionOf(context, input).secrets.delete(input.name),
})

/** The type of the bytes is in the reference that the client has. Here they are only bytes, which no browser runs. */
async function readAttachment(context: OperationContext, input: Input<'attachments.read'>): Promise<Download> {
  const ref = { id: input.attachment, mediaType: 'application/octet-stream', bytes: 0 }
  const attachment = decode(JSON.stringify({ $pawl: 'attachment', ref })) as unknown as Attachment
  const { attachments } = sessionOf(context, { session: 'pawl-attachments' })
  return { mediaType: ref.mediaType, name: 'attachment', body: await attachments.read(attachment) }
}

export const data = {
  'files.list': listFiles,
  'files.read': readFile,
  'files.write': writeFile,
  'files.remove': removeFile,
  'values.list': listValues,
  'values.get': getValue,
  'values.set': setValue,
  'values.delete': deleteValue,
  'secrets.list': listSecrets,
  'secrets.set': setSecret,
  'secrets.delete': deleteSecret,
  'attachments.read': readAttachment,
}
