// WORDS: what Pawl throws at a caller about turns and models. A part of the table in errors.ts.

export const turnErrors = {
  turn_invalid: {
    http: 400,
    retry: false,
    says: 'The turn or message is not valid.',
    next: 'Correct what the message names; nothing was started or recorded.',
  },
  turn_conflict: {
    http: 409,
    retry: false,
    says: 'Another turn is on record under this id.',
    next: 'Start it under a new id, or ask for the same again. Nothing was started.',
  },
  agents_too_deep: {
    http: 409,
    retry: false,
    says: 'Too many agents work for one another.',
    next: 'Let an agent that is higher up do it. Nothing was started.',
  },
  capability_unknown: {
    http: 404,
    retry: false,
    says: 'No capability has this name.',
    next: 'Give it to createRuntime({ capabilities }), or use a name from there. Nothing was switched on.',
  },
  model_invalid: {
    http: 400,
    retry: false,
    says: 'This is not a model.',
    next: 'Give a model that aiModel() made, or an object with a name and generate().',
  },
  model_unknown: {
    http: 404,
    retry: false,
    says: 'No model has this name.',
    next: 'Give it to createRuntime({ models }), or use a name from there. Nothing was started.',
  },
  frame_unknown: {
    http: 404,
    retry: false,
    says: 'No frame has this name.',
    next: 'Give it to createRuntime({ frames }), or use a name from there. Nothing was started.',
  },
} as const
