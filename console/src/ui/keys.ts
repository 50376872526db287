// Keys of a screen. They do nothing while a person types, in a dialog, or with a modifier.

import { useEffect, useRef } from 'react'

const fields = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], dialog'

const isIn = (target: EventTarget | null, selector: string): boolean =>
  target instanceof HTMLElement && target.closest(selector) !== null

/** Keys that a person may hold down. */
const movement: ReadonlySet<string> = new Set(['j', 'k'])

export const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null

export function useKeys(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const act = current.current[event.key]
      if (!act || event.ctrlKey || event.metaKey || event.altKey || isIn(event.target, fields)) return
      // The element itself acts on Enter, and a key that is held down must not decide several times.
      if (event.key === 'Enter' && isIn(event.target, 'a, button, summary')) return
      if (event.repeat && !movement.has(event.key)) return
      // A dialog keeps the focus, but a click beside it takes the focus away.
      if (isDialogOpen()) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
