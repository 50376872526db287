// What the model of the killed chats says, and what the page must show in the end.

export const firstText = 'Let me look at your order and ask for the refund of it at once.'
export const secondText = 'You get 42 euros back, and they will be on your account within three working days or so.'
export const lastText = 'You are welcome, and I wish you a very pleasant rest of this day wherever you may be.'

export const script = [{ say: firstText, call: [{ name: 'look' }, { name: 'refund' }] }, secondText, lastText]

/** Texts and results of the page, in order. */
export const shownAtEnd = [
  'user: Refund A1',
  `assistant: ${firstText}`,
  'assistant: look done',
  'assistant: refund done',
  `assistant: ${secondText}`,
  'user: Thank you',
  `assistant: ${lastText}`,
]
