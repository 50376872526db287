// `pawl rules`: the approvals and denials that people remembered for later calls.

import type { RememberedRule } from '../../index.ts'
import type { Run } from '../cli.ts'
import { exitCodes } from '../exit-codes.ts'
import { relativeTime } from '../output/format.ts'
import { bold, dim, green, red, yellow } from '../output/output.ts'
import { given } from '../read-arguments.ts'

interface ListFlags {
  readonly session?: string
}

export const rules: Run<ListFlags> = async (cli, _, { session }) => {
  const client = await cli.client()
  const listed = await client.rules.list(given({ session }))
  cli.output.list(listed, () => {
    if (listed.length === 0)
      return cli.output.note(dim('No decision is remembered. `pawl approve <item> --remember session` remembers one.'))
    cli.output.table(
      [
        { title: 'ID' },
        { title: 'TOOL', flexible: true },
        { title: 'DECIDES' },
        { title: 'APPLIES TO' },
        { title: 'BY' },
        { title: 'MADE' },
        { title: 'EXPIRES' },
      ],
      listed.map((rule) => [
        rule.id,
        bold(rule.tool),
        rule.then === 'approve' ? green(rule.then) : red(rule.then),
        scopeOf(rule),
        rule.votes.map(({ by }) => by).join(', '),
        dim(relativeTime(rule.madeAt)),
        relativeTime(rule.until),
      ]),
    )
    cli.output.note(dim('Revoke one: pawl rules revoke <id>'))
  })
}

const scopeOf = ({ session, principal, when }: RememberedRule): string =>
  [session ?? principal ?? 'everyone', when === undefined ? '' : ' (some arguments)'].join('')

interface RevokeFlags {
  readonly reason?: string
}

export const revokeRule: Run<RevokeFlags> = async (cli, [id = ''], { reason }) => {
  const client = await cli.client()
  const { changed } = await client.rules.revoke({ rule: id, ...given({ reason }) })
  cli.output.result({ changed }, () =>
    changed
      ? cli.output.line(green('✓'), ' Revoked. The next such call is decided without it.')
      : cli.output.problem(yellow('! '), `There is no valid rule '${id}'. Nothing changed; \`pawl rules\` lists them.`),
  )
  return changed ? exitCodes.ok : exitCodes.notFound
}
