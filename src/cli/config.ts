// `pawl/config`: the types of pawl.config.ts, and defineConfig() with which it is written. It loads nothing else, so a
// command that needs no tools starts fast.

import type { Frame, RuntimeOptions } from '../index.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'

/** The options of the runtime; the store and the keys may be left to the rest of the configuration. */
export type ConfiguredRuntime = Partial<RuntimeOptions>

/** Settings of `pawl serve`. */
export interface ServerSettings {
  /** Default: 7717. 0 takes a free port. */
  readonly port?: number
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Names under which the server may be reached, besides its own address. */
  readonly allowedHosts?: readonly string[]
  /** How long running tools may take to finish when the server stops. Default: 25 s. */
  readonly grace?: RuntimeOptions['lease']
  /** Model, frame and instructions of turns that name none. */
  readonly turn?: { readonly model?: string; readonly frame?: string | Frame; readonly instructions?: string }
}

/** The configuration of a project, in pawl.config.ts, .mjs or .js. Flags and environment variables come before it. */
export interface PawlConfig {
  /** Such as 'sqlite:agent.db' (relative to this file) or 'postgres://…'. Default: 'sqlite:.pawl/pawl.db'. */
  readonly store?: string
  /** The secret of the store and earlier ones. */
  readonly keys?: RuntimeOptions['keys']
  /** Default: 'default'. */
  readonly tenant?: string
  /**
   * Tools, models, policy and other options of createRuntime(). A function is called only by commands that need tools,
   * so that the others start fast.
   *
   * @example
   * runtime: () => import('./agent.ts') // its default export
   */
  readonly runtime?:
    | ConfiguredRuntime
    | (() => MaybePromise<ConfiguredRuntime | { readonly default: ConfiguredRuntime }>)
  /** Settings of `pawl serve`. */
  readonly server?: ServerSettings
  /** The address of a Pawl server: commands work on it instead of a local store. */
  readonly url?: string
  /** The token for `url`. Better in PAWL_TOKEN. */
  readonly token?: string
}

/**
 * Types a configuration; returns it unchanged.
 *
 * @example
 * export default defineConfig({ store: 'sqlite:agent.db', runtime: () => import('./agent.ts') })
 */
export const defineConfig = (config: PawlConfig): PawlConfig => config
