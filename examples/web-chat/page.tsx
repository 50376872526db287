import { Chat, useChat } from '@ai-sdk/react'
import { isToolUIPart, type UIMessage } from 'ai'
import { createRoot } from 'react-dom/client'

const id = (location.hash ||= crypto.randomUUID()).replace('#', '')
const chat = new Chat<UIMessage>({
  id,
  sendAutomaticallyWhen: ({ messages }) =>
    messages.some(({ parts }) => parts.some((part) => isToolUIPart(part) && part.state === 'approval-responded')),
  // A TypeError is a lost connection: repeat the last message, whose id joins the turn.
  onError: (e) => void setTimeout(() => (e instanceof TypeError ? chat.sendMessage() : chat.clearError()), 1000),
})
// The record: on load, and for what happens without this page (a webhook, the end of a task, a decision elsewhere).
async function load() {
  const shown = chat.messages
  const messages = (await (await fetch(`/api/chat/${id}`)).json()) as UIMessage[]
  if (chat.status === 'ready' && chat.messages === shown) chat.messages = messages
}
setInterval(load, 2000)
function show(part: UIMessage['parts'][number]) {
  if (!isToolUIPart(part)) return part.type === 'text' ? `${part.text} ` : ''
  if (part.state !== 'approval-requested') return `[${part.type}: ${part.state}] `
  const decide = (approved: boolean) => void chat.addToolApprovalResponse({ id: part.approval.id, approved })
  return [true, false].map((ok) => <button key={+ok} onClick={() => decide(ok)} children={ok ? 'Approve' : 'Deny'} />)
}
function Page({ isNew = true }) {
  const { messages, status } = useChat({ chat })
  const send = (form: FormData) => chat.sendMessage({ text: form.get('text') as string })
  const shown = messages.map(({ id, parts }) => <p key={id}>{parts.map(show)}</p>)
  return [shown, <form key="f" action={send} children={<input name="text" disabled={isNew || status !== 'ready'} />} />]
}
const root = createRoot(document.querySelector('main') as Element)
root.render(<Page />)
const resume = () => chat.resumeStream().then(() => root.render(<Page isNew={false} />))
void load().then(resume, resume)
