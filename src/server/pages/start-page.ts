// The start page: what waits for the person who is logged in, with a link to decide each item.

import { PawlError } from '../../core/errors.ts'
import type { Runtime } from '../../index.ts'
import type { Caller } from '../permissions.ts'
import { type Html, markup } from '../export/escape-html.ts'
import { htmlPage } from './page.ts'

const maxItems = 100
/** A link decides without the login, so it must not work long after the login has ended. */
const linkExpiry = '1h'

const footer = (basePath: string): Html =>
  markup`<p class="soft"><a href="${basePath}/docs">API</a> · <a href="${basePath}/openapi.json">openapi.json</a></p>`

export const loginNeeded = (basePath: string): Response =>
  htmlPage(
    'Pawl',
    markup`<h1>Pawl is running.</h1>
<p>Open the login address that <code>pawl serve</code> prints at its start. Programs send a token:
<code>Authorization: Bearer …</code></p>${footer(basePath)}`,
  )

export async function startPage(runtime: Runtime, caller: Caller, basePath: string): Promise<Response> {
  const { tenant, principal: by, permissions } = caller
  const items = permissions.has('read') ? await runtime.inbox({ tenant, limit: maxItems }) : []
  const rows = await Promise.all(
    items.map(async (item) => {
      const link = permissions.has('decide') ? await signLink(runtime, { item: item.id, by, tenant }) : null
      const summary = item.preview.summary
      const title = link === null ? summary : markup`<a href="${basePath}/decide/${link}">${summary}</a>`
      return markup`<tr><td>${title}<br><span class="soft">${item.tool} in ${item.session}</span></td></tr>`
    }),
  )
  const list =
    rows.length === 0
      ? markup`<p>Nothing waits for a person. Items appear here when a tool asks.</p>`
      : markup`<table>${rows}</table>`
  return htmlPage('Pawl inbox', markup`<h1>Inbox</h1><p class="soft">You are ${by}.</p>${list}${footer(basePath)}`)
}

/** Null if the item was decided after it was listed. */
async function signLink(runtime: Runtime, about: { item: string; by: string; tenant: string }): Promise<string | null> {
  try {
    return await runtime.links.sign({ ...about, expiresIn: linkExpiry })
  } catch (error) {
    if (error instanceof PawlError && (error.code === 'item_decided' || error.code === 'item_unknown')) return null
    throw error
  }
}
