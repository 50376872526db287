// `pawl/box`: what tools are made of.

export { type ProcessEnd, type ProcessOptions, runProcess } from './process.ts'
