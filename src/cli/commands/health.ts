// `pawl health`: what is stuck, what this configuration cannot continue, and what to do.

import type { Run } from '../cli.ts'
import { exitCodes } from '../exit-codes.ts'
import type { HealthIssue } from '../../index.ts'
import { count, relativeTime } from '../output/format.ts'
import { bold, dim, green, red, yellow } from '../output/output.ts'

/** The headings of groups of findings, the most urgent first. */
const groups: Readonly<Record<HealthIssue['kind'], string>> = {
  store: 'The store reports a problem',
  never_woken: 'Nothing will wake these calls',
  overdue: 'A wait is overdue: no worker expires it',
  deaths: 'Workers died while they ran these calls',
  tool_changed: 'A deploy of these tools would end these calls without running them',
  no_tool: 'The tool is not in this configuration',
  no_model: 'The model is not in this configuration',
  no_frame: 'The frame is not in this configuration',
  unclaimed: 'No worker has taken these calls yet',
  policy: 'A policy rule matches no tool',
}

export const health: Run<object> = async (cli) => {
  const { output } = cli
  const client = await cli.client({ tools: true })
  const { remote } = await cli.settings()
  const report = await client.health.get({})
  const { findings, open, oldest, store, unlisted, more } = report
  // This process has opened the store too, and runs nothing.
  const workers = Math.max(0, store.workers.length - (remote === null ? 1 : 0))
  output.result(report, () => {
    const states = Object.entries(open).filter(([, n]) => n > 0)
    output.fields([
      ['store', store.kind],
      ['workers', workers === 0 ? yellow('none') : count(workers, 'worker')],
      ['open calls', states.length === 0 ? 'none' : states.map(([state, n]) => `${n} ${state}`).join(', ')],
      ['oldest', oldest && [`${oldest.tool} in ${oldest.session}, `, dim(relativeTime(oldest.createdAt))]],
    ])
    output.line()
    if (findings.length === 0)
      return output.line(green('✓'), ' Every open call can continue by itself or waits for an answer.')
    for (const [kind, title] of Object.entries(groups)) {
      const found = findings.filter((each) => each.kind === kind)
      if (found.length === 0) continue
      output.line(red('✗'), ' ', bold(title), dim(`  ${kind}`))
      for (const { says, call } of found) {
        output.line('    ', says)
        if (call)
          output.line('    ', dim(`call ${call.uid}${call.tenant === 'default' ? '' : `, tenant ${call.tenant}`}`))
      }
      output.line()
    }
    const hidden = unlisted > 0 ? `, and ${unlisted} more that are not listed` : ''
    output.line(red(count(findings.length, 'finding')), hidden, more ? '. Not all open calls were checked.' : '')
  })
  return findings.length === 0 ? exitCodes.ok : exitCodes.failed
}
