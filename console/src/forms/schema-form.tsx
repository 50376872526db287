// A form for a value of a JSON Schema: fields where the form understands the schema, JSON for the rest or for all.

import { type ReactNode, useId, useState } from 'react'
import { shown } from '../ui/shown.ts'
import { fieldKind, fieldOf, pathOf, type Problems, type Schema, withField } from './schema.ts'
import { TypedField } from './typed-field.tsx'

interface SchemaFormProps {
  readonly schema: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly problems: Problems
  /** A text that cannot be read is being typed; the value is the last one that could. */
  readonly onUnreadable: (path: string, isUnreadable: boolean) => void
  /** Replaces all fields by new ones, which show the value. */
  readonly onSwitch: () => void
}

export function SchemaForm(props: SchemaFormProps): ReactNode {
  const { schema, value, onChange, problems, onUnreadable, onSwitch } = props
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
              onSwitch()
              setAsJson(!asJson)
            }}
          >
            Edit as JSON
          </button>
        </div>
      )}
      {asJson ? (
        <TypedField
          kind="json"
          label="Arguments as JSON"
          value={value}
          isRequired
          isInvalid={problems.size > 0}
          onChange={onChange}
          onUnreadable={(is) => onUnreadable('', is)}
        />
      ) : (
        <Group {...props} path="" />
      )}
      {[...problems]
        .filter(([path]) => asJson || path === '')
        .map(([path, problem]) => (
          <p key={path} role="alert" className="any text-sm text-stop">
            {path === '' ? problem : `${shown(path)}: ${problem}`}
          </p>
        ))}
    </div>
  )
}

interface FieldProps extends Omit<SchemaFormProps, 'onSwitch'> {
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
          path={pathOf(path, name)}
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
      {(kind !== 'boolean' || !isRequired) && (
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

function Input(props: InputProps): ReactNode {
  const { schema, value, onChange, id, label, path, isRequired, describedBy, isInvalid, onUnreadable } = props
  const common = { id, 'aria-describedby': describedBy, 'aria-invalid': isInvalid, className: 'field' }
  const kind = fieldKind(schema)
  if (kind === 'boolean' && !isRequired)
    return (
      <select
        {...common}
        value={typeof value === 'boolean' ? String(value) : ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : target.value === 'true')}
      >
        <option value="">Not set</option>
        <option value="true">Yes</option>
        <option value="false">No</option>
      </select>
    )
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
          <option key={JSON.stringify(each)} value={index}>
            {shown(String(each))}
          </option>
        ))}
      </select>
    )
  if (kind === 'text')
    return (
      <TextField
        {...common}
        value={typeof value === 'string' ? value : ''}
        onChange={(next) => onChange(next === '' && !isRequired ? undefined : next)}
      />
    )
  return (
    <TypedField
      kind={kind === 'number' ? 'number' : 'json'}
      id={id}
      label={label}
      describedBy={describedBy}
      isInvalid={isInvalid}
      isRequired={isRequired}
      value={value}
      onChange={onChange}
      onUnreadable={(is) => onUnreadable(path, is)}
    />
  )
}

interface TextFieldProps {
  readonly id: string
  readonly className: string
  readonly value: string
  readonly onChange: (value: string) => void
}

const longText = 60

/** The element stays the same while a person types, because another one would not have the focus. */
function TextField({ value, onChange, ...rest }: TextFieldProps): ReactNode {
  const [isLong] = useState(value.length > longText || value.includes('\n'))
  return isLong ? (
    <textarea {...rest} rows={5} value={value} onChange={(event) => onChange(event.target.value)} />
  ) : (
    <input {...rest} type="text" value={value} onChange={(event) => onChange(event.target.value)} />
  )
}
