// Builds the console into dist/console. `--if-stale` builds only if it is missing or older than its source.
// `--into <folder>` builds elsewhere, for tests.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import { build } from 'vite'

// React has further checks otherwise, which cost size and speed.
process.env.NODE_ENV = 'production'

const root = resolve(import.meta.dirname, '..')
const into = process.argv.indexOf('--into')
const outDir = into === -1 ? join(root, 'dist/console') : resolve(process.argv[into + 1])

/** Sources of the console; the client is a part of it. */
const sources = ['console', 'src/client', 'src/server/endpoints.ts', 'package-lock.json']

function newestChange(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => newestChange(join(path, name))))
}

const built = join(outDir, 'index.html')
const isFresh = () =>
  existsSync(built) && sources.every((source) => newestChange(join(root, source)) < statSync(built).mtimeMs)

if (!process.argv.includes('--if-stale') || !isFresh())
  await build({
    configFile: false,
    root: join(root, 'console'),
    base: './',
    logLevel: 'warn',
    plugins: [tailwindcss()],
    resolve: { conditions: ['@pawl/source', 'browser', 'module', 'import', 'default'] },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2024',
      cssTarget: 'es2024',
      // Every file is loaded from this server, and the policy forbids data in scripts and styles.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // Libraries mark their modules for servers that render React; here all of it runs in the browser.
      rolldownOptions: { onwarn: (warning, warn) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning) },
    },
  })
