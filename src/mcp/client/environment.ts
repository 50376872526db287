// The environment of a stdio server: a short list of variables of this process, and those that its entry sets.

/** Only these are inherited, because the other variables of this process may hold secrets. */
const inherited = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'TERM',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

export function childEnvironment(): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    // Old shells execute a value that looks like a function.
    if (value !== undefined && !value.startsWith('()')) env[name] = value
  }
  return env
}

const secretName = /auth|key|token|secret|password|passwd|credential|cookie/i
/** Redacting shorter values would remove ordinary words. */
const minSecretLength = 8

/** Replaces each `${NAME}` by a variable of this process. A missing one is an error that names it. */
export function resolveReferences(
  given: Readonly<Record<string, string>>,
  where: string,
  refuse: (why: string) => never,
): { values: Record<string, string>; secrets: string[] } {
  const values: Record<string, string> = {}
  const secrets: string[] = []
  for (const [key, text] of Object.entries(given)) {
    let hasReference = false
    values[key] = text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
      const value = process.env[name]
      if (value === undefined || value === '')
        return refuse(`\`${where}.${key}\` refers to the environment variable ${name}, which is not set`)
      hasReference = true
      secrets.push(value)
      return value
    })
    if (!hasReference && secretName.test(key)) {
      secrets.push(values[key])
      const [, credential] = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(values[key]) ?? []
      if (credential !== undefined) secrets.push(credential)
    }
  }
  return { values, secrets: secrets.filter((each) => each.length >= minSecretLength) }
}
