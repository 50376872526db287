// The built console: its page, and the files that the page loads. server.ts serves them. `npm run build` makes the
// files in dist/console.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isConsolePath } from './console-paths.ts'

/** Nothing is loaded from another host, and nothing runs that is not a file of the console. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The console of this package: beside the server in dist, or built from a checkout. */
const packageFolder = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../console', import.meta.url))

const compress = promisify(gzip)

interface Asset {
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Compressed at the first request. */
  zipped: Promise<Uint8Array<ArrayBuffer>> | null
}

/** The names of files have a digest of their content, so a browser may keep them for ever. */
const immutable = 'public, max-age=31536000, immutable'

export class ConsoleFiles {
  readonly #page: string
  readonly #assets: ReadonlyMap<string, Asset>

  private constructor(page: string, assets: ReadonlyMap<string, Asset>) {
    this.#page = page
    this.#assets = assets
  }

  /** Null if the console is not built. @param folder Default: the one of this package. */
  static open(folder: string = packageFolder()): ConsoleFiles | null {
    const page = join(folder, 'index.html')
    if (!existsSync(page)) return null
    const assets = new Map<string, Asset>()
    for (const name of readdirSync(join(folder, 'assets'))) {
      const type = mediaTypes[extname(name)]
      const bytes = Uint8Array.from(readFileSync(join(folder, 'assets', name)))
      if (type !== undefined) assets.set(`/assets/${name}`, { type, bytes, zipped: null })
    }
    return new ConsoleFiles(readFileSync(page, 'utf8'), assets)
  }

  /** Null if the path is not one of the console. */
  async respond(request: Request, path: string, basePath: string): Promise<Response | null> {
    const asset = this.#assets.get(path)
    if (asset) return assetResponse(asset, request)
    if (!isConsolePath(path)) return null
    // The page is at paths of any depth, so its relative links are made absolute.
    const page = this.#page.replaceAll('"./assets/', `"${basePath}/assets/`)
    const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }
    return new Response(page, { headers })
  }
}

async function assetResponse(asset: Asset, request: Request): Promise<Response> {
  const { type, bytes } = asset
  const headers = { 'content-type': type, 'cache-control': immutable, vary: 'accept-encoding' }
  if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(bytes, { headers })
  asset.zipped ??= compress(bytes, { level: 9 }).then((zipped) => Uint8Array.from(zipped))
  return new Response(await asset.zipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
}
