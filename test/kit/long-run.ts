// True in `npm run test:long`, which uses the full sizes and counts. Other runs use smaller ones.

export const long = process.env.PAWL_LONG === '1'
