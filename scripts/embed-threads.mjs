// The last step of the build. Replaces each call of threadProgram() in dist by the bundled source of that thread as a
// string, and removes the thread's own files: a bundler of an application would not find them.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildSync } from 'esbuild'

const call = /threadProgram\(import\.meta\.url, '([\w-]+)'\)/
/** The text that the license of a package requires in every copy of its code. */
const licenseOf = (name) => {
  const [license] = globSync(`node_modules/${name}/LICENSE*`)
  if (!license) throw new Error(`${name} has no license file`)
  return `/*! ${name}\n\n${readFileSync(license, 'utf8')}*/\n`
}

const entries = []
for (const file of globSync('dist/**/*.js')) {
  const source = readFileSync(file, 'utf8')
  const name = call.exec(source)?.[1]
  if (!name) continue
  const entry = join(dirname(file), name)
  const { outputFiles, metafile } = buildSync({
    entryPoints: [`${entry}.js`],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22.18',
    minify: true,
    write: false,
    metafile: true,
  })
  const inputs = Object.keys(metafile.inputs)
  const packages = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []))
  const licenses = [...packages].map(licenseOf).join('')
  writeFileSync(
    file,
    source.replace(call, () => JSON.stringify(licenses + outputFiles[0].text)),
  )
  entries.push(entry)
}
if (entries.length !== 4) throw new Error(`expected 4 threads in dist, found ${entries.length}`)
for (const entry of entries) for (const ending of ['.js', '.d.ts']) rmSync(entry + ending)
