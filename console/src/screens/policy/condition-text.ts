// The conditions of a rule as a text, for the person who adds it and for those who read it later.

import { isRecord } from '../../forms/schema.ts'

const operators: Readonly<Record<string, string>> = { eq: '=', ne: '≠', lt: '<', lte: '≤', gt: '>', gte: '≥' }

/** In quotes, if it could be read as a part of the condition. */
const nameText = (name: string): string => (/^[\w.[\]-]+$/.test(name) ? name : JSON.stringify(name))

/** Such as `cents ≤ 700 and order = "A7"`. A condition that is none of these is shown as it is recorded. */
export const conditionText = (when: object): string =>
  Object.entries(when)
    .flatMap(([name, terms]) =>
      Object.entries(isRecord(terms) ? terms : { eq: terms }).map(
        ([operator, value]) => `${nameText(name)} ${operators[operator] ?? operator} ${JSON.stringify(value)}`,
      ),
    )
    .join(' and ')
