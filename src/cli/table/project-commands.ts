// Commands that begin: the demo, a first file, the server, a worker.

import type { CommandSpec } from '../command-spec.ts'

export const projectCommands: readonly CommandSpec[] = [
  {
    name: 'demo',
    summary: 'A support desk that survives kill -9, in this terminal.',
    more: 'Runs on a temporary store. Its worker process is killed twice, another one continues, and the ledger of the external services shows that every effect happened once. With OPENAI_API_KEY a real model answers.',
    options: [
      ['-y, --yes', 'approve without asking'],
      ['--chaos <kills>', 'kill this many workers, most at random moments; approves without asking'],
    ],
    examples: ['pawl demo', 'pawl demo --yes', 'pawl demo --chaos 20'],
    load: async () => (await import('../commands/demo.ts')).demo,
  },
  {
    name: 'init',
    summary: 'Write a first agent into this project: one file that runs.',
    more: 'With the AI SDK (`ai` in package.json) the file uses its models and tools, else plain Pawl. Both run without an API key.',
    args: [['[file]', 'the file to write; default: agent.ts, or agent.mjs without TypeScript']],
    options: [
      ['--force', 'overwrite the file'],
      ['--template <name>', 'do not look at package.json', ['ai-sdk', 'plain']],
    ],
    examples: ['pawl init', 'pawl init src/agent.ts --template plain'],
    load: async () => (await import('../commands/init.ts')).init,
  },
  {
    name: 'serve',
    summary: 'Start the HTTP server, with a worker.',
    more: 'Prints an address and a token. Ctrl-C stops it: it takes no new work, finishes what runs within the grace, and hands the rest back.',
    options: [
      ['-p, --port <port>', 'default: 7717; 0 takes a free port [PAWL_PORT]'],
      ['--host <host>', 'default: 127.0.0.1 [PAWL_HOST]'],
      ['--grace <duration>', 'how long running tools may take to finish; default: 25s'],
      ['--no-worker', 'only record calls; other workers run them'],
      ['--log <format>', 'json: log lines as JSON on stderr, and nothing else there', ['json']],
      ['--demo', 'with the support desk: a refund waits for approval, and its worker is killed while it pays'],
      ['--no-open', 'with --demo: do not open the browser'],
    ],
    examples: ['pawl serve', 'pawl serve --demo', 'pawl serve --port 8080 --store postgres://localhost/agents'],
    load: async () => (await import('../commands/serve.ts')).serve,
  },
  {
    name: 'worker',
    summary: 'Run calls, turns and tasks of the store, without a server.',
    options: [
      ['--grace <duration>', 'how long running tools may take to finish; default: 25s'],
      ['--once', 'end as soon as nothing is left to run'],
      ['--log <format>', 'json: log lines as JSON on stderr, and nothing else there', ['json']],
    ],
    examples: ['pawl worker', 'pawl worker --once'],
    load: async () => (await import('../commands/worker.ts')).worker,
  },
]
