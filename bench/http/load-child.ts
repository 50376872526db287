// Makes the load of http.ts in a process of its own: requests over connections that stay open, and subscribers of an
// event stream. It writes and reads bytes itself, because an HTTP client would take more of the machine than the server.

import { connect, type Socket } from 'node:net'
import { quantile } from '../kit/statistics.ts'
import { answerQuestions } from './child.ts'
import { type LoadQuestion, now, type Received } from './protocol.ts'
import { slice } from './slice.ts'

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })

interface Settle {
  resolve(): void
  reject(error: Error): void
}

/** Sends requests one after the other and waits for each response. */
class Connection {
  readonly #socket: Socket
  #settle: Settle | null = null
  #text = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('close', () => this.#settle?.reject(new Error(`The connection was closed: ${this.#text}`)))
  }

  send(request: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(request)
    })
  }

  #read(text: string): void {
    this.#text += text
    const body = this.#text.indexOf('\r\n\r\n') + 4
    if (body < 4) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#text)?.[1])
    if (this.#text.length < body + length) return
    const isSuccess = this.#text.startsWith('HTTP/1.1 200') && this.#text.includes('"status":"success"')
    const { resolve, reject } = this.#settle as Settle
    this.#settle = null
    if (isSuccess) resolve()
    else reject(new Error(this.#text))
    this.#text = ''
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** Reads a stream of events and checks the numbers of the recorded and the live ones. */
class Subscriber {
  readonly socket: Socket
  readonly lags: number[] = []
  recorded = 0
  live = 0
  bytes = 0
  isBroken = false
  #text = ''

  constructor(socket: Socket, request: string, onOpen: () => void) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      if (this.bytes === 0) onOpen()
      this.bytes += text.length
      this.#read(this.#text + text)
    })
    socket.write(request)
  }

  #read(text: string): void {
    const end = text.lastIndexOf('\n')
    this.#text = text.slice(end + 1)
    for (let at = 0; at < end;) {
      const next = text.indexOf('\n', at)
      if (text.startsWith('data: ', at)) this.#event(text.slice(at + 6, next))
      at = next + 1
    }
  }

  #event(data: string): void {
    if (data.includes('"type":"task.event"')) {
      const { n, sent } = (JSON.parse(data) as { payload: { n: number; sent: number } }).payload
      if (n !== this.recorded++) this.isBroken = true
      this.lags.push(now() - sent)
    } else if (data.includes('"type":"call.output"')) {
      for (const [, n] of data.matchAll(/#(\d+);/g)) if (Number(n) !== this.live++) this.isBroken = true
    } else if (data.includes('"code":')) this.isBroken = true
  }
}

const subscribers: Subscriber[] = []
/** At once; more would overflow the queue of connections that the server has not accepted yet. */
const atOnce = 50

async function subscribe(request: string, port: number, count: number): Promise<number> {
  for (let from = 0; from < count; from += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - from) }, async () => {
        const socket = await open(port)
        await new Promise<void>((resolve) => {
          subscribers.push(new Subscriber(socket, request, resolve))
        })
      }),
    )
  return subscribers.length
}

async function received(events: number, withinMs: number): Promise<Received> {
  const until = performance.now() + withinMs
  const isDone = (each: Subscriber): boolean => each.recorded >= events && each.live >= events
  while (!subscribers.every(isDone) && performance.now() < until) await new Promise((done) => setTimeout(done, 50))
  const lags = subscribers.flatMap((each) => each.lags)
  return {
    subscribers: subscribers.length,
    complete: subscribers.filter((each) => !each.isBroken && each.recorded === events && each.live === events).length,
    recorded: subscribers.reduce((sum, each) => sum + each.recorded, 0),
    live: subscribers.reduce((sum, each) => sum + each.live, 0),
    bytes: subscribers.reduce((sum, each) => sum + each.bytes, 0),
    lagP50: quantile(lags, 0.5),
    lagP99: quantile(lags, 0.99),
  }
}

answerQuestions<LoadQuestion>(
  async (question) => {
    switch (question.ask) {
      case 'requests': {
        const { requests, port, ms } = question
        const connections = await Promise.all(requests.map(async () => new Connection(await open(port))))
        try {
          return await slice(connections.length, ms, async (caller) =>
            connections[caller]?.send(requests[caller] as string),
          )
        } finally {
          for (const connection of connections) connection.close()
        }
      }
      case 'subscribe':
        return { subscribed: await subscribe(question.request, question.port, question.count) }
      case 'received':
        return received(question.events, question.withinMs)
      default:
        for (const { socket } of subscribers.splice(0)) socket.destroy()
        return { left: true } as const
    }
  },
  async () => {},
)
process.send?.({ ready: true })
