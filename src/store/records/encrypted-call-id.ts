// Marks calls with sealed payloads in their uid. Every row about a call contains the uid, so readers and writers know
// without another lookup, and a plain value where a sealed one is expected is detected.

const suffix = '~s'

export const sealedUid = (uid: string): string => `${uid}${suffix}`
export const isSealedUid = (uid: string): boolean => uid.endsWith(suffix)
