// A child process of web-flood.ts: raw HTTP/1.1 servers that flood each client, so that their work is not measured.

import { type AddressInfo, createServer, type Socket } from 'node:net'

const chunked = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n'
const page = 'A line of an ordinary page.\n'.repeat(4_000)

/** What is sent once, and what is sent again and again until the client closes the connection. */
const floods: Readonly<Record<string, readonly [once: string, again: string]>> = {
  'ordinary page (control)': [
    `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    '',
  ],
  '103 Early Hints': ['', 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n'],
  '100 Continue': ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
  'chunks of 1 byte': [chunked, '1\r\nx\r\n'],
  'chunk extensions': [chunked, `1;${'e'.repeat(500)}\r\nx\r\n`],
  'zeros before a chunk size': [chunked, '0'],
}

function serve([once, again]: readonly [string, string]): (socket: Socket) => void {
  const block = Buffer.from(again.repeat(Math.ceil(64_000 / (again.length || 64_000))))
  return (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(once)
      const more = (): void => {
        while (block.length > 0 && !socket.destroyed && socket.write(block));
      }
      socket.on('drain', more)
      more()
    })
  }
}

const ports: Record<string, number> = {}
for (const [name, flood] of Object.entries(floods)) {
  const server = createServer(serve(flood))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  ports[name] = (server.address() as AddressInfo).port
}
process.send?.(ports)
