// One-time codes that log a browser in: `pawl serve` prints a URL with one. The code becomes a cookie that scripts
// cannot read, and the URL is of no use any more.

import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Identity } from './http/authenticate.ts'
import { browserTokenName, cookieName } from './http/authenticate.ts'
import { markup } from './export/escape-html.ts'
import { htmlPage } from './pages/page.ts'
import type { Runtime } from '../index.ts'

const validMs = 5 * 60_000
const maxCodes = 100
/** How long a browser stays logged in. */
const cookieHours = 12

export class LoginCodes {
  readonly #codes = new Map<string, { readonly identity: Required<Identity>; readonly until: number }>()
  readonly #clock: Pick<Clock, 'now'>

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  create(identity: Required<Identity>): string {
    for (const old of [...this.#codes.keys()].slice(0, Math.max(0, this.#codes.size - maxCodes + 1)))
      this.#codes.delete(old)
    const code = randomBytes(32).toString('base64url')
    this.#codes.set(code, { identity, until: this.#clock.now() + validMs })
    return code
  }

  /** Sets the cookie and opens the start page. */
  async use(runtime: Runtime, url: URL, request: Request, basePath: string): Promise<Response> {
    const code = url.searchParams.get('code') ?? ''
    const known = this.#codes.get(code)
    // A request for the headers alone, as link previews send it, does not use up the code.
    if (request.method !== 'HEAD') this.#codes.delete(code)
    if (!known || known.until < this.#clock.now()) return expired(basePath)
    if (request.method === 'HEAD') return new Response(null, { status: 204 })
    const { principal, roles, tenant } = known.identity
    const expiresIn = `${cookieHours}h` as const
    const { token } = await runtime.tokens.create({
      name: browserTokenName,
      principal,
      roles,
      tenant,
      expiresIn,
      by: principal,
    })
    const headers = { location: `${basePath}/`, 'set-cookie': loginCookie(token, url, basePath) }
    return new Response(null, { status: 303, headers })
  }
}

/** Scripts cannot read it, and pages of other sites cannot make the browser send it. */
export function loginCookie(token: string, { protocol }: URL, basePath: string): string {
  const path = basePath === '' ? '/' : basePath
  const secure = protocol === 'https:' ? '; Secure' : ''
  return `${cookieName}=${token}; Path=${path}; Max-Age=${cookieHours * 3600}; HttpOnly; SameSite=Strict${secure}`
}

const expired = (basePath: string): Response =>
  htmlPage(
    'The link has expired',
    markup`<h1>This link was used before, or has expired.</h1>
<p><a href="${basePath}/">Sign in with a token</a>, or start <code>pawl serve</code> again: it prints a new link.</p>`,
    401,
  )
