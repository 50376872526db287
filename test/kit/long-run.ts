// Whether the big numbers are wanted: `npm run test:long` sets it. Every other run has a part of them.

export const long = process.env.PAWL_LONG === '1'
