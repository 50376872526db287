// Runs before every command: if Node is too old, says so and how to get the right one.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 16)) {
  console.error(`The scripts of this repository need Node 24.16 or newer and this is ${process.versions.node}.
The right one comes with the project's own packages; it is missing, perhaps because install scripts were switched off.
Nothing was run. To bring it:

  npm rebuild node
`)
  process.exit(1)
}
