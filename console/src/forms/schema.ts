// The part of JSON Schema that forms understand, and the checks of a value before it is sent. The server checks it
// again, with the tool's own schema.

export interface Schema {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const texts = ['type', 'title', 'description'] as const
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'] as const

/** A schema may come from a hostile server: a keyword of another type than it should have is left out. */
export function readSchema(given: unknown): Schema {
  if (!isRecord(given)) return {}
  const { properties, required, enum: values } = given
  const known = [
    ...texts.filter((name) => typeof given[name] === 'string'),
    ...numbers.filter((name) => typeof given[name] === 'number'),
    ...(given.default === undefined ? [] : ['default']),
  ]
  return {
    ...Object.fromEntries(known.map((name) => [name, given[name]])),
    ...(Array.isArray(values) ? { enum: [...new Set(values)] } : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => typeof name === 'string') } : {}),
    ...(isRecord(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, readSchema(each)])) }
      : {}),
  }
}

export type FieldKind = 'choice' | 'text' | 'number' | 'boolean' | 'group' | 'json'

/** How a field is edited. What the form does not know is edited as JSON. */
export function fieldKind({ type, properties, enum: values }: Schema): FieldKind {
  if (values && values.every((value) => typeof value === 'string' || typeof value === 'number')) return 'choice'
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'boolean') return 'boolean'
  if (type === 'object' && properties && Object.keys(properties).length > 0) return 'group'
  return 'json'
}

/** Problems by the path of their field. */
export type Problems = ReadonlyMap<string, string>

/** The path of a field inside: a JSON pointer, such as `/to/country`. The whole value has the path ''. */
export const pathOf = (path: string, name: string): string =>
  `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

export function problemsOf(schema: Schema, value: unknown): Problems {
  const problems = new Map<string, string>()
  check(schema, value, '', problems)
  return problems
}

function check(schema: Schema, value: unknown, path: string, problems: Map<string, string>): void {
  switch (fieldKind(schema)) {
    case 'group':
      if (!isRecord(value)) return void problems.set(path, 'It must be an object.')
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        const inside = pathOf(path, name)
        if (Object.hasOwn(value, name)) check(field, value[name], inside, problems)
        else if (schema.required?.includes(name)) problems.set(inside, 'It is required.')
      }
      return
    case 'number':
      return report(numberProblem(schema, value))
    case 'text':
      return report(textProblem(schema, value))
    case 'choice':
      return report(schema.enum?.includes(value) ? null : 'Choose one of the values.')
    case 'boolean':
      return report(typeof value === 'boolean' ? null : 'It must be true or false.')
    default:
  }
  function report(problem: string | null): void {
    if (problem !== null) problems.set(path, problem)
  }
}

/** The largest bounds say only that a number is safe. */
const isShown = (bound: number): boolean => Math.abs(bound) < Number.MAX_SAFE_INTEGER

function numberProblem(schema: Schema, value: unknown): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'It must be a number.'
  if (schema.type === 'integer' && !Number.isInteger(value)) return 'It must be a whole number.'
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema
  if (minimum !== undefined && value < minimum) return `It must be at least ${minimum}.`
  if (above !== undefined && value <= above) return `It must be more than ${above}.`
  if (maximum !== undefined && isShown(maximum) && value > maximum) return `It must be at most ${maximum}.`
  return below !== undefined && value >= below ? `It must be less than ${below}.` : null
}

function textProblem({ minLength = 0, maxLength = Infinity }: Schema, value: unknown): string | null {
  if (typeof value !== 'string') return 'It must be a text.'
  const { length } = Array.from(value)
  if (length < minLength)
    return minLength === 1 ? 'It must not be empty.' : `It needs at least ${minLength} characters.`
  return length > maxLength ? `It must have at most ${maxLength} characters.` : null
}

/** The first values of a form. */
export const initialValue = (given: unknown): unknown => firstValue(readSchema(given))

function firstValue(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.type !== 'object') return undefined
  const fields = Object.entries(schema.properties ?? {})
  return Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const value = schema.required?.includes(name) && field.type === 'boolean' ? false : firstValue(field)
      return value === undefined || (isRecord(value) && !schema.required?.includes(name)) ? [] : [[name, value]]
    }),
  )
}

/** A copy with the field set; undefined removes it. */
export function withField(value: unknown, name: string, field: unknown): Readonly<Record<string, unknown>> {
  const { [name]: _, ...rest } = isRecord(value) ? value : {}
  if (field === undefined) return rest
  // The order of the fields stays.
  return isRecord(value) && Object.hasOwn(value, name) ? { ...value, [name]: field } : { ...rest, [name]: field }
}

export const fieldOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
