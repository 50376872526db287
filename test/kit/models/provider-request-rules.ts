// Checks a request against the rules that the servers of OpenAI (chat completions) and Anthropic (messages) enforce,
// and returns the violations.
/* oxlint-disable typescript/no-explicit-any -- request bodies as received */

const isToolName = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name)

export function openaiProblems({ messages = [], tools = [] }: any): string[] {
  const wrong: string[] = []
  const ids = new Set<string>()
  if (messages.length === 0) wrong.push('there is no message')
  if (messages.at(-1)?.role === 'assistant') wrong.push('the last message is of the assistant')
  for (const { function: each } of tools) {
    if (!isToolName(each.name)) wrong.push(`the tool ${each.name} has a name that is not taken`)
    if (each.parameters?.type !== 'object') wrong.push(`the parameters of ${each.name} are no object`)
  }
  for (let at = 0; at < messages.length; at++) {
    const { role, content, tool_calls: calls } = messages[at]
    if (role === 'system' && at > 0) wrong.push(`a system message at ${at}`)
    if (role === 'tool') wrong.push(`a result without a call at ${at}`)
    if (!['system', 'user', 'assistant', 'tool'].includes(role)) wrong.push(`the role ${role} at ${at}`)
    if (role === 'user') wrong.push(...openaiContent(content, at))
    if (role !== 'assistant') continue
    if (calls === undefined && (typeof content !== 'string' || content === '')) wrong.push(`message ${at} is empty`)
    for (const { id, type, function: asked } of calls ?? []) {
      if (type !== 'function' || typeof id !== 'string' || id === '') wrong.push(`a call of ${at} is no call`)
      if (ids.has(id)) wrong.push(`the id ${id} is there twice`)
      ids.add(id)
      if (!isToolName(asked.name)) wrong.push(`a call of ${at} has the name ${asked.name}`)
      if (!isObject(asked.arguments)) wrong.push(`a call of ${at} has the arguments ${asked.arguments}`)
    }
    for (const { id } of calls ?? []) {
      const result = messages[++at]
      if (result?.role !== 'tool' || result.tool_call_id !== id)
        wrong.push(`the call ${id} is not followed by its result`)
      if (typeof result?.content !== 'string') wrong.push(`the result of ${id} is not a text`)
    }
  }
  return wrong
}

function openaiContent(content: any, at: number): string[] {
  if (typeof content === 'string') return content.trim() === '' ? [`message ${at} is empty`] : []
  if (!Array.isArray(content) || content.length === 0) return [`message ${at} has no content`]
  return content.flatMap((part: any) => {
    if (part.type === 'text') return part.text.trim() === '' ? [`message ${at} has an empty text`] : []
    if (part.type === 'image_url')
      return /^data:image\/\w+;base64,[\w+/=]+$/.test(part.image_url.url) ? [] : [`message ${at} has no image`]
    if (part.type === 'file')
      return part.file.file_data.startsWith('data:application/pdf;base64,') ? [] : [`message ${at} has no file`]
    return [`message ${at} has a part ${part.type}`]
  })
}

const isObject = (text: unknown): boolean => {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

export function anthropicProblems({ messages = [], tools = [] }: any): string[] {
  const wrong: string[] = []
  const ids = new Set<string>()
  if (messages[0]?.role !== 'user') wrong.push('the first message is not of the user')
  if (messages.at(-1)?.role === 'assistant') wrong.push('the last message is of the assistant')
  for (const { name } of tools) if (!isToolName(name)) wrong.push(`the tool ${name} has a name that is not taken`)
  if (tools.length === 0 && JSON.stringify(messages).includes('"tool_use'))
    wrong.push('there are calls and no tools are defined')
  for (const [at, { role, content }] of messages.entries()) {
    const next = messages[at + 1]
    if (role !== 'user' && role !== 'assistant') wrong.push(`the role ${role} at ${at}`)
    if (next?.role === role) wrong.push(`two messages of the ${role} at ${at}`)
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (blocks.length === 0) wrong.push(`message ${at} is empty`)
    for (const block of blocks)
      if (block.type === 'text' && block.text.trim() === '') wrong.push(`message ${at} has an empty text`)
    if (role === 'user') {
      const called = (messages[at - 1]?.content ?? [])
        .filter(({ type }: any) => type === 'tool_use')
        .map(({ id }: any) => id)
      const told = blocks.filter(({ type }: any) => type === 'tool_result').map(({ tool_use_id: id }: any) => id)
      if (called.join(' ') !== told.join(' '))
        wrong.push(`at ${at} there are results of [${told}] for calls [${called}]`)
      if (blocks.slice(0, told.length).some(({ type }: any) => type !== 'tool_result'))
        wrong.push(`results are not first at ${at}`)
      continue
    }
    if (/thinking/.test(blocks.at(-1)?.type)) wrong.push(`message ${at} ends with a thought`)
    for (const block of blocks) {
      if (block.type === 'thinking' && !block.signature) wrong.push(`a thought of ${at} is not signed`)
      if (block.type !== 'tool_use') continue
      if (ids.has(block.id)) wrong.push(`the id ${block.id} is there twice`)
      ids.add(block.id)
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id)) wrong.push(`the id ${block.id} is not taken`)
      if (!isToolName(block.name)) wrong.push(`a call of ${at} has the name ${block.name}`)
      if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input))
        wrong.push(`a call of ${at} has no object`)
    }
  }
  return wrong
}
