// Every public export, option and method has a doc comment, because editors show it and the guide cannot cover
// everything. Scans the formatted source: declarations start in column 0 and their members are indented by two.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { promises } from './contract.ts'

const root = join(import.meta.dirname, '../..')
const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { '@pawl/source'?: string }>
}
const sources = Object.entries(entries).flatMap(([entry, { '@pawl/source': file }]) =>
  file === undefined ? [] : [{ entry: join('pawl', entry), file: join(root, file) }],
)

interface Declaration {
  readonly file: string
  readonly name: string
  readonly kind: string
  /** Zero-based index of its first line. */
  readonly at: number
  readonly lines: readonly string[]
}

const texts = new Map<string, readonly string[]>()
const linesOf = (file: string): readonly string[] => {
  if (!texts.has(file)) texts.set(file, readFileSync(file, 'utf8').split('\n'))
  return texts.get(file) as readonly string[]
}

const declared =
  /^(?:export )?(?:declare )?(?:async )?(?:abstract )?(interface|type|class|function\*?|const) ([A-Za-z_$][\w$]*)/

function declarationsOf(file: string): Map<string, Declaration> {
  const found = new Map<string, Declaration>()
  const lines = linesOf(file)
  for (const [at, line] of lines.entries()) {
    const [, kind, name] = declared.exec(line) ?? []
    // Of overloads and the implementation, the first has the comment.
    if (kind && name && !found.has(name)) found.set(name, { file, name, kind, at, lines })
  }
  return found
}

/** Names that the file imports or exports from another one: `exported name → [file, name there]`. */
function linksOf(file: string, words: 'import' | 'export'): Map<string, readonly [string, string]> {
  const statement = new RegExp(String.raw`^${words} (?:type )?\{([^}]*)\} from '(\.[^']*)'`, 'gms')
  return new Map(
    [...linesOf(file).join('\n').matchAll(statement)].flatMap(([, list, from]) =>
      (list as string).split(',').flatMap((item) => {
        const [name, alias] = item
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        return name ? [[alias ?? name, [resolve(dirname(file), from as string), name]] as const] : []
      }),
    ),
  )
}

function find(file: string, name: string): Declaration | undefined {
  const own = declarationsOf(file).get(name)
  if (own) return own
  const next = linksOf(file, 'export').get(name) ?? linksOf(file, 'import').get(name)
  return next && find(...next)
}

/** The exports of a file: declared there, re-exported, or imported and exported. */
function exportsOf(file: string): Declaration[] {
  const lists = [
    ...linesOf(file)
      .join('\n')
      .matchAll(/^export (?:type )?\{([^}]*)\}$/gms),
  ]
  const local = lists.flatMap(([, list]) =>
    (list as string).split(',').map((item) => item.trim().replace(/^type /, '')),
  )
  const own = [...declarationsOf(file).values()].filter(({ at, lines }) => (lines[at] as string).startsWith('export '))
  const names = [...linksOf(file, 'export').keys(), ...local].filter((name) => name !== '')
  return [...own, ...names.map((name) => find(file, name) ?? expect.unreachable(`${name} of ${file} is not found`))]
}

/** A directive for the linter may stand between the comment and the declaration. */
function isDocumented(lines: readonly string[], at: number): boolean {
  const above = lines[at - 1]?.trim() ?? ''
  return above.endsWith('*/') || (above.startsWith('// oxlint-') && isDocumented(lines, at - 1))
}

const endOf = ({ lines, at }: Declaration): number => {
  const length = lines.slice(at + 1).findIndex((line) => /^[})\]]|^$/.test(line))
  return length === -1 ? lines.length : at + 1 + length
}

