// The resources and prompts of all servers of the gateway as one source. Each request goes to the server that owns the
// uri or the prompt; its answer or its error is the answer, and no other server is asked: a server must not be able to
// answer for what another one refused.

import type { ContentSource, McpPrompt, McpResource, McpResourceTemplate } from '../content-source.ts'

/** A server with the prefix of its names. */
export interface ContentOwner {
  readonly name: string
  readonly prefix: string
  readonly content: ContentSource
}

/** One server must not fill the lists of all. */
const maxListed = 10_000
const maxTemplateLength = 2_000

export function combineContent(owners: readonly ContentOwner[], onProblem: (problem: string) => void): ContentSource {
  return new CombinedContent(owners, onProblem)
}

class CombinedContent implements ContentSource {
  readonly #owners: readonly ContentOwner[]
  readonly #onProblem: (problem: string) => void
  readonly #shownProblems = new Set<string>()
  #resources: ReadonlyMap<string, ContentOwner> | undefined
  #templates: readonly { readonly matches: (uri: string) => boolean; readonly owner: ContentOwner }[] | undefined
  #prompts: ReadonlyMap<string, { readonly name: string; readonly owner: ContentOwner }> | undefined

  constructor(owners: readonly ContentOwner[], onProblem: (problem: string) => void) {
    this.#owners = owners
    this.#onProblem = onProblem
  }

  async listResources(): Promise<readonly McpResource[]> {
    const byUri = new Map<string, ContentOwner>()
    const listed = await this.#listAll('resources', (content) => content.listResources())
    // The first server of the file owns a uri that two servers list.
    const resources = listed.filter(({ owner, item: { uri } }) => {
      if (byUri.has(uri)) return false
      byUri.set(uri, owner)
      return true
    })
    this.#resources = byUri
    return resources.map(({ item }) => item)
  }

  async listResourceTemplates(): Promise<readonly McpResourceTemplate[]> {
    const listed = await this.#listAll('resource templates', (content) => content.listResourceTemplates())
    const first = new Map(listed.toReversed().map((each) => [each.item.uriTemplate, each]))
    const templates = listed.filter((each) => first.get(each.item.uriTemplate) === each)
    // The template with the longest fixed beginning decides, so that `{+anything}` of one server takes nothing away.
    this.#templates = templates
      .toSorted((a, b) => fixedLength(b.item.uriTemplate) - fixedLength(a.item.uriTemplate))
      .map(({ owner, item }) => ({ owner, matches: templateMatcher(item.uriTemplate) }))
    return templates.map(({ item }) => item)
  }

  async readResource(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const owner = await this.#ownerOfResource(uri)
    if (!owner) throw new Error(`No server of the gateway has the resource '${uri.slice(0, 500)}'.`)
    return owner.content.readResource(uri, signal)
  }

  async listPrompts(): Promise<readonly McpPrompt[]> {
    const byName = new Map<string, { name: string; owner: ContentOwner }>()
    const listed = await this.#listAll('prompts', (content) => content.listPrompts())
    const prompts = listed.flatMap(({ owner, item }) => {
      const name = owner.prefix === '' ? item.name : `${owner.prefix}__${item.name}`
      if (byName.has(name)) return []
      byName.set(name, { name: item.name, owner })
      return [{ ...item, name }]
    })
    this.#prompts = byName
    return prompts
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (!this.#prompts?.has(name)) await this.listPrompts()
    const prompt = this.#prompts?.get(name)
    if (!prompt) throw new Error(`No server of the gateway has the prompt '${name.slice(0, 500)}'.`)
    return prompt.owner.content.getPrompt(prompt.name, args, signal)
  }

  onChange(listener: (what: 'resources' | 'prompts') => void): () => void {
    const stops = this.#owners.map(({ content }) =>
      content.onChange?.((what) => {
        if (what === 'prompts') this.#prompts = undefined
        else this.#resources = this.#templates = undefined
        listener(what)
      }),
    )
    return () => {
      for (const stop of stops) stop?.()
    }
  }

  async #ownerOfResource(uri: string): Promise<ContentOwner | undefined> {
    const known = this.#resources?.get(uri)
    if (known) return known
    // A server may have got the resource since the list was read.
    await this.listResources()
    const listed = this.#resources?.get(uri)
    if (listed) return listed
    if (!this.#templates) await this.listResourceTemplates()
    return this.#templates?.find(({ matches }) => matches(uri))?.owner
  }

  /** The items of all servers, in the order of the file. A server that fails is left out and reported once. */
  async #listAll<T>(
    what: string,
    list: (content: ContentSource) => Promise<readonly T[]>,
  ): Promise<{ readonly owner: ContentOwner; readonly item: T }[]> {
    const lists = await Promise.all(
      this.#owners.map(async (owner) => {
        try {
          const items = await list(owner.content)
          this.#shownProblems.delete(`${owner.name} ${what}`)
          return items.slice(0, maxListed).map((item) => ({ owner, item }))
        } catch (error) {
          this.#report(owner.name, what, error)
          return []
        }
      }),
    )
    return lists.flat()
  }

  #report(name: string, what: string, error: unknown): void {
    const key = `${name} ${what}`
    if (this.#shownProblems.has(key)) return
    this.#shownProblems.add(key)
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 500)
    this.#onProblem(`Server '${name}': its ${what} cannot be listed, so they are left out: ${message}`)
  }
}

const fixedLength = (template: string): number => (template.split('{', 1)[0] as string).length

/**
 * Whether a uri has the fixed parts of a template, in order. The parts of a template come from a server, so no pattern
 * is built from them that could take long.
 */
function templateMatcher(template: string): (uri: string) => boolean {
  if (template.length > maxTemplateLength) return () => false
  const parts = template.split(/\{[^{}]*\}/)
  const [first = ''] = parts
  const last = parts.length > 1 ? (parts.at(-1) as string) : ''
  return (uri) => {
    if (parts.length === 1) return uri === first
    if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false
    let at = first.length
    for (const part of parts.slice(1, -1)) {
      const found = uri.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= uri.length - last.length
  }
}
