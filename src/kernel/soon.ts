// WORDS: an answer that is there at once, or promised. Most of what a call goes through is there at once; a promise for each of its
// stages would cost more than the stages.

export type Soon<T> = T | Promise<T>
