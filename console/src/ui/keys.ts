// Keys of a screen. They do nothing while a person types, in a dialog, or with a modifier.

import { useEffect, useRef } from 'react'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog') !== null

export const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null

export function useKeys(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const act = current.current[event.key]
      if (!act || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      // A dialog keeps the focus, but a click beside it takes the focus away.
      if (isDialogOpen()) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
