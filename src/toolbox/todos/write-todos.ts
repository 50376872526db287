// write_todos: the model records its to-do list. Only the call itself is stored: the newest call in the history is the
// current list.

import { fail } from '../../core/outcome.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, list, object, oneOf, text, integer } from '../tool-schema-fields.ts'

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

const invalidArguments = (why: string): never => {
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
      total_tasks: integer('How many there are'),
      pending: integer('How many of them are pending'),
      in_progress: integer('How many of them are in progress'),
      completed: integer('How many of them are completed'),
      todos,
      warning: text('What is odd about the list'),
    },
    ['warning'],
  ),
  hints: { idempotent: true },
  // The last list wins, so the calls of one session are serialized.
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
      currentTodo(input)?.activeForm ??
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
    const cleaned = given.map(({ content, activeForm, status }, at) => ({
      content: content.trim() || invalidArguments(`Task ${at + 1} is missing or has empty 'content' field`),
      activeForm: activeForm.trim() || invalidArguments(`Task ${at + 1} is missing or has empty 'activeForm' field`),
      status,
    }))
    const count = (wanted: Todo['status']): number => cleaned.filter(({ status }) => status === wanted).length
    const [pending, active, completed] = [count('pending'), count('in_progress'), count('completed')]
    const listWarning =
      active > 1
        ? `${active} tasks are in_progress; exactly one should be`
        : active === 0 && pending > 0
          ? 'No task is in_progress; mark the one you work on'
          : undefined
    return {
      success: true,
      total_tasks: cleaned.length,
      pending,
      in_progress: active,
      completed,
      todos: cleaned,
      ...(listWarning === undefined ? {} : { warning: listWarning }),
    }
  },
})

const currentTodo = ({ todos: given }: Input): Todo | undefined => given.find(({ status }) => status === 'in_progress')
