// Commands for people: what waits for them, and their decisions.

import type { CommandSpec, OptionSpec } from '../command-spec.ts'

const reason: OptionSpec = ['--reason <text>', 'recorded, and shown to the model']

export const peopleCommands: readonly CommandSpec[] = [
  {
    name: 'inbox',
    summary: 'List what waits for people, or show one item.',
    args: [['[item]', 'id of the item, or its beginning']],
    options: [
      ['-s, --session <id>', 'only of this session'],
      ['--kind <kind>', 'only of this kind', ['approval', 'finding', 'connection', 'question']],
    ],
    examples: ['pawl inbox', 'pawl inbox 0mwml0ly1', 'pawl inbox --json'],
    load: async () => (await import('../commands/inbox.ts')).inbox,
  },
  {
    name: 'approve',
    summary: 'Approve an item; without an id, decide all open items one after the other.',
    more: 'The approval is for exactly the arguments that were shown. If they changed, nothing is approved (exit code 6).',
    args: [['[item]', 'id of the item, or its beginning']],
    options: [
      ['--edit <json>', 'approve with these arguments instead'],
      reason,
      ['--remember <scope>', 'approve such calls from now on', ['session', 'principal', 'tenant']],
      ['--for <duration>', 'how long to remember; default: 1d'],
      ['--fingerprint <hash>', 'approve only if this is what would run'],
      ['-s, --session <id>', 'without an id: only items of this session'],
    ],
    examples: [
      'pawl approve',
      'pawl approve 0mwml0ly1 --reason "checked with Ada"',
      'pawl approve 0mwml0ly1 --edit \'{"order":"A1","cents":2100}\'',
      'pawl approve 0mwml0ly1 --remember session',
    ],
    load: async () => (await import('../commands/approve.ts')).approve,
  },
  {
    name: 'deny',
    summary: 'Deny an item.',
    args: [['<item>', 'id of the item, or its beginning']],
    options: [reason, ['--fingerprint <hash>', 'deny only if this is what would run']],
    examples: ['pawl deny 0mwml0ly1 --reason "the order was never delivered"'],
    load: async () => (await import('../commands/approve.ts')).deny,
  },
  {
    name: 'answer',
    summary: 'Answer a question.',
    args: [
      ['<item>', 'id of the item, or its beginning'],
      ['<answer>', 'a text or JSON; - reads it from stdin'],
    ],
    options: [reason],
    examples: ['pawl answer 0mwml0ly1 "the blue one"', 'pawl answer 0mwml0ly1 \'{"size":"M"}\''],
    load: async () => (await import('../commands/approve.ts')).answer,
  },
  {
    name: 'rules',
    summary: 'List the decisions that people remembered for later calls.',
    options: [['-s, --session <id>', 'only those that apply in this session']],
    examples: ['pawl rules', 'pawl rules --session mcp:user:ada', 'pawl rules --json'],
    load: async () => (await import('../commands/rules.ts')).rules,
  },
  {
    name: 'rules revoke',
    summary: 'Revoke a remembered decision: such calls ask again.',
    args: [['<id>', 'id of the rule']],
    options: [['--reason <text>', 'recorded']],
    examples: ['pawl rules revoke 0mwml0ly1000005831a'],
    load: async () => (await import('../commands/rules.ts')).revokeRule,
  },
]