const member = /^ {2}(?:readonly |static |async |get )*(?:\[[^\]]+\]|[A-Za-z_$][\w$]*)\??(?=[(:]|<[^<>]*>\(| =)/
/** What a user neither calls nor sets: fields that every error has, constructors, types without a value. */
const exempt = /^ {2}(?:override|declare|private|constructor|\[|readonly \[|.* as const,?$)/

/** Types that describe the messages of another package: that package documents their fields. */
const mirrors = /^(?:Ai[A-Z]|AnyAiTool|OpenAI|Anthropic)(?!.*Options$)/

/** Members of an interface, a class or an object type without a comment. An overload may use that of the first one. */
function undocumentedMembers(of: Declaration): string[] {
  const { lines, at, kind, name } = of
  const isObjectType = kind === 'type' && (lines[at] as string).endsWith('{')
  if (!(kind === 'interface' || kind === 'class' || isObjectType) || mirrors.test(name)) return []
  const nameIn = (line: string): string | undefined => /^ {2}(?:readonly |get |static |async )*(\w+)/.exec(line)?.[1]
  return lines.slice(at, endOf(of)).flatMap((text, index) => {
    const line = at + index
    if (index === 0 || !member.test(text) || exempt.test(text) || isDocumented(lines, line)) return []
    const word = nameIn(text)
    return word === undefined || word === nameIn(lines[line - 1] as string) ? [] : [`${name}.${word}`]
  })
}

/** Names of types that are options, or parts of options, wherever they are declared. */
const optionType = /(?:Options|Settings|Limits|Quotas|Bounds|Spec|Facts|Progress|Condition|Attachments|Feed)$/

/** Option types that the text of a declaration names, declared in the same file or imported there. */
function typesNamedIn(of: Declaration): Declaration[] {
  const isType = of.kind === 'interface' || of.kind === 'type'
  const code = of.lines.slice(of.at, isType ? endOf(of) : of.at + 4).filter((line) => !/^\s*(?:\/\*|\*)/.test(line))
  const words: readonly string[] = code.join('\n').match(/\b[A-Z]\w+\b/g) ?? []
  const names = new Set(words.filter((word) => optionType.test(word)))
  return [...names].flatMap((name) => find(of.file, name) ?? [])
}

/** The exports of an entry, and the option types that users meet through them. */
function publicDeclarations(file: string): Set<Declaration> {
  const found = new Map<string, Declaration>()
  const queue = exportsOf(file)
  for (const each of queue) {
    const key = `${each.file} ${each.name}`
    if (found.has(key)) continue
    found.set(key, each)
    queue.push(...typesNamedIn(each))
  }
  return new Set(found.values())
}

test.for(sources)('TOOL-1 CALL-12: every export and option of $entry has a doc comment', ({ file }) => {
  const missing = [...publicDeclarations(file)].flatMap((each) => [
    ...(isDocumented(each.lines, each.at) ? [] : [each.name]),
    ...undocumentedMembers(each),
  ])
  expect(missing).toEqual([])
})

/** Where users start: each shows its use. */
const entryPoints = {
  pawl: ['tool', 'result', 'agent', 'createRuntime', 'duration', 'fromOpenAI', 'toOpenAI', 'fromAnthropic'],
  'pawl/client': ['createClient'],
  'pawl/postgres': ['postgresStore'],
  'pawl/testing': ['scriptedModel', 'testRuntime', 'manualClock', 'replay', 'storeCases'],
  'pawl/ai-sdk': ['aiModel', 'fromAiSdk'],
}

test('TOOL-1: entry points and the main methods of runtimes and sessions have an example', () => {
  const commentAbove = (lines: readonly string[], at: number): string => {
    const start = lines.slice(0, at).findLastIndex((line) => line.trim().startsWith('/**'))
    return lines.slice(start, at).join('\n')
  }
  const without = Object.entries(entryPoints).flatMap(([entry, names]) => {
    const { file } = sources.find((each) => each.entry === entry) ?? expect.unreachable(entry)
    return names.filter((name) => {
      const { lines, at } = find(file, name) ?? expect.unreachable(name)
      return !commentAbove(lines, at).includes('@example')
    })
  })
  for (const [name, methods] of Object.entries({
    Runtime: ['session', 'resolve', 'decide', 'diagnostics'],
    Session: ['run', 'call', 'turn'],
  })) {
    const of = find(join(root, 'src/index.ts'), name) ?? expect.unreachable(name)
    for (const method of methods) {
      const at = of.lines.findIndex((line, index) => index > of.at && new RegExp(`^  ${method}[(<]`).test(line))
      if (!commentAbove(of.lines, at).includes('@example')) without.push(`${name}.${method}`)
    }
  }
  expect(without).toEqual([])
})

test('TOOL-1: no doc comment mentions the id of a promise', () => {
  const ids = new RegExp(String.raw`\b(?:${Object.keys(promises).join('|')})\b`)
  const found = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    linesOf(join(root, file)).flatMap((line, at) =>
      /^\s*(?:\/\*\*|\*)/.test(line) && ids.test(line) ? [`${file}:${at + 1}`] : [],
    ),
  )
  expect(found).toEqual([])
})
