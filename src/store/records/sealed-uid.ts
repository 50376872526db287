// JOURNAL: a call whose payloads are sealed says so in its uid. Everything that is written about a call names it, so whoever writes or reads
// a row knows without asking, and a plain text in the place of a sealed one is noticed.

const mark = '~s'

export const sealedUid = (uid: string): string => `${uid}${mark}`
export const isSealedUid = (uid: string): boolean => uid.endsWith(mark)
