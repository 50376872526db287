// Says what a decision did. Used by the commands that decide, and by the walk through the inbox.

import type { Client } from '../client/client-types.ts'
import type { DecideAnswer, InboxItem } from '../index.ts'
import { bold, dim, green, type Output, red, yellow } from './output/output.ts'

export type Decision = Omit<Parameters<Client['inbox']['decide']>[0], 'item' | 'fingerprint'>

export function showAnswer(answered: DecideAnswer, { tool }: Pick<InboxItem, 'tool'>, output: Output): void {
  switch (answered.answer) {
    case 'accepted': {
      const { status, approvals, quorum, rule } = answered
      if (status === 'pending')
        output.line(yellow('●'), ' ', `${approvals} of ${quorum} approvals for `, bold(tool), '; it still waits.')
      else output.line(status === 'denied' ? red('✗') : green('✓'), ' ', statusTexts[status], ' ', bold(tool))
      if (rule !== undefined) output.note(dim(`Remembered as rule ${rule}.`))
      return
    }
    case 'already_decided':
      output.problem(
        yellow('! '),
        `Already ${answered.status}${answered.by.length > 0 ? ` by ${answered.by.map(({ by }) => by).join(', ')}` : ''}. Nothing was changed.`,
      )
      return
    case 'refused':
      output.problem(red('✗ '), answered.message)
      return
    case 'invalid':
      for (const problem of answered.problems) output.problem(red('✗ '), problem)
      return
    default:
      output.problem(red('✗ '), 'There is no such item any more.')
  }
}

const statusTexts = {
  approved: 'Approved',
  denied: 'Denied',
  edited: 'Approved with changed arguments:',
  answered: 'Answered',
}
