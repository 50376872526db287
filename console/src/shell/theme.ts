// Light, dark, or as the system says. The choice is the browser's.

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]
const key = 'pawl.theme'

export function readTheme(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((theme) => theme === stored) ?? 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  applyTheme(theme)
}
