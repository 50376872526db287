// Rows of the error table (errors.ts) about turns and models.

export const turnErrors = {
  turn_invalid: {
    http: 400,
    retry: false,
    summary: 'The turn or message is invalid.',
    next: 'Correct the arguments. Nothing was started or recorded.',
    detailOnly: true,
  },
  turn_conflict: {
    http: 409,
    retry: false,
    summary: 'Another turn is recorded under this id.',
    next: 'Use a new id, or repeat the same request. Nothing was started.',
  },
  message_conflict: {
    http: 409,
    retry: false,
    summary: 'Another message is recorded under this id.',
    next: 'Use a new id, or repeat the same message. Nothing was sent.',
  },
  capability_unknown: {
    http: 404,
    retry: false,
    summary: 'No capability has this name.',
    next: 'Use a name from createRuntime({ capabilities }), or add the capability there. Nothing was enabled.',
  },
  model_invalid: {
    http: 400,
    retry: false,
    summary: 'The value is not a model.',
    next: 'Pass a model made by aiModel(), or an object with a name and generate().',
    detailOnly: true,
  },
  model_unknown: {
    http: 404,
    retry: false,
    summary: 'No model has this name.',
    next: 'Use a name from createRuntime({ models }), or add the model there. Nothing was started.',
    detailOnly: true,
  },
  frame_unknown: {
    http: 404,
    retry: false,
    summary: 'No frame has this name.',
    next: 'Use a name from createRuntime({ frames }), or add the frame there. Nothing was started.',
    detailOnly: true,
  },
} as const
