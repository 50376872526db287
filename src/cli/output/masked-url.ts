// Connection strings and addresses as the CLI prints them: without their passwords.

/** The password of a connection string. */
export const maskedStore = (store: string): string => (store.startsWith('sqlite:') ? store : maskedUrl(store))

export function maskedUrl(text: string): string {
  if (!URL.canParse(text)) return /[@=]/.test(text) ? '****' : text
  const url = new URL(text)
  if (url.password !== '') url.password = '****'
  for (const name of url.searchParams.keys())
    if (/pass|secret|token|key/i.test(name)) url.searchParams.set(name, '****')
  return url.href
}
