// The frame of the few pages that the server renders itself: plain HTML without scripts.

import { Html, markup } from '../export/escape-html.ts'
import { pagePolicy } from '../http/security-headers.ts'

const style = `
:root { color-scheme: light dark; --text: #1c1c1c; --soft: #666; --line: #ddd; --back: #fff; --card: #f6f6f4; --go: #17663a; --stop: #a3262a }
@media (prefers-color-scheme: dark) { :root { --text: #ececec; --soft: #a5a5a5; --line: #3a3a3a; --back: #161616; --card: #202020; --go: #2f8f57; --stop: #cf5258 } }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back) }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .5rem } h2 { font-size: 1rem; margin: 1.5rem 0 .4rem }
p { margin: .4rem 0 } .soft { color: var(--soft) }
pre, td, th { overflow-wrap: anywhere; white-space: pre-wrap }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .7rem; margin: .4rem 0; font-size: .9rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .35rem .5rem .35rem 0; border-bottom: 1px solid var(--line); font-size: .92rem }
th { font-weight: 600; white-space: nowrap; padding-right: 1rem }
code { font-size: .92em } form { margin-top: 1.2rem } label { display: block; margin-bottom: .3rem }
textarea, input, select { width: 100%; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: 6px; padding: .5rem }
button { font: inherit; font-weight: 600; border: 0; border-radius: 6px; padding: .6rem 1.4rem; margin: .8rem .6rem 0 0; color: #fff; background: var(--go); cursor: pointer }
button.stop { background: var(--stop) } :focus-visible { outline: 3px solid #4c8dff; outline-offset: 2px }
`

/** `body`: the content of the page, made with `markup`. */
export function htmlPage(title: string, body: Html, status = 200): Response {
  const page = markup`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${new Html(style)}</style></head>
<body><main>${body}</main></body>
</html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': pagePolicy(style),
    // With 'no-referrer' a browser posts a form with the origin `null`, which is refused.
    'referrer-policy': 'same-origin',
  }
  return new Response(page.text, { status, headers })
}
