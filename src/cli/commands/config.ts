// `pawl config`: the configuration, with the source of each value. Secrets are masked.

import type { Run } from '../cli.ts'
import { maskedStore, maskedUrl } from '../output/masked-url.ts'
import { dim, green } from '../output/output.ts'
import type { Setting, Settings } from '../settings.ts'

interface Row {
  readonly name: string
  readonly value: string | null
  readonly source: string
  readonly from: string
}

export const config: Run<{ effective?: boolean }> = async (cli, _, { effective }) => {
  const { output } = cli
  const settings = await cli.settings()
  const rows = rowsOf(settings)
  const mode = settings.remote === null ? 'local store' : 'server'
  output.result({ file: settings.file, worksOn: mode, values: rows }, () => {
    output.fields([
      ['file', settings.file ?? dim('none')],
      ['works on', settings.remote === null ? maskedStore(settings.store.value) : maskedUrl(settings.remote)],
    ])
    output.line()
    const shown = effective ? rows : rows.filter(({ value, source }) => value !== null && source !== 'default')
    if (shown.length === 0) return output.note(dim('Everything has its default. All values: pawl config --effective'))
    output.table(
      [{ title: 'NAME' }, { title: 'VALUE', flexible: true }, { title: 'SOURCE' }, { title: 'FROM' }],
      shown.map(({ name, value, source, from }) => [
        name,
        value ?? dim('not set'),
        source === 'default' ? dim(source) : green(source),
        dim(from),
      ]),
    )
  })
}

function rowsOf({ store, url, token, tenant, principal, keys, port, host, server, runtime, file }: Settings): Row[] {
  const row = <T>(name: string, setting: Setting<T> | null, show: (value: T) => string = String): Row =>
    setting === null
      ? { name, value: null, source: 'default', from: '' }
      : { name, value: show(setting.value), source: setting.source, from: setting.from }
  const ofFile = (name: string, value: unknown): Row => ({
    name,
    value: value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value),
    source: value === undefined ? 'default' : 'file',
    from: value === undefined ? '' : (file ?? ''),
  })
  const { allowedHosts, grace, turn } = server
  return [
    row('store', store, maskedStore),
    row('url', url, maskedUrl),
    row('token', token, masked),
    row('tenant', tenant),
    row('as', principal),
    row('keys', keys, () => '****'),
    row('server.port', port),
    row('server.host', host),
    ofFile('server.allowedHosts', allowedHosts),
    ofFile('server.grace', grace),
    ofFile('server.turn', turn && { ...turn, ...(turn.instructions === undefined ? {} : { instructions: '…' }) }),
    ofFile('runtime', typeof runtime === 'function' ? 'a function' : runtime && Object.keys(runtime).join(', ')),
  ]
}

/** Only the end, by which a person tells tokens apart. */
const masked = (secret: string): string => (secret.length < 16 ? '****' : `****${secret.slice(-4)}`)
