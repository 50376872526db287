// The frame of every screen: navigation, account, banner, help.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { chooseTenant, maxTenantLength } from '../api/client.ts'
import { formText } from '../forms/form-text.ts'
import { isDialogOpen, useKeys } from '../ui/keys.ts'
import { Notices } from '../ui/notices.tsx'
import { Dialog } from '../ui/parts.tsx'
import { Banner } from './banner.tsx'
import { GoTo } from './go-to.tsx'
import { inboxQuery } from './inbox-query.ts'
import { useMe } from './me.tsx'
import { SignOut } from './sign-out.tsx'
import { chooseTheme, readTheme, type Theme, themes } from './theme.ts'

export interface NavigationItem {
  readonly path: string
  readonly title: string
  /** Opened by `g` and then this key. */
  readonly key: string
  /** The first item of a group. */
  readonly isFirst?: boolean
}

function InboxCount(): ReactNode {
  const { data } = useQuery(inboxQuery)
  if (!data || data.length === 0) return null
  return (
    <span className="ml-1 rounded-full bg-sunk px-1.5 text-xs font-semibold text-wait">
      {data.length >= 1_000 ? '1000+' : data.length}
      <span className="sr-only"> waiting</span>
    </span>
  )
}

interface FrameProps {
  readonly items: readonly NavigationItem[]
  readonly children: ReactNode
}

const isActive = (location: string, path: string): boolean =>
  location === path || location.startsWith(`${path}/`) || (path === '/inbox' && location === '/')

export function Frame({ items, children }: FrameProps): ReactNode {
  const [location, navigate] = useLocation()
  const [dialog, setDialog] = useState<'help' | 'account' | 'go' | null>(null)
  const [isGoing, setGoing] = useState(false)
  const navigation = useRef<HTMLElement>(null)
  // A phone shows a part of the navigation.
  useEffect(() => {
    const active = navigation.current?.querySelector('[aria-current="page"]')
    active?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [location])
  const goTo = (path: string) => (): void => {
    setGoing(false)
    navigate(path)
  }
  useKeys({
    '?': () => setDialog('help'),
    '/': () => setDialog('go'),
    g: () => {
      setGoing(true)
      setTimeout(() => setGoing(false), 1_500)
    },
    ...(isGoing ? Object.fromEntries(items.map(({ key, path }) => [key, goTo(path)])) : {}),
  })
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || isDialogOpen()) return
      event.preventDefault()
      setDialog('go')
    }
    document.addEventListener('keydown', open)
    return () => document.removeEventListener('keydown', open)
  }, [])
  return (
    <div className="flex min-h-full flex-col md:flex-row">
      <a href="#content" className="button sr-only focus:not-sr-only focus:absolute focus:z-30">
        Skip to content
      </a>
      <nav
        ref={navigation}
        aria-label="Console"
        className="sticky top-0 z-10 flex shrink-0 items-center gap-0.5 overflow-x-auto border-b border-line bg-panel px-1.5
          py-1.5 md:gap-1 md:h-dvh md:w-48 md:flex-col md:items-stretch md:border-r md:border-b-0 md:px-3 md:py-4"
      >
        <span className="hidden px-2 pb-3 text-lg font-bold md:block">Pawl</span>
        {items.map(({ path, title, isFirst = false }) => (
          <Link
            key={path}
            href={path}
            aria-current={isActive(location, path) ? 'page' : undefined}
            className={`flex min-h-10 shrink-0 items-center rounded-md px-2 text-sm whitespace-nowrap md:min-h-9 md:px-2.5 md:text-base ${
              isActive(location, path) ? 'bg-sunk font-semibold' : 'text-soft hover:text-text'
            } ${isFirst ? 'md:mt-4' : ''}`}
          >
            {title}
            {path === '/inbox' && <InboxCount />}
          </Link>
        ))}
        <span className="hidden flex-1 md:block" />
        <button
          type="button"
          className="button button-small hidden md:inline-flex"
          onClick={() => setDialog('go')}
          aria-keyshortcuts="/ Meta+K Control+K"
        >
          Go to <kbd className="text-soft">/</kbd>
        </button>
        <button
          type="button"
          className="button button-small hidden md:inline-flex"
          onClick={() => setDialog('account')}
        >
          Account
        </button>
        <button
          type="button"
          className="button button-small hidden md:inline-flex"
          onClick={() => setDialog('help')}
          aria-keyshortcuts="?"
        >
          Keys <kbd className="text-soft">?</kbd>
        </button>
      </nav>
      <header className="flex items-center justify-between border-b border-line bg-panel px-3 py-1.5 md:hidden">
        <span className="font-bold">Pawl</span>
        <span className="flex gap-2">
          <button type="button" className="button button-small min-h-10" onClick={() => setDialog('go')}>
            Go to
          </button>
          <button type="button" className="button button-small min-h-10" onClick={() => setDialog('account')}>
            Account
          </button>
        </span>
      </header>
      <div className="flex min-w-0 flex-1 flex-col">
        <Banner />
        <main id="content" tabIndex={-1} className="mx-auto w-full max-w-6xl flex-1 p-3 md:p-6">
          {children}
        </main>
      </div>
      <Notices />
      {dialog === 'go' && <GoTo items={items} onClose={() => setDialog(null)} />}
      {dialog === 'help' && <Help items={items} onClose={() => setDialog(null)} />}
      {dialog === 'account' && <Account onClose={() => setDialog(null)} />}
    </div>
  )
}

