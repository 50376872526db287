// Opens a store for reading and writing sealed records without a runtime. Used by replay in src/testing.

import { Seal } from '../security/seal.ts'
import { type KeyOptions, openKeys } from './check-host-secrets.ts'
import { encryptedStore } from './encrypted-store.ts'
import type { Store } from './store.ts'

export const openSealed = async (store: Store, keys: KeyOptions | undefined): Promise<Store> =>
  encryptedStore(store, { seal: new Seal(await openKeys(store, keys)) })
