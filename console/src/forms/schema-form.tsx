// A form for a value of a JSON Schema: fields where the form understands the schema, JSON for the rest or for all.

import { type ReactNode, useId, useState } from 'react'
import { shown } from '../ui/shown.ts'
import { fieldKind, fieldOf, type Problems, type Schema, withField } from './schema.ts'

interface SchemaFormProps {
  readonly schema: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly problems: Problems
  /** A text that is no JSON is being typed; the value is the last one that was. */
  readonly onUnreadable: (path: string, isUnreadable: boolean) => void
}

export function SchemaForm(props: SchemaFormProps): ReactNode {
  const { schema, value, onChange, onUnreadable } = props
  const [asJson, setAsJson] = useState(fieldKind(schema) !== 'group')
  const canBeForm = fieldKind(schema) === 'group'
  return (
    <div>
      {canBeForm && (
        <div className="mb-3 flex justify-end">
          <button
            type="button"
            className="button button-small"
            aria-pressed={asJson}
            onClick={() => {
              onUnreadable('', false)
              setAsJson(!asJson)
            }}
          >
            Edit as JSON
          </button>
        </div>
      )}
      {asJson ? (
        <JsonField
          label="Arguments as JSON"
          value={value}
          isRequired
          onChange={onChange}
          onUnreadable={(is) => onUnreadable('', is)}
        />
      ) : (
        <Group {...props} path="" />
      )}
    </div>
  )
}

interface FieldProps extends SchemaFormProps {
  readonly path: string
}

function Group({ schema, value, onChange, path, problems, onUnreadable }: FieldProps): ReactNode {
  const known = Object.keys(schema.properties ?? {})
  return (
    <>
      {known.map((name) => (
        <Field
          key={name}
          name={name}
          isRequired={schema.required?.includes(name) ?? false}
          schema={schema.properties?.[name] ?? {}}
          value={fieldOf(value, name)}
          onChange={(field) => onChange(withField(value, name, field))}
          path={path === '' ? name : `${path}.${name}`}
          problems={problems}
          onUnreadable={onUnreadable}
        />
      ))}
    </>
  )
}

interface NamedFieldProps extends FieldProps {
  readonly name: string
  readonly isRequired: boolean
}

function Field(props: NamedFieldProps): ReactNode {
  const { name, schema, isRequired, path, problems } = props
  const id = useId()
  const kind = fieldKind(schema)
  const problem = problems.get(path)
  const label = `${shown(schema.title ?? name)}${isRequired ? '' : ' (optional)'}`
  if (kind === 'group')
    return (
      <fieldset className="mb-3 min-w-0 rounded-md border border-line p-3">
        <legend className="any px-1 font-medium">{label}</legend>
        <Group {...props} />
        {problem !== undefined && <p className="text-sm text-stop">{problem}</p>}
      </fieldset>
    )
  return (
    <div className="mb-3">
      {kind !== 'boolean' && (
        <label htmlFor={id} className="any mb-1 block font-medium">
          {label}
        </label>
      )}
      <Input {...props} id={id} label={label} describedBy={`${id}-note`} isInvalid={problem !== undefined} />
      <p id={`${id}-note`} className="any text-sm text-soft">
        {problem !== undefined && (
          <span role="alert" className="text-stop">
            {problem}{' '}
          </span>
        )}
        {schema.description !== undefined && shown(schema.description)}
      </p>
    </div>
  )
}

interface InputProps extends NamedFieldProps {
  readonly id: string
  readonly label: string
  readonly describedBy: string
  readonly isInvalid: boolean
}

const longText = 60

function Input(props: InputProps): ReactNode {
  const { schema, value, onChange, id, label, path, isRequired, describedBy, isInvalid, onUnreadable } = props
  const common = { id, 'aria-describedby': describedBy, 'aria-invalid': isInvalid, className: 'field' }
  const kind = fieldKind(schema)
  if (kind === 'boolean')
    return (
      <label className="any flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={value === true}
          aria-describedby={describedBy}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span className="any min-w-0">{label}</span>
      </label>
    )
  if (kind === 'choice')
    return (
      <select
        {...common}
        value={value === undefined ? '' : String((schema.enum ?? []).indexOf(value))}
        onChange={(event) =>
          onChange(event.target.value === '' ? undefined : schema.enum?.[Number(event.target.value)])
        }
      >
        <option value="">{isRequired ? 'Choose…' : 'Not set'}</option>
        {schema.enum?.map((each, index) => (
          <option key={String(each)} value={index}>
            {shown(String(each))}
          </option>
        ))}
      </select>
    )
  if (kind === 'number')
    return <NumberField {...common} value={value} onChange={onChange} onUnreadable={(is) => onUnreadable(path, is)} />
  if (kind === 'text') {
    const text = typeof value === 'string' ? value : ''
    const change = (next: string): void => onChange(next === '' && !isRequired ? undefined : next)
    return text.length > longText || text.includes('\n') ? (
      <textarea {...common} rows={5} value={text} onChange={(event) => change(event.target.value)} />
    ) : (
      <input {...common} type="text" value={text} onChange={(event) => change(event.target.value)} />
    )
  }
  return (
    <JsonField
      id={id}
      label={label}
      value={value}
      isRequired={isRequired}
      onChange={onChange}
      onUnreadable={(is) => onUnreadable(path, is)}
    />
  )
}

interface NumberFieldProps {
  readonly id: string
  readonly className: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly onUnreadable: (is: boolean) => void
}

/** Keeps the text that is being typed, such as `1.`. */
function NumberField({ value, onChange, onUnreadable, ...rest }: NumberFieldProps): ReactNode {
  const [text, setText] = useState(typeof value === 'number' ? String(value) : '')
  return (
    <input
      {...rest}
      type="text"
      inputMode="decimal"
      value={text}
      onChange={(event) => {
        const next = event.target.value
        const number = Number(next)
        const isNumber = next.trim() !== '' && Number.isFinite(number)
        setText(next)
        onUnreadable(next.trim() !== '' && !isNumber)
        onChange(isNumber ? number : undefined)
      }}
    />
  )
}

interface JsonFieldProps {
  readonly id?: string
  readonly label: string
  readonly value: unknown
  readonly isRequired: boolean
  readonly onChange: (value: unknown) => void
  readonly onUnreadable: (is: boolean) => void
}

export function JsonField({ id, label, value, isRequired, onChange, onUnreadable }: JsonFieldProps): ReactNode {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState<string | null>(null)
  const problemId = useId()
  function change(next: string): void {
    setText(next)
    const isEmpty = next.trim() === '' && !isRequired
    let found: string | null = null
    try {
      onChange(isEmpty ? undefined : JSON.parse(next))
    } catch (error) {
      found = `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
    }
    setProblem(found)
    onUnreadable(found !== null)
  }
  return (
    <>
      <textarea
        {...(id === undefined ? {} : { id })}
        aria-label={label}
        aria-describedby={problemId}
        aria-invalid={problem !== null}
        rows={Math.min(14, Math.max(3, text.split('\n').length))}
        spellCheck={false}
        className="field font-mono text-sm"
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      <p id={problemId} className="any text-sm text-stop" role={problem === null ? undefined : 'alert'}>
        {problem}
      </p>
    </>
  )
}
