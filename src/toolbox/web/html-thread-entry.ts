// Entry point of the thread that converts HTML to Markdown or text for convert-html.ts. It is killed at a deadline: a
// hostile page can keep the converter busy for minutes.

import { parentPort, workerData } from 'node:worker_threads'
import { htmlToMarkdown, type MdreamOptions, withMinimalPreset } from '@mdream/js'
import type { Converted, ConvertRequest } from './convert-html.ts'

/** If the detected main content is shorter than this, it may be the wrong part of the page. */
const minMainLength = 250
/** Without the options that change links, and without `redundantLinks`, which is quadratic in the page length. */
const clean = { emptyLinks: true, blankLines: true, selfLinkHeadings: true, emptyImages: true, emptyLinkText: true }

function convert({ html, base, format, mostOutput }: ConvertRequest): Converted {
  const options = (isolateMain: boolean): MdreamOptions =>
    withMinimalPreset({
      format,
      clean,
      plugins: { frontmatter: false, tailwind: false, isolateMain },
      hooks: [absoluteLinks(base)],
    })
  const main = htmlToMarkdown(html, options(true)).trim()
  const text = main.length >= minMainLength ? main : longer(main, htmlToMarkdown(html, options(false)).trim())
  const title = /<title[^>]{0,200}>([^<]{1,1000})/i.exec(html.slice(0, 100_000))?.[1]
  const plainTitle =
    title === undefined ? '' : htmlToMarkdown(`<p>${title}</p>`, { format: 'text' }).replaceAll(/\s+/g, ' ').trim()
  // Without a main part the converter repeats the page title at the top.
  const shown =
    plainTitle !== '' && text.startsWith(`${plainTitle}\n`) ? text.slice(plainTitle.length).trimStart() : text
  return {
    text: shown.slice(0, mostOutput).toWellFormed(),
    title: plainTitle.slice(0, 300).toWellFormed(),
    cut: shown.length > mostOutput,
  }
}

const longer = (one: string, other: string): string => (other.length > one.length ? other : one)

/** Makes links absolute. Links that cannot be followed (scripts, inline data images) are removed. */
function absoluteLinks(base: string): NonNullable<MdreamOptions['hooks']>[number] {
  let from = base
  const absolute = (attributes: Record<string, string>, name: 'href' | 'src'): void => {
    const given = attributes[name]
    if (given === undefined) return
    const url = given.length <= 4_096 ? URL.parse(given, from) : null
    if (url && ['http:', 'https:', 'mailto:'].includes(url.protocol)) attributes[name] = url.href
    else {
      delete attributes[name]
      delete attributes.alt // an image without a source is dropped
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
parentPort?.postMessage(convert(workerData as ConvertRequest))
