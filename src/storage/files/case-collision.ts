// Detects case-insensitive file systems, where looking up 'A' finds 'a' and two names would silently be one file.

export interface FileIdentity {
  readonly ino: number
  readonly dev: number
}

interface DirectoryReader {
  look(name: string): Promise<FileIdentity | undefined>
  names(): Promise<readonly string[]>
}

/**
 * The name that the file system found instead of the requested one; undefined if it found the requested one. Costs one
 * extra lookup on a case-sensitive file system, where the name in swapped case does not exist or is another file.
 */
export async function caseCollision(
  name: string,
  found: FileIdentity,
  { look, names }: DirectoryReader,
): Promise<string | undefined> {
  const swapped = swapCase(name)
  if (swapped === name) return undefined
  const other = await look(swapped)
  if (!other || other.ino !== found.ino || other.dev !== found.dev) return undefined
  const all = await names()
  return all.includes(name) ? undefined : (all.find((each) => fold(each) === fold(name)) ?? swapped)
}

const fold = (name: string): string => name.toLowerCase().toUpperCase()

/** Swaps upper and lower case, except for letters whose length would change. */
const swapCase = (name: string): string =>
  Array.from(name, (letter) => {
    const [small, capital] = [letter.toLowerCase(), letter.toUpperCase()]
    const other = letter === small ? capital : small
    return other.length === letter.length ? other : letter
  }).join('')
