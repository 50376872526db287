// Secret rotation while one store operation fails: the next open succeeds and open calls keep their wait keys.
import { createRuntime, PawlError } from 'pawl'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { closeDuringCall } from '../../kit/interrupted-calls.ts'
import { stores } from '../../kit/open-runtime.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

const a = 'a'.repeat(43)
const b = 'b'.repeat(43)

for (const [kind, fresh] of stores)
  for (const how of ['before', 'after'] as const)
    test(
      `DUR-12: rotation survives a store failure on ${kind}, ${how} the operation`,
      { timeout: 60_000 },
      async () => {
        const found: string[] = []
        for (let failing = 0; failing < 25; failing++) {
          const { clock, store } = fresh()
          const own: Store = { ...store, close: async () => {} }
          let key = ''
          const t = rerunTool('t', async (_, ctx) => {
            const l = await ctx.later<string>()
            if (key && key !== l.key) found.push(`${failing}: another key`)
            key = l.key
            return l
          })
          const one = await createRuntime({
            store: own,
            clock,
            tools: [t],
            logger: quiet,
            encrypt: true,
            keys: { secret: a },
          })
          await closeDuringCall(one, clock, { id: '1', name: 't' })
          let n = 0
          const bad: Record<string, unknown> = { ...own }
          for (const name of Object.keys(own)) {
            const method = (own as never)[name] as (...args: unknown[]) => unknown
            if (typeof method !== 'function' || ['write', 'onHint', 'close'].includes(name)) continue
            bad[name] = (...args: unknown[]) => {
              if (n++ !== failing) return method(...args)
              if (how === 'after') {
                const r = method(...args)
                if (r instanceof Promise)
                  return r.then(() => {
                    throw new PawlError('store_unavailable', 'planted')
                  })
              }
              throw new PawlError('store_unavailable', 'planted')
            }
          }
          const open = () =>
            createRuntime({
              store: bad as never,
              clock,
              tools: [t],
              logger: quiet,
              encrypt: true,
              keys: { secret: b, previous: [a] },
            })
          try {
            const two = await open().catch((e: PawlError) => {
              if (e.code !== 'store_unavailable') throw e
              return open()
            })
            const run = two
              .session('s')
              .run([{ id: '1', name: 't' }])
              .catch(() => two.session('s').run([{ id: '1', name: 't' }]))
            await clock.advance(100)
            const said = await two.resolve(key, { value: 'yes' }).catch(() => two.resolve(key, { value: 'yes' }))
            if (said.answer === 'unknown_or_revoked') found.push(`${failing}: ${said.answer}`)
            const end = await after(run, clock)
            if (!JSON.stringify(end).includes('"yes"')) found.push(`${failing}: ${JSON.stringify(end).slice(0, 200)}`)
          } catch (error) {
            found.push(`${failing}: ${(error as Error).message}`)
          }
        }
        expect(found).toEqual([])
      },
    )