const screenKeys: readonly (readonly [string, string])[] = [
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['a', 'Approve the request'],
  ['d', 'Deny it, with a reason'],
  ['e', 'Edit its arguments, then approve'],
  ['x', 'Select the request, to decide about several of the same tool'],
  ['/', 'Go to a screen, a tool, a session or an id; also Ctrl K'],
  ['?', 'This list'],
]

function Help({ items, onClose }: { readonly items: readonly NavigationItem[]; readonly onClose: () => void }) {
  const rows = [...items.map(({ key, title }) => [`g ${key}`, title] as const), ...screenKeys]
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="mb-4 grid grid-cols-[5rem_1fr] gap-y-1">
        {rows.map(([key, text]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded bg-sunk px-1.5">{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button type="button" className="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}

const permissionWords: Readonly<Record<string, string>> = {
  read: 'see everything',
  call: 'run tools',
  decide: 'decide requests',
  operate: 'see rules and internals',
  admin: 'manage tokens',
}

function Account({ onClose }: { readonly onClose: () => void }): ReactNode {
  const me = useMe()
  const [theme, setTheme] = useState<Theme>(readTheme)
  return (
    <Dialog title="Account" onClose={onClose}>
      <dl className="mb-4 grid grid-cols-[7rem_1fr] gap-y-1">
        <dt className="text-soft">You are</dt>
        <dd className="any">{me.principal}</dd>
        <dt className="text-soft">You may</dt>
        <dd>{me.permissions.map((permission) => permissionWords[permission] ?? permission).join(', ')}</dd>
        <dt className="text-soft">Tenant</dt>
        <dd className="any">{me.tenant}</dd>
      </dl>
      {me.allTenants && (
        <form
          className="mb-4 flex items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            chooseTenant(formText(new FormData(event.currentTarget), 'tenant'))
          }}
        >
          <label className="flex-1">
            <span className="mb-1 block text-sm text-soft">Work in another tenant</span>
            <input name="tenant" className="field" maxLength={maxTenantLength} defaultValue={me.tenant} />
          </label>
          <button type="submit" className="button">
            Change
          </button>
        </form>
      )}
      <fieldset className="mb-4">
        <legend className="mb-1 text-sm text-soft">Theme</legend>
        <div className="flex gap-4">
          {themes.map((each) => (
            <label key={each} className="flex items-center gap-1.5">
              <input
                type="radio"
                name="theme"
                checked={theme === each}
                onChange={() => {
                  chooseTheme(each)
                  setTheme(each)
                }}
              />
              <span className="capitalize">{each}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        <SignOut />
      </div>
    </Dialog>
  )
}
