// Commands of the operator: health, retention, tokens, configuration.

import type { CommandSpec } from '../command-spec.ts'

export const operatorCommands: readonly CommandSpec[] = [
  {
    name: 'health',
    alias: 'doctor',
    summary: 'Explain what is stuck, what a deploy cannot continue, and what to do.',
    more: 'On a local store it checks with the tools of this configuration, so it can run before a deploy. Exit code 1 if it found something.',
    examples: ['pawl health', 'pawl health --json', 'pawl health --store postgres://localhost/agents'],
    load: async () => (await import('../commands/health.ts')).health,
  },
  {
    name: 'tokens',
    summary: 'List the API tokens of the tenant.',
    examples: ['pawl tokens', 'pawl tokens create ci --role caller --expires 90d'],
    load: async () => (await import('../commands/tokens.ts')).tokens,
  },
  {
    name: 'tokens list',
    summary: 'List the API tokens of the tenant.',
    examples: ['pawl tokens list --json'],
    load: async () => (await import('../commands/tokens.ts')).tokens,
  },
  {
    name: 'tokens create',
    summary: 'Create an API token. Its text is shown once.',
    args: [['<name>', 'what the token is called, such as the program that uses it']],
    options: [
      [
        '-r, --role <role...>',
        'what it allows; default: viewer',
        ['viewer', 'caller', 'approver', 'operator', 'admin'],
      ],
      ['--principal <name>', 'the person or service that acts with it; default: token:<name>'],
      ['--expires <duration>', 'default: it does not expire'],
      ['--all-tenants', 'for all tenants'],
    ],
    examples: [
      'pawl tokens create ci --role caller --expires 90d',
      'pawl tokens create bea --role approver --principal user:bea',
    ],
    load: async () => (await import('../commands/tokens.ts')).createToken,
  },
  {
    name: 'tokens revoke',
    summary: 'Revoke an API token.',
    args: [['<id>', 'id of the token']],
    examples: ['pawl tokens revoke 0mwml0ly1000005831a'],
    load: async () => (await import('../commands/tokens.ts')).revokeToken,
  },
  {
    name: 'prune',
    summary: 'Delete calls that settled long ago, with all their data.',
    options: [
      ['--older-than <duration>', 'required, such as 30d'],
      ['--limit <n>', 'delete at most so many calls'],
      ['-y, --yes', 'do not ask'],
    ],
    examples: ['pawl prune --older-than 30d', 'pawl prune --older-than 30d --yes --json'],
    load: async () => (await import('../commands/prune.ts')).prune,
  },
  {
    name: 'migrate',
    summary: 'Upgrade the tables of the store, or check whether they need it.',
    more: 'Every command that opens a store upgrades it; this one only does that. --check changes nothing: exit code 1 means that an upgrade is needed.',
    options: [['--check', 'only look']],
    examples: ['pawl migrate', 'pawl migrate --check --store postgres://localhost/agents'],
    load: async () => (await import('../commands/migrate.ts')).migrate,
  },
  {
    name: 'config',
    summary: 'Show the configuration.',
    options: [['--effective', 'with the source of each value']],
    examples: ['pawl config --effective', 'pawl config --json'],
    load: async () => (await import('../commands/config.ts')).config,
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell.',
    args: [['<shell>', 'bash, zsh, fish or powershell']],
    examples: ['source <(pawl completion bash)', 'pawl completion fish > ~/.config/fish/completions/pawl.fish'],
    load: async () => (await import('../commands/completion.ts')).completion,
  },
  {
    name: 'version',
    summary: 'Print the version.',
    examples: ['pawl version'],
    load: async () => (await import('../commands/version.ts')).version,
  },
]
