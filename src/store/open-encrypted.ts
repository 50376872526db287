// A store as a runtime sees it that seals what is sensitive: for who puts records into a store before a runtime is there.

import { Seal } from '../security/seal.ts'
import { type KeyOptions, openKeys } from './open-keys.ts'
import { sealed } from './encrypted-store.ts'
import type { Store } from './store.ts'

export const openSealed = async (store: Store, keys: KeyOptions | undefined): Promise<Store> =>
  sealed(store, { seal: new Seal(await openKeys(store, keys)), all: false })
