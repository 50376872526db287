// Where a reference points. Everything stays inside the schema: a base URI is a name here, and nothing is ever fetched.

import type { Json } from '../../core/value.ts'
import { type Draft, escaped, inner, isObject, maxSchemaNodes, type Refuse } from './check-schema.ts'
import type { JsonSchema } from '../validation-problem.ts'
import type { Resource } from './validation-run.ts'

/** The base of a schema without an `$id`; .invalid is a name that can never be anyone's. */
const nowhere = 'https://schema.invalid/'

export interface Target {
  readonly schema: Json
  readonly resource: Resource
}

/** Every schema object of the document, with its place and the resource it belongs to. */
export class References {
  readonly #draft: Draft
  readonly #refuse: Refuse
  readonly #resources = new Map<string, Resource>()
  readonly #known = new Map<JsonSchema, { readonly resource: Resource; readonly place: string }>()
  /** Some schema has a keyword that must know what was looked at. */
  unevaluated = false

  constructor(root: JsonSchema, draft: Draft, refuse: Refuse) {
    this.#draft = draft
    this.#refuse = refuse
    this.#index(root, '', undefined)
  }

  /** Those found by now, with their resources. */
  all(): [JsonSchema, Resource][] {
    return [...this.#known].map(([schema, { resource }]) => [schema, resource])
  }

  placeOf(schema: JsonSchema): string {
    return this.#known.get(schema)?.place ?? ''
  }

  resourceOf(schema: JsonSchema): Resource {
    return (this.#known.get(schema) as { resource: Resource }).resource
  }

  /** Every resource in which some schema has this $dynamicAnchor. */
  withDynamicAnchor(name: string): Resource[] {
    return [...this.#resources.values()].filter((resource) => resource.dynamicAnchors.has(name))
  }

  /** The schema a `$ref` in this schema means; refused if that is none, or outside. */
  resolve(ref: string, from: JsonSchema): Target {
    const place = this.placeOf(from)
    const base = this.resourceOf(from)
    const [uri, fragment] = this.#split(ref, base.uri, place)
    const resource = this.#resources.get(uri)
    const shown = JSON.stringify(ref.slice(0, 200))
    if (!resource)
      return this.#refuse(place, `the reference ${shown} points outside the schema, and nothing is fetched`)
    const target =
      fragment === '' || fragment.startsWith('/')
        ? this.#pointed(resource, fragment)
        : this.#anchored(resource, fragment)
    if (!target) return this.#refuse(place, `the reference ${shown} points to nothing`)
    return target
  }

  #split(ref: string, base: string, place: string): [string, string] {
    try {
      if (ref.startsWith('#')) return [base, decodeURIComponent(ref.slice(1))]
      const url = new URL(ref, base)
      const fragment = decodeURIComponent(url.hash.slice(1))
      url.hash = ''
      return [url.href, fragment]
    } catch (cause) {
      return this.#refuse(place, `${JSON.stringify(ref.slice(0, 200))} is not a reference`, cause)
    }
  }

  #anchored(resource: Resource, name: string): Target | undefined {
    const schema = resource.anchors.get(name)
    return schema === undefined ? undefined : { schema, resource }
  }

  /** A JSON pointer, through own keys only. It may lead to a place that is no schema by itself (`#/components/…`). */
  #pointed(resource: Resource, pointer: string): Target | undefined {
    let here: Json = resource.root
    let within = resource
    for (const part of pointer.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined
      here = (here as JsonSchema)[key] as Json
      within = (isObject(here) && this.#known.get(here)?.resource) || within
    }
    if (typeof here !== 'boolean' && !isObject(here)) return undefined
    if (isObject(here) && !this.#known.has(here)) this.#index(here, pointer, within)
    return { schema: here, resource: within }
  }

  #index(schema: JsonSchema, place: string, above: Resource | undefined): void {
    if (this.#known.has(schema)) return
    if (this.#known.size >= maxSchemaNodes) this.#refuse('', `it holds more than ${maxSchemaNodes} schemas`)
    const subschemas = inner(schema, place, this.#draft, this.#refuse)
    const resource = this.#resourceFor(schema, place, above)
    this.#known.set(schema, { resource, place })
    if (this.#draft !== '7') {
      if (typeof schema.$anchor === 'string') this.#anchor(schema.$anchor, schema, resource, place)
      if (typeof schema.$dynamicAnchor === 'string') {
        this.#anchor(schema.$dynamicAnchor, schema, resource, place)
        resource.dynamicAnchors.add(schema.$dynamicAnchor)
      }
      this.unevaluated ||= schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
    }
    for (const [sub, at] of subschemas) if (isObject(sub)) this.#index(sub, at, resource)
  }

  /** An `$id` begins a resource of its own. In draft-07 it may also be an anchor, and beside a `$ref` it is nothing. */
  #resourceFor(schema: JsonSchema, place: string, above: Resource | undefined): Resource {
    const id = this.#draft === '7' && schema.$ref !== undefined ? undefined : (schema.$id as string | undefined)
    if (above && (id === undefined || (this.#draft === '7' && id.startsWith('#')))) {
      if (id !== undefined && id.length > 1) this.#anchor(id.slice(1), schema, above, place)
      return above
    }
    const [uri, fragment] = this.#split(id ?? '', above?.uri ?? nowhere, place)
    if (fragment !== '' && this.#draft !== '7') this.#refuse(`${place}/$id`, 'an $id has no fragment; use $anchor')
    if (this.#resources.has(uri)) this.#refuse(`${place}/$id`, `the $id ${JSON.stringify(id)} is there twice`)
    const resource: Resource = { uri, root: schema, anchors: new Map(), dynamicAnchors: new Set() }
    this.#resources.set(uri, resource)
    if (fragment !== '') this.#anchor(fragment, schema, resource, place)
    return resource
  }

  #anchor(name: string, schema: JsonSchema, resource: Resource, place: string): void {
    if (!/^[A-Za-z_][\w.-]*$/.test(name))
      this.#refuse(place, `${JSON.stringify(name.slice(0, 60))} is not a name for an anchor`)
    if (resource.anchors.has(name) && resource.anchors.get(name) !== schema) {
      this.#refuse(place, `the anchor ${JSON.stringify(escaped(name))} is there twice`)
    }
    resource.anchors.set(name, schema)
  }
}
