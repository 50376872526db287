// Fetches from a loopback server and prints the result. Started with proxies in its environment.

import { fetcher } from './loopback-servers.ts'

const port = Number(process.argv[2])
const { fetch, close } = await fetcher({ ports: [port], allowAddress: (address) => address === '127.0.0.1' })
console.log(JSON.stringify(await fetch({ url: `http://127.0.0.1:${port}/` })))
await close()
