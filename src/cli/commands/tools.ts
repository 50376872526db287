// `pawl tools`: the tools, or one with the schema of its input.

import type { Run } from '../cli.ts'
import type { ToolListing } from '../../index.ts'
import { count, indented } from '../output/format.ts'
import { bold, dim, green, type Piece, red, yellow } from '../output/output.ts'
import { notFound } from '../read-arguments.ts'
import { noToolsHint } from '../settings.ts'

export const tools: Run<object> = async (cli, [name]) => {
  const { output } = cli
  const client = await cli.client({ tools: true, create: true })
  const listed = await client.tools.list({})
  if (name !== undefined) {
    const names = listed.map((each) => each.name)
    if (!names.includes(name)) throw notFound('tool', name, names)
    const found = await client.tools.get({ tool: name })
    output.result(found, () => {
      output.line(bold(found.name), found.available ? '' : red('  unavailable'))
      output.line()
      output.block(found.description)
      output.line()
      const hints = Object.entries(found.hints).map(([hint, value]) => `${hint}: ${String(value)}`)
      if (hints.length > 0) output.line(dim('hints   '), hints.join(', '))
      output.line(dim('input'))
      output.block(indented(found.input))
      if (found.output === null) return
      output.line(dim('output'))
      output.block(indented(found.output))
    })
    return
  }
  output.list(listed, () => {
    if (listed.length === 0) {
      output.note(dim(noToolsHint))
      return
    }
    output.table(
      [{ title: 'TOOL' }, { title: 'EFFECT' }, { title: 'DESCRIPTION', flexible: true }],
      listed.map((tool) => [bold(tool.name), effectOf(tool), tool.description]),
    )
    output.note()
    output.note(dim(`${count(listed.length, 'tool')}. Schema of one: pawl tools <name>`))
  })
}

function effectOf({ hints, available, quarantined }: ToolListing): Piece {
  if (quarantined) return red('quarantined')
  if (!available) return red('unavailable')
  if (hints?.readOnly === true) return green('reads')
  return hints?.destructive === true ? yellow('destructive') : dim('writes')
}
