// The browser of the packed chat example: page.tsx is bundled with this module in place of `react-dom/client` and
// `@ai-sdk/react`. It sends what the page shows to the test, which says what the user does.

import { Chat, useChat as useSdkChat } from '@ai-sdk/react'
import { isToolUIPart, type UIMessage } from 'ai'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'

export { Chat }

/** What the user does on the page. */
export type UserAction = { readonly say: string } | { readonly approve: true }

const request = globalThis.fetch
Object.assign(globalThis, {
  location: { hash: '#c1' },
  document: { querySelector: () => ({}) },
  fetch: (path: string, init?: RequestInit) => request(new URL(path, process.env.PAGE_URL), init),
})

let shownChat: Chat<UIMessage> | null = null
export function useChat(options: { readonly chat: Chat<UIMessage> }): ReturnType<typeof useSdkChat<UIMessage>> {
  shownChat = options.chat
  return useSdkChat(options)
}

let page: ReactNode = null
export const createRoot = (): { render(node: ReactNode): void } => ({ render: (node) => void (page = node) })

let last = ''
setInterval(() => {
  const screen = renderToStaticMarkup(page)
  if (screen !== last) process.send?.((last = screen))
}, 10)

process.on('message', (action: UserAction) => {
  if ('say' in action) return void shownChat?.sendMessage({ text: action.say })
  for (const part of shownChat?.messages.flatMap(({ parts }) => parts) ?? [])
    if (isToolUIPart(part) && part.state === 'approval-requested')
      void shownChat?.addToolApprovalResponse({ id: part.approval.id, approved: true })
})
process.on('disconnect', () => process.exit())
// The page asks again every two seconds: a request that fails is no reason to end.
process.on('unhandledRejection', () => {})
