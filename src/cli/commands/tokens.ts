// `pawl tokens`: API tokens.

import type { Run } from '../cli.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Role } from '../../index.ts'
import { systemClock } from '../../core/clock.ts'
import { relativeTime } from '../output/format.ts'
import { bold, dim, green, type Piece, red, yellow } from '../output/output.ts'
import { given, readDuration } from '../read-arguments.ts'

export const tokens: Run<object> = async (cli) => {
  const client = await cli.client()
  const listed = await client.tokens.list({})
  cli.output.list(listed, () => {
    if (listed.length === 0)
      return cli.output.note(dim('There are no tokens. Create one: pawl tokens create <name> --role caller'))
    cli.output.table(
      [
        { title: 'ID' },
        { title: 'NAME', flexible: true },
        { title: 'ROLES' },
        { title: 'TENANT' },
        { title: 'ACTS AS' },
        { title: 'CREATED' },
        { title: 'STATE' },
      ],
      listed.map((each) => [
        each.id,
        bold(each.name),
        each.roles.join(', '),
        each.tenant ?? yellow('all'),
        each.principal,
        dim(relativeTime(each.createdAt)),
        stateOf(each.revokedAt, each.expiresAt),
      ]),
    )
  })
}

function stateOf(revokedAt: number | null, expiresAt: number | null): Piece {
  if (revokedAt !== null) return red('revoked')
  if (expiresAt === null) return green('valid')
  return expiresAt <= systemClock.now() ? red('expired') : `expires ${relativeTime(expiresAt)}`
}

interface CreateFlags {
  readonly role?: readonly Role[]
  readonly principal?: string
  readonly expires?: string
  readonly allTenants?: boolean
}

export const createToken: Run<CreateFlags> = async (
  cli,
  [name = ''],
  { role = ['viewer'], principal, expires, allTenants },
) => {
  const { output } = cli
  const expiresIn = expires === undefined ? {} : { expiresIn: readDuration(expires, '--expires') }
  const client = await cli.client({ create: true })
  const created = await client.tokens.create({
    name,
    roles: [...role],
    ...expiresIn,
    ...given({ principal, allTenants }),
  })
  output.result(created, () => {
    output.line(created.token)
    output.note()
    output.note(green('✓'), ` Token ${created.id} for `, bold(created.name), `: ${created.roles.join(', ')}`)
    output.note(dim('Its text is not stored and is shown only now. Use it as PAWL_TOKEN.'))
  })
}

export const revokeToken: Run<object> = async (cli, [id = '']) => {
  const client = await cli.client()
  const { changed } = await client.tokens.revoke({ token: id })
  cli.output.result({ changed }, () =>
    changed
      ? cli.output.line(green('✓'), ' Revoked. Its open streams end within one heartbeat.')
      : cli.output.problem(yellow('! '), `There is no valid token '${id}'.`),
  )
  return changed ? exitCodes.ok : exitCodes.notFound
}
