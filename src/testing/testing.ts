// `pawl/testing`: helpers to test tools, and the conformance suite for stores.

export { type ManualClock, manualClock } from './manual-clock.ts'
export { crashTest, type CrashTestOptions } from './crash/crash-test.ts'
export { type CrashPoint, type CrashReport, type CrashRun, CrashTestError } from './crash/report.ts'
export { type Logged, type TestRuntime, type TestRuntimeOptions, testRuntime } from './test-runtime.ts'
export {
  type Line,
  type ScriptedCall,
  type ScriptedLine,
  type ScriptedModel,
  scriptedModel,
  type ScriptedModelOptions,
  type Seen,
} from './scripted-model.ts'
export { record, type Replay, replay, type ReplayedCall, type ReplayOptions } from './replay.ts'
export { failingTool, flakyTool, hangingTool, slowTool, type TestTool, type TestToolOptions } from './failing-tools.ts'
export {
  type Need,
  type OpenedStore,
  type OpenStore,
  reasonToSkip,
  type StoreCase,
  storeCases,
  type StoreTraits,
  titleOf,
} from './store-cases/store-cases.ts'
export { memoryStore } from '../store/memory/memory-store.ts'
export type * from '../store/store.ts'
