// Collects a session or one call into a bundle in memory, for the HTML page.

import type { Runtime } from '../../index.ts'
import {
  type ExportBundle,
  type ExportHeader,
  exportKinds,
  type ExportKind,
  type ExportLimits,
  type ExportObjects,
  type ExportRequest,
} from './export-bundle.ts'
import { readExport } from './read-export.ts'

/** A page with more is slow to open; the JSONL export has no limit. */
export const defaultLimits: ExportLimits = {
  message: 5_000,
  call: 5_000,
  task: 1_000,
  schedule: 1_000,
  inbox: 1_000,
  event: 50_000,
  characters: 64_000_000,
}

/** Null if the request names a call that the session does not have. */
export async function collectExport(runtime: Runtime, request: ExportRequest): Promise<ExportBundle | null> {
  const limits = { ...defaultLimits, ...request.limits }
  const parts = await readExport(runtime, { ...request, limits })
  if (!parts) return null
  const found = Object.fromEntries(exportKinds.map((kind) => [kind, []])) as unknown as {
    [K in ExportKind]: ExportObjects[K][]
  }
  let header: ExportHeader | undefined
  let omitted: ExportBundle['omitted'] | undefined
  for await (const part of parts) {
    if (part.kind === 'header') header = part.data
    else if (part.kind === 'end') ({ omitted } = part.data)
    else (found[part.kind] as unknown[]).push(part.data)
  }
  return {
    ...(header as ExportHeader),
    messages: found.message,
    calls: found.call,
    tasks: found.task,
    schedules: found.schedule,
    inbox: found.inbox,
    events: found.event,
    omitted: omitted as ExportBundle['omitted'],
  }
}
