// FILES: names that a file system does not tell apart. Where it ignores case, asking for 'A' finds 'a': two names would silently be one file.

export interface LookedAt {
  readonly ino: number
  readonly dev: number
}

interface Place {
  look(name: string): Promise<LookedAt | undefined>
  names(): Promise<readonly string[]>
}

/**
 * The name that was found instead of the one asked for; undefined if it is that one. Costs one more look where case matters: there the same
 * name in another case is nothing, or another file.
 */
export async function twinOf(name: string, found: LookedAt, { look, names }: Place): Promise<string | undefined> {
  const turned = turn(name)
  if (turned === name) return undefined
  const other = await look(turned)
  if (!other || other.ino !== found.ino || other.dev !== found.dev) return undefined
  const all = await names()
  return all.includes(name) ? undefined : (all.find((each) => fold(each) === fold(name)) ?? turned)
}

const fold = (name: string): string => name.toLowerCase().toUpperCase()

/** Small letters as capitals and capitals as small, as far as that changes no length. */
const turn = (name: string): string =>
  Array.from(name, (letter) => {
    const [small, capital] = [letter.toLowerCase(), letter.toUpperCase()]
    const other = letter === small ? capital : small
    return other.length === letter.length ? other : letter
  }).join('')
