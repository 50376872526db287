// The docs page: every operation with its method, path and fields, made from the route table.

import { errorTable } from '../../core/errors.ts'
import { endpoints, type OperationName } from '../endpoints.ts'
import { type Html, markup } from '../export/escape-html.ts'
import type { Route } from '../routes/route.ts'
import { routes } from '../routes/routes.ts'
import { htmlPage } from './page.ts'

const code = (text: string): Html => markup`<code>${text}</code>`

export function docsPage(): Response {
  const groups = Map.groupBy(Object.entries(endpoints), ([name]) => name.split('.')[0] as string)
  const sections = [...groups].map(([group, operations]) => {
    const rows = operations.map(([name, endpoint]) => {
      const { summary, needs }: Route = routes[name as OperationName]
      return markup`<tr><td>${code(endpoint)}</td>
<td>${summary} <span class="soft">${code(name)}, ${needs}</span></td></tr>`
    })
    return markup`<h2>${group}</h2><table>${rows}</table>`
  })
  const errors = Object.entries(errorTable).map(
    ([name, { http, summary }]) => markup`<tr><td>${code(name)}</td><td>${http}</td><td>${summary}</td></tr>`,
  )
  return htmlPage(
    'Pawl API',
    markup`<h1>Pawl API</h1>
<p>Send <code>Authorization: Bearer &lt;token&gt;</code> and JSON. The whole description is in
<a href="openapi.json">openapi.json</a>. The last word of each row is the right that the token needs.</p>
${sections}
<h2>Errors</h2><p>Errors are <code>application/problem+json</code> with one of these codes.</p><table>${errors}</table>`,
  )
}
