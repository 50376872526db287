// Indexes the schemas of a document and resolves references. A base URI is only a name: nothing is ever fetched.

import type { Json } from '../../core/tool-value.ts'
import { type Draft, escapePointer, subschemasOf, maxSchemaNodes, type Refuse } from './check-schema.ts'
import type { JsonSchema } from '../validation-problem.ts'
import { isObject, type Resource } from './validation-state.ts'

/** The base URI of a schema without an `$id`. The .invalid domain can never exist. */
const defaultBase = 'https://schema.invalid/'

export interface Target {
  readonly schema: Json
  readonly resource: Resource
}

/** All schema objects of the document, with their JSON pointers and resources. */
export class References {
  readonly #draft: Draft
  readonly #refuse: Refuse
  readonly #resources = new Map<string, Resource>()
  readonly #schemas = new Map<JsonSchema, { readonly resource: Resource; readonly place: string }>()
  /** Some schema has an unevaluated* keyword, so evaluated keys and items must be tracked. */
  unevaluated = false

  constructor(root: JsonSchema, draft: Draft, refuse: Refuse) {
    this.#draft = draft
    this.#refuse = refuse
    this.#index(root, '', undefined)
  }

  /** All schemas found so far, with their resources. */
  all(): [JsonSchema, Resource][] {
    return [...this.#schemas].map(([schema, { resource }]) => [schema, resource])
  }

  pointerOf(schema: JsonSchema): string {
    return this.#schemas.get(schema)?.place ?? ''
  }

  resourceOf(schema: JsonSchema): Resource {
    return (this.#schemas.get(schema) as { resource: Resource }).resource
  }

  /** The resources that contain this $dynamicAnchor. */
  withDynamicAnchor(name: string): Resource[] {
    return [...this.#resources.values()].filter((resource) => resource.dynamicAnchors.has(name))
  }

  /** Resolves a `$ref` of this schema. Refuses it if it points to nothing or outside the document. */
  resolve(ref: string, from: JsonSchema): Target {
    const place = this.pointerOf(from)
    const base = this.resourceOf(from)
    const [uri, fragment] = this.#split(ref, base.uri, place)
    const resource = this.#resources.get(uri)
    const shown = JSON.stringify(ref.slice(0, 200))
    if (!resource)
      return this.#refuse(place, `the reference ${shown} points outside the schema, and nothing is fetched`)
    const target =
      fragment === '' || fragment.startsWith('/')
        ? this.#byPointer(resource, fragment)
        : this.#byAnchor(resource, fragment)
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

  #byAnchor(resource: Resource, name: string): Target | undefined {
    const schema = resource.anchors.get(name)
    return schema === undefined ? undefined : { schema, resource }
  }

  /** Follows a JSON pointer through own keys. It may lead to a schema outside the known keywords (`#/components/…`). */
  #byPointer(resource: Resource, pointer: string): Target | undefined {
    let node: Json = resource.root
    let nodeResource = resource
    for (const part of pointer.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
      node = (node as JsonSchema)[key] as Json
      nodeResource = (isObject(node) && this.#schemas.get(node)?.resource) || nodeResource
    }
    if (typeof node !== 'boolean' && !isObject(node)) return undefined
    if (isObject(node) && !this.#schemas.has(node)) this.#index(node, pointer, nodeResource)
    return { schema: node, resource: nodeResource }
  }

  #index(schema: JsonSchema, place: string, parent: Resource | undefined): void {
    if (this.#schemas.has(schema)) return
    if (this.#schemas.size >= maxSchemaNodes) this.#refuse('', `it holds more than ${maxSchemaNodes} schemas`)
    const subschemas = subschemasOf(schema, place, this.#draft, this.#refuse)
    const resource = this.#resourceFor(schema, place, parent)
    this.#schemas.set(schema, { resource, place })
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

  /** An `$id` starts a new resource. In draft-07 it may also be an anchor, and next to a `$ref` it is ignored. */
  #resourceFor(schema: JsonSchema, place: string, parent: Resource | undefined): Resource {
    const id = this.#draft === '7' && schema.$ref !== undefined ? undefined : (schema.$id as string | undefined)
    if (parent && (id === undefined || (this.#draft === '7' && id.startsWith('#')))) {
      if (id !== undefined && id.length > 1) this.#anchor(id.slice(1), schema, parent, place)
      return parent
    }
    const [uri, fragment] = this.#split(id ?? '', parent?.uri ?? defaultBase, place)
    if (fragment !== '' && this.#draft !== '7')
      this.#refuse(`${place}/$id`, 'an $id must not have a fragment; use $anchor')
    if (this.#resources.has(uri)) this.#refuse(`${place}/$id`, `the $id ${JSON.stringify(id)} is used twice`)
    const resource: Resource = { uri, root: schema, anchors: new Map(), dynamicAnchors: new Set() }
    this.#resources.set(uri, resource)
    if (fragment !== '') this.#anchor(fragment, schema, resource, place)
    return resource
  }

  #anchor(name: string, schema: JsonSchema, resource: Resource, place: string): void {
    if (!/^[A-Za-z_][\w.-]*$/.test(name))
      this.#refuse(place, `${JSON.stringify(name.slice(0, 60))} is not a valid anchor name`)
    if (resource.anchors.has(name) && resource.anchors.get(name) !== schema) {
      this.#refuse(place, `the anchor ${JSON.stringify(escapePointer(name))} is used twice`)
    }
    resource.anchors.set(name, schema)
  }
}
