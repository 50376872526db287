// Commands that run tools and models, and that show what ran.

import type { ArgumentSpec, CommandSpec } from '../command-spec.ts'

const session: ArgumentSpec = ['<session>', 'id of the session']

export const workCommands: readonly CommandSpec[] = [
  {
    name: 'call',
    summary: 'Run a tool and print its result.',
    more: 'The exit code says how it ended. A call that waits for a person ends the command with exit code 5.',
    args: [
      ['<tool>', 'name of the tool'],
      ['[input]', 'its arguments as JSON; - reads them from stdin'],
    ],
    options: [
      ['-s, --session <id>', 'default: cli'],
      ['--key <key>', 'idempotency key: the same key never runs the tool twice in the session'],
      ['--wait <duration>', 'wait so long for the end; default: until it ends or waits for a person'],
      ['--no-wait', 'only record the call'],
    ],
    examples: [
      'pawl call refund \'{"order":"A1","cents":4200}\'',
      'echo \'{"order":"A1"}\' | pawl call look_up_order -',
      'pawl call refund \'{"order":"A1","cents":4200}\' --key refund-A1 --json',
    ],
    load: async () => (await import('../commands/call.ts')).call,
  },
  {
    name: 'turn',
    summary: 'Send a message to a model with the tools, and stream its answer.',
    more: 'The answer is on stdout, tool calls are on stderr. In a terminal you are asked for approvals; otherwise a turn that waits for a person ends the command with exit code 5.',
    args: [session, ['<message...>', 'the message; - reads it from stdin']],
    options: [
      ['-m, --model <name>', 'a model of the runtime'],
      ['--frame <name>', 'a frame of the runtime'],
      ['--id <id>', 'the same id joins the same turn'],
    ],
    examples: ['pawl turn chat-42 "Please refund order A1"', 'pawl turn chat-42 - < question.txt'],
    load: async () => (await import('../commands/turn.ts')).turn,
  },
  {
    name: 'tools',
    summary: 'List the tools, or show one with the schema of its input.',
    args: [['[tool]', 'name of the tool']],
    examples: ['pawl tools', 'pawl tools refund', 'pawl tools --json'],
    load: async () => (await import('../commands/tools.ts')).tools,
  },
  {
    name: 'sessions',
    summary: 'List the sessions, or show one with its last calls.',
    args: [['[session]', 'id of the session']],
    options: [['-n, --limit <n>', 'default: 50 sessions, or 20 calls']],
    examples: ['pawl sessions', 'pawl sessions chat-42', 'pawl sessions cancel chat-42 --reason "wrong order"'],
    load: async () => (await import('../commands/sessions.ts')).sessions,
  },
  {
    name: 'sessions cancel',
    summary: 'Cancel all open calls of a session.',
    args: [session],
    options: [['--reason <text>', 'recorded, and shown to the model']],
    examples: ['pawl sessions cancel chat-42'],
    load: async () => (await import('../commands/sessions.ts')).cancelSession,
  },
  {
    name: 'sessions end',
    summary: 'End a session: it takes no new tasks.',
    args: [session],
    options: [['--tasks <what>', 'what becomes of its open tasks', ['cancel', 'abandon']]],
    examples: ['pawl sessions end chat-42 --tasks cancel'],
    load: async () => (await import('../commands/sessions.ts')).endSession,
  },
  {
    name: 'sessions erase',
    summary: 'Erase everything that is recorded of a session.',
    args: [session],
    options: [
      ['-y, --yes', 'do not ask'],
      ['--cancel', 'cancel open calls first; without it an open call is refused'],
    ],
    examples: ['pawl sessions erase chat-42'],
    load: async () => (await import('../commands/sessions.ts')).eraseSession,
  },
  {
    name: 'tail',
    summary: 'Watch events live, of a session or of all.',
    args: [['[session]', 'id of the session; default: all sessions']],
    options: [
      ['--all', 'from the beginning, then live'],
      ['--after <cursor>', 'from this cursor, then live'],
      ['--internal', 'everything as it is recorded: steps, and turns as calls'],
      ['--language <code>', 'language of the sentences; default: en'],
    ],
    examples: ['pawl tail', 'pawl tail chat-42 --all', 'pawl tail --jsonl | jq \'select(.type == "call.settled")\''],
    load: async () => (await import('../commands/tail.ts')).tail,
  },
  {
    name: 'export',
    summary: 'Export a session, or one call, as JSON lines or as one HTML page.',
    args: [session],
    options: [
      ['--call <uid>', 'only this call'],
      ['--html', 'one self-contained page with the timeline'],
      ['-o, --output <file>', 'write to this file; default: stdout'],
    ],
    examples: ['pawl export chat-42 > chat-42.jsonl', 'pawl export chat-42 --html -o chat-42.html'],
    load: async () => (await import('../commands/export.ts')).exportSession,
  },
]
