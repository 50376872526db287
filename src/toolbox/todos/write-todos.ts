// write_todos: the model writes down what it has to do. Nothing is kept but the call itself: the newest list in the history is the list.

import { fail } from '../../core/outcome.ts'
import { narrate } from '../../tools/narration/tool-narration.ts'
import { tool } from '../../tools/tool.ts'
import { flag, list, object, oneOf, text, whole } from '../schema-fields.ts'

const statuses = ['pending', 'in_progress', 'completed'] as const

interface Todo {
  readonly content: string
  readonly activeForm: string
  readonly status: (typeof statuses)[number]
}

interface Input {
  readonly todos: readonly Todo[]
}

const todos = list(
  object<Todo>({
    content: text('What is to be done: Run the tests', { maxLength: 2000 }),
    activeForm: text('The same while it is done: Running the tests', { maxLength: 2000 }),
    status: oneOf(statuses, 'Where it stands'),
  }),
  'The whole list, in order; it replaces the one before',
  { maxItems: 200 },
)

const wrong = (why: string): never => {
  throw fail(why, { code: 'invalid_arguments', class: 'invalid_request' })
}

export const writeTodos = tool({
  name: 'write_todos',
  title: 'Write the to-do list',
  description:
    'Write down the tasks of a longer piece of work and where each stands, to plan and to show it. Give the whole list each time, with exactly one task in_progress while there is work.',
  input: object<Input>({ todos }),
  output: object(
    {
      success: flag('Always true'),
      total_tasks: whole('How many there are'),
      pending: whole('How many of them are pending'),
      in_progress: whole('How many of them are in progress'),
      completed: whole('How many of them are completed'),
      todos,
      warning: text('What is odd about the list'),
    },
    ['warning'],
  ),
  hints: { idempotent: true },
  // The last list is the list: those of one session follow each other.
  concurrency: 'exclusive',
  narrate: narrate(
    {
      en: {
        started: 'Updating the to-do list: {}',
        completed: 'Updated the to-do list: {}',
        failed: 'Could not update the to-do list',
      },
      de: {
        started: 'Aktualisiert die Aufgabenliste: {}',
        completed: 'Aufgabenliste aktualisiert: {}',
        failed: 'Konnte die Aufgabenliste nicht aktualisieren',
      },
    },
    (input: Input) =>
      current(input)?.activeForm ??
      `${input.todos.filter(({ status }) => status === 'completed').length}/${input.todos.length}`,
  ),
  examples: [
    {
      todos: [
        { content: 'Find the failing test', activeForm: 'Finding the failing test', status: 'completed' },
        { content: 'Fix it', activeForm: 'Fixing it', status: 'in_progress' },
        { content: 'Run all tests', activeForm: 'Running all tests', status: 'pending' },
      ],
    },
  ],
  execute({ todos: given }) {
    const kept = given.map(({ content, activeForm, status }, at) => ({
      content: content.trim() || wrong(`Task ${at + 1} is missing or has empty 'content' field`),
      activeForm: activeForm.trim() || wrong(`Task ${at + 1} is missing or has empty 'activeForm' field`),
      status,
    }))
    const count = (wanted: Todo['status']): number => kept.filter(({ status }) => status === wanted).length
    const [pending, active, completed] = [count('pending'), count('in_progress'), count('completed')]
    const odd =
      active > 1
        ? `${active} tasks are in_progress; exactly one should be`
        : active === 0 && pending > 0
          ? 'No task is in_progress; mark the one you work on'
          : undefined
    return {
      success: true,
      total_tasks: kept.length,
      pending,
      in_progress: active,
      completed,
      todos: kept,
      ...(odd === undefined ? {} : { warning: odd }),
    }
  },
})

const current = ({ todos: given }: Input): Todo | undefined => given.find(({ status }) => status === 'in_progress')
