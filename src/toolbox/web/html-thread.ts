// WEB, the thread: HTML to markdown or text. It is killed at its deadline: a page made for it keeps a converter busy for minutes.

import { parentPort, workerData } from 'node:worker_threads'
import { htmlToMarkdown, type MdreamOptions, withMinimalPreset } from '@mdream/js'
import type { Converted, ToConvert } from './convert-html.ts'

/** Shorter than this, the part of the page that was taken for its content may be the wrong one. */
const little = 250
/** Without those that change links, and `redundantLinks`, which takes the square of the length of the page. */
const clean = { emptyLinks: true, blankLines: true, selfLinkHeadings: true, emptyImages: true, emptyLinkText: true }

function convert({ html, base, format, mostOutput }: ToConvert): Converted {
  const options = (isolateMain: boolean): MdreamOptions =>
    withMinimalPreset({
      format,
      clean,
      plugins: { frontmatter: false, tailwind: false, isolateMain },
      hooks: [links(base)],
    })
  const main = htmlToMarkdown(html, options(true)).trim()
  const text = main.length >= little ? main : longer(main, htmlToMarkdown(html, options(false)).trim())
  const title = /<title[^>]{0,200}>([^<]{1,1000})/i.exec(html.slice(0, 100_000))?.[1]
  const plain =
    title === undefined ? '' : htmlToMarkdown(`<p>${title}</p>`, { format: 'text' }).replaceAll(/\s+/g, ' ').trim()
  // The head of a page is shown where no part of it was chosen.
  const shown = plain !== '' && text.startsWith(`${plain}\n`) ? text.slice(plain.length).trimStart() : text
  return {
    text: shown.slice(0, mostOutput).toWellFormed(),
    title: plain.slice(0, 300).toWellFormed(),
    cut: shown.length > mostOutput,
  }
}

const longer = (one: string, other: string): string => (other.length > one.length ? other : one)

/** Links that can be followed, in full; others are taken out: scripts, and images that are written out in the page. */
function links(base: string): NonNullable<MdreamOptions['hooks']>[number] {
  let from = base
  const absolute = (attributes: Record<string, string>, name: 'href' | 'src'): void => {
    const given = attributes[name]
    if (given === undefined) return
    const url = given.length <= 4_096 ? URL.parse(given, from) : null
    if (url && ['http:', 'https:', 'mailto:'].includes(url.protocol)) attributes[name] = url.href
    else {
      delete attributes[name]
      delete attributes.alt // what has nothing to show is left out
    }
  }
  return {
    processAttributes({ name, attributes }) {
      if (name === 'base' && attributes.href !== undefined) from = URL.parse(attributes.href, base)?.href ?? base
      else if (name === 'a') absolute(attributes, 'href')
      else if (name === 'img') absolute(attributes, 'src')
    },
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(convert(workerData as ToConvert))
