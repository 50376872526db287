// Every promise of the contract, with its sentence and its state. scripts/promise-reporter.mjs checks this list against
// the tests: a built promise must be cited in the title of a passing test. `missing` names the parts that a part-built
// promise lacks.

export type PromiseState = 'built' | { readonly missing: string } | 'not yet'

export interface ContractPromise {
  readonly state: PromiseState
  readonly says: string
}

export const promises: Readonly<Record<string, ContractPromise>> = {
  'TOOL-1': {
    state: 'built',
    says: `\`tool({ id?, name, title?, description, input, output?, hints?, approval?, preview?, timeout?, retry?, onCrash?, concurrency?, dedupe?, limits?, defer?, narrate?, examples?, version?, upgrade?, internal?, repair?, prepare?, reconcile?, cancel?, background?, execute })\`. Types flow from any Standard Schema (zod, valibot, arktype) or plain JSON Schema (draft-07, 2020-12) into \`prepare\` and \`execute\`.`,
  },
  'TOOL-2': {
    state: 'built',
    says: `Hints: readOnly, destructive, idempotent, openWorld. Each is read by something (scheduling, policy, recovery, retries). MCP annotations map to them, but a remote server's hints never lower a risk class unless the operator trusts it; remote tools without hints ask.`,
  },
  'TOOL-3': {
    state: 'built',
    says: `A tool has an id (default: its name) and a name. Internal tools can be run by the runtime and never by a model. Names match \`[A-Za-z0-9_-]{1,64}\`; \`__proto__\` and \`constructor\` are ordinary absent names, not crashes.`,
  },
  'TOOL-4': {
    state: 'built',
    says: `Toolset: a name twice in one layer is an error; an upper layer shadows on purpose; a turn sees the toolset it started with; \`runtime.tools.add/remove\` change what later turns see; listings are sorted; every tool has a fingerprint (schema, description, version), so prompts cache and drift is seen.`,
  },
  'TOOL-5': {
    state: 'built',
    says: `A provider is a live source of tools (an MCP server, a plug-in): lists light manifests, resolves contracts lazily, may come and go; its absent tools answer \`tool_unavailable\` until it returns.`,
  },
  'TOOL-6': {
    state: 'built',
    says: `An invalid schema is refused when the tool is defined, never when it is called. External \`$ref\` is refused. Schemas compile once.`,
  },
  'TOOL-7': {
    state: 'built',
    says: `Output with an \`output\` schema is checked; a mismatch is an internal failure of the tool, not the model's.`,
  },
  'TOOL-8': {
    state: 'built',
    says: `Tools convert to and from the OpenAI, Anthropic, AI SDK and MCP shapes without losing their schema.`,
  },
  'VAL-1': {
    state: 'built',
    says: `A tool value is JSON plus attachments anywhere inside. On the wire an attachment is \`{"$pawl":"attachment","ref":{ id, mediaType, bytes, width?, height?, name? }}\`; a user object that has the key \`$pawl\` travels as \`{"$pawl":"object","entries":{…}}\`. Exactly two keys; a malformed or unknown tag is a decode error. Only \`ctx.attachments\` mints attachments: JSON from tools, resolvers, MCP and pages is escaped, never decoded. Non-finite numbers, cycles, depth over 512 and sizes over the limits are refused with a clear error.`,
  },
  'VAL-2': {
    state: 'built',
    says: `Outcome: success{value} | failure{class, code, message, source, retry, raw?, mayStillRun?} | cancelled{message, source, raw?, mayStillRun?} | unknown{message, startedAt, evidence}; plus optional control. Classes: invalid_request, unavailable, permission_denied, timeout, execution, external, resource_limit, internal. Sources: runtime (default), tool, hook, policy, cancellation. Retry: never (default) | safe{afterMs?} | exhausted{attempts}. A plain \`fail(message)\` is execution/\`tool_error\` from the tool.`,
  },
  'VAL-3': {
    state: 'built',
    says: `Model parts: \`{type:'text',text}\` or an attachment; a string is its text; other values are compact JSON in insertion order; attachments keep their place and split the text around them; neighbouring text merges; empty text makes no part. Failures read \`[Tool execution failed]\`, then a newline and the message if there is one; cancelled \`[Tool execution cancelled]\` and unknown \`[Tool outcome unknown]\` likewise; attachments in \`raw\` follow. With attachments read as null, JSON shown to a model is always valid JSON.`,
  },
  'VAL-4': {
    state: 'built',
    says: `A tool says what went wrong with \`fail()\` (the model reads it). Anything else thrown is internal: the model, the task summary, the artifacts, the signal and the feed read only \`An internal error occurred while executing the tool\`; the cause chain goes to the operator's log and an operator-only, encrypted field of the record, each cause once, with the call id.`,
  },
  'VAL-5': {
    state: 'built',
    says: `Images and files go back as native parts where the provider can, as a named reference where it cannot. \`raw\` output is kept and never shown to the model. Base64 never enters the text.`,
  },
  'VAL-6': {
    state: 'built',
    says: `Control: finish{value} | fail{failure} | switchFrame{frame, initial?, task?}; only on success; the first in call order wins, the others are reported.`,
  },
  'VAL-7': {
    state: 'built',
    says: `Output budget: default 16 KiB and 400 lines per result (at least 1 KiB), in bytes or tokens. Over it, the whole result is stored first, then the model gets a shorter valid view (strings head and tail, arrays first items with a count; error lines survive), a handle and how to read on. It never grows the text, cuts no character in half, and counts truthfully. Errors are budgeted too. ANSI codes and carriage-return redraws are cleaned from terminal output.`,
  },
  'VAL-8': {
    state: 'built',
    says: `One table of size limits (arguments, results, steps, events, attachments, batch length, journal length) with defaults, configurable; over a limit is a typed refusal, never a crash.`,
  },
  'CALL-1': {
    state: 'built',
    says: `Order: resolve → before hooks → validate → prepare (may answer; what it changed is validated again) → policy → approval → queue → attempt(s) → after hooks → check output → settle → project → feed. A resolved wait re-enters at the after hooks. \`calls/pipeline.ts\` shows it on one screen.`,
  },
  'CALL-2': {
    state: 'built',
    says: `One outcome per call, in the model's order. No tool, hook, policy or person makes a batch reject; only losing the store or the runtime does, and the error says what is on record. An empty batch is an empty list.`,
  },
  'CALL-3': {
    state: 'built',
    says: `Each call is stored as it settles; a slow or failed sibling never loses another's result. On failure the batch goes on (default) or stops: then running siblings are cancelled and unstarted ones settle as cancelled.`,
  },
  'CALL-4': {
    state: 'built',
    says: `Bad arguments: failure invalid_request \`invalid_arguments\`, every problem with its path, phrased so that a model can mend it. \`""\` and absent mean \`{}\`. Unparseable or cut-off JSON is refused with the raw text kept; \`repair\` may mend it once. Integers that JavaScript cannot hold exactly are refused. The body never sees invalid input.`,
  },
  'CALL-5': {
    state: 'built',
    says: `Unknown tool: \`tool_unavailable\`, naming up to three close names.`,
  },
  'CALL-6': {
    state: { missing: '`dedupe: { key, window }` on a tool, and the record of whose outcome a joined call has' },
    says: `A call is (tenant, session, batch, id, occurrence). Same content: the same call, its recorded outcome or the running one. Other content: \`call_conflict\`. Equal ids in one batch are two calls. Turns and adapters supply the batch; a hand-written \`run\` without one needs ids unique in its session. A caller's own idempotency key has the same rule. A tool may declare \`dedupe: { key: (input) => string, window }\`: evaluated on final arguments before policy, per tenant and tool, claimed by compare-and-set; it joins a running, waiting, successful or unknown call, a failed or cancelled one does not block, the same key with other arguments is \`call_conflict\`, and the joined call records whose outcome it has.`,
  },
  'CALL-7': {
    state: 'built',
    says: `\`prepare\` runs once, is recorded, and freezes arguments and a payload. Recovery uses recorded arguments, payload and approval with the live body; the stricter of recorded and live hints wins; a changed \`version\` runs \`upgrade\` or stops with \`tool_changed\`. A worker claims only tools it has.`,
  },
  'CALL-8': {
    state: 'built',
    says: `Hooks: before (allow, deny, replace arguments, answer at once, abort the turn), after (replace, abort), project (its failure means the default projection). Strength decides, not order of registration: abort > deny > answer > replace. Replaced arguments are validated and judged again. What hooks decided is recorded and not re-run on recovery.`,
  },
  'CALL-9': {
    state: 'built',
    says: `A body gets \`ctx\`: session, tenant, principal, app, frame, task, batch, call id, attempt, maxAttempts, idempotencyKey, key, signal, step, sleep, later, now, random, uuid, emit, progress, output, log, files, values, secrets, attachments, tasks, triggers, call and run (other tools), complete (ask the model), prepared. Nothing recorded may be used inside a step (\`step_nested\`).`,
  },
  'CALL-10': {
    state: 'built',
    says: `Progress {current?, total?, unit?, label?} and streamed output reach subscribers while the body runs, bounded and rate-limited, and are not replayed as results.`,
  },
  'CALL-11': {
    state: 'built',
    says: `A tool, hook, listener or provider cannot take other calls down: stray throws and rejections, during and after, are attributed by async context and contained. Errors of the application are left as Node handles them. \`process.exit\`, endless synchronous loops and memory are not contained in process, and the docs say so.`,
  },
  'CALL-12': {
    state: 'built',
    says: `Every public function refuses unknown and mistyped options with the nearest right name: \`session\`, \`run\`, \`step\`, \`tasks.start\`, \`result\`, \`fail\`, \`close\` and all others. Nothing is silently ignored.`,
  },
  'CALL-13': {
    state: 'built',
    says: `Intake is acknowledged: \`run(…)\` and \`turn(…)\` return handles whose \`accepted\` resolves when the request is durable; a kill right after it loses nothing.`,
  },
  'CALL-14': {
    state: { missing: 'administering the session from a body, and reading it in `prepare`' },
    says: `A body can administer its session under policy: read messages, values, usage and the tool catalogue, switch tools and capabilities, open and end child sessions; \`prepare\` can read them. Nested calls have a depth limit.`,
  },
  'SCHED-1': {
    state: 'built',
    says: `The model's order means something: in a batch, parallel-safe calls (readOnly, or \`concurrency: 'parallel'\`) run together; any other call is a barrier in its batch: after all before it, before all after it; keyed calls are serial per key and parallel otherwise. A call that waits for the outside leaves the line and re-enters when it may run; order across such a wait is not promised.`,
  },
  'SCHED-2': {
    state: 'built',
    says: `\`exclusive\` (among exclusives of a session) and equal keys exclude each other across batches, turns, tasks and workers, claimed with the intent; parks, sleeps and waits release them.`,
  },
  'SCHED-3': {
    state: 'built',
    says: `Limits: per worker (256), session (32), tenant, tool and key; rates per tool and tenant. Worker limits are local, the others counted across the fleet. Zero or negative limits are refused when configured. Waiting is fair (first come; no tenant starves another), bounded (\`overloaded\` beyond), and can time out in the queue.`,
  },
  'SCHED-4': {
    state: 'built',
    says: `A nested call is recorded under its parent, borrows its slot and re-enters its locks; a cycle of keys fails as \`would_deadlock\`.`,
  },
  'TIME-1': {
    state: 'built',
    says: `Attempt timeout (default 60 s), idle timeout (reset by progress), total deadline and queue timeout, per tool and per call. They bind even when the body ignores its signal: abort → grace (default 50 ms) → the call settles as timeout or cancelled with \`mayStillRun\`; the old \`ctx\` is fenced (\`attempt_over\`); what the body returns later is kept as a late result, never delivered. A call that may still run is retried only if idempotent.`,
  },
  'TIME-2': {
    state: 'built',
    says: `Attempt and idle clocks run only while the body runs: not while parked, waiting, sleeping or while people decide. A total deadline pauses while people decide. Wait deadlines and sleeps are instants and survive a restart. Durations over 24.8 days work.`,
  },
  'TIME-3': {
    state: 'built',
    says: `Cancel a call, batch, turn, task or session; p99 of signal to settle ≤ 250 ms on one machine for a body that cooperates; the reason and who asked are recorded; a result that arrives inside the grace wins. Awaiting a task under a cancelled call cancels the task, then waits for its end.`,
  },
  'TIME-4': {
    state: 'built',
    says: `Retry only what is declared safe: the failure says so (\`retry({after})\`: 3 attempts), or the tool is readOnly or idempotent and its policy allows more than one. Base 500 ms doubling, cap 30 s, full jitter; the tool's own \`after\` is honoured up to the cap. The last failure is marked exhausted{attempts}. Retry delays are recorded and survive a restart.`,
  },
  'TIME-5': {
    state: 'built',
    says: `\`idempotencyKey\` is the same for all attempts and recoveries of a call; \`ctx.key(step)\` derives one per step.`,
  },
  'DUR-1': {
    state: 'built',
    says: `A recorded outcome is never produced again. A step's value holds for the call: no retry or recovery runs it again. A step's error holds for the attempt. A body always receives the recorded form (JSON; typed so), on the first run too.`,
  },
  'DUR-2': {
    state: 'built',
    says: `Before a body that must not run twice starts, its intent is durable. A first attempt that may rerun need not wait for the disk; a recovered one claims durably.`,
  },
  'DUR-3': {
    state: 'built',
    says: `After a crash: a call that had not started starts; a settled one is returned; a started one follows \`onCrash\`: \`rerun\` (default for readOnly and idempotent tools; recorded steps replay) or \`stop\` (default otherwise): \`reconcile(input, ctx)\` may look up what happened and settle it or ask for a rerun; without it the outcome is \`unknown\`, or waits for a person with \`onUnknown: 'ask'\`.`,
  },
  'DUR-4': {
    state: 'built',
    says: `\`ctx.step(id, fn)\`, \`ctx.step(id, input, fn)\`, with options once, retry, timeout. A blank id is \`step_id_empty\`, a second use in one attempt \`step_id_duplicate\`, both before \`fn\` runs. The key holds the call. A different input under a recorded id is \`replay_mismatch\` with a readable difference, never a silent re-run. Steps compose with retries, siblings and \`Promise.all\`. A \`once\` step that started and was not recorded is unknown. Using steps or waits in a \`stop\` tool warns; in-body waits and sleeps need \`rerun\` (\`wait_needs_rerun\`).`,
  },
  'DUR-5': {
    state: 'built',
    says: `\`ctx.sleep\` and deadlines are recorded as instants. \`ctx.now\`, \`ctx.random\`, \`ctx.uuid\` replay.`,
  },
  'DUR-6': {
    state: 'built',
    says: `Commit modes: \`power\` (default: acknowledged means on disk, group commit across concurrent calls) and \`process\` (survives any crash of the process; a power cut or a database crash may lose the last moments). Documented, measured, chosen in one place.`,
  },
  'DUR-7': {
    state: 'built',
    says: `One writer: leases with fencing tokens per acquisition; every write by a holder is checked in the same transaction; a zombie that wakes changes nothing and starts nothing. Leases use the store's clock (SQLite: monotonic time of the machine). Renewal survives a busy event loop for a few leases, not for ever; a lost lease stops the work it can no longer protect.`,
  },
  'DUR-8': {
    state: 'built',
    says: `Poison: recovered attempts are counted when claimed; after 3 worker deaths (configurable) a call or task stops as failed \`poisoned\` with its evidence.`,
  },
  'DUR-9': {
    state: 'built',
    says: `Formats, events and schema are versioned; opening an older store migrates it, concurrently safe, all or nothing; a newer one is refused clearly. Golden journals are kept from the first release on and replay in every later one.`,
  },
  'DUR-10': {
    state: 'built',
    says: `Recovery and pick-up cost grows with open work, not with history. Retention and erasure (session, tenant) are commands; they never touch open work by accident.`,
  },
  'DUR-11': {
    state: 'built',
    says: `What a tool was asked is kept verbatim beside the parsed value; results round-trip the same on every store (\`\\u0000\` included); what has no faithful form (lone surrogates, unsafe integers) is refused at the door with a clear error.`,
  },
  'DUR-12': {
    state: 'built',
    says: `Secrets and sensitive payloads can be encrypted at rest (AES-256-GCM; hashes beside them keyed), and secret values of 8 characters or more are redacted from everything projected, shown or logged, never from the value handed to code.`,
  },
  'DUR-13': {
    state: 'built',
    says: `On shutdown the worker stops taking work, lets bodies finish within a limit, hands the rest back at once; nothing waits for a lease to expire.`,
  },
  'DUR-14': {
    state: 'not yet',
    says: `Tamper evidence against someone who can write the database and lacks the host's key: each event carries a keyed digest of what it records (arguments, outcome, step value, decision), events of a session form a keyed chain over their logical content with a signed head (a cut tail is noticed), and prune leaves signed tombstones. \`verify\` names the first broken or missing link.`,
  },
  'DUR-15': {
    state: 'built',
    says: `Deploy check: \`health\` lists open work that the tools, models and frames of this worker cannot continue, before it is claimed; a schema digest is recorded with the arguments, and if it differs on recovery, the arguments in input form are validated against the live schema before the body sees them (\`tool_changed\` if they do not fit; transformed values are never validated again).`,
  },
  'WAIT-1': {
    state: 'built',
    says: `\`ctx.later({name?, deadline?, onTimeout?, onCancel?, announce?})\` gives a key; returning it parks the call until someone resolves the key, \`await later.value\` waits inside the body. The same name in the same call is the same wait and the same key, after a crash too; a blank name is \`wait_name_empty\`. Default deadline 7 days. Parked calls cost no worker slot and no timer each; 10,000 are ordinary.`,
  },
  'WAIT-2': {
    state: 'built',
    says: `Resolve answers accepted | already_resolved{terminal} | unknown_or_revoked | invalid{problems}. First writer wins. Resolving early is kept. A cancel or a deadline competes by the same rule. In a body \`later.value\` throws typed errors that keep the resolver's code: failed, \`wait_timeout\`, \`wait_cancelled\`; uncaught they become that failure, not an internal one.`,
  },
  'WAIT-3': {
    state: 'built',
    says: `A key carries 256 bits derived from a host secret, tenant, call, name and a stored salt; only its hash is stored; single use, expiring, never accepted by GET, compared in constant time; wrong, foreign and unknown keys are indistinguishable. On every engine. Without a configured secret SQLite makes one in a private file; PostgreSQL asks for \`keys\`.`,
  },
  'WAIT-4': {
    state: 'built',
    says: `\`onTimeout\`: error as result (default) | fail the turn. \`onCancel\`: call the tool's \`cancel\` with the key (default) | ignore. Both work.`,
  },
  'WAIT-5': {
    state: 'built',
    says: `\`announce\` is recorded in the same transaction as the park, without the key, and delivered with it: announced if and only if parked.`,
  },
  'WAIT-6': {
    state: 'built',
    says: `The resolved value is checked against the tool's output schema before it is accepted; a bad body leaves the wait open. Falsy values are values.`,
  },
  'POL-1': {
    state: 'built',
    says: `Rules allow | ask | deny by tool, hint class, argument patterns, principal, tenant and session; deny > ask > allow whatever the order. No match: destructive or openWorld ask, even if readOnly; other own tools allow (ask in \`careful\` mode); remote tools without trust ask. A policy that throws denies.`,
  },
  'POL-2': {
    state: 'built',
    says: `An approval is bound to the SHA-256 of canonical JSON (RFC 8785) of tenant, call, tool fingerprint and final arguments; policy is evaluated again before execution and may still deny. Any change asks again. Used once, by compare-and-set; denial never executes, at any moment, in any race.`,
  },
  'POL-3': {
    state: 'built',
    says: `A person can approve, deny with a reason, edit the arguments (validated again, recorded as theirs, told to the model), answer instead, approve always for this session and tool or pattern (listed, revocable). Quorum; expiry (default 15 min; silence is no). Who, when, through which door is recorded.`,
  },
  'POL-4': {
    state: 'built',
    says: `Approvals survive restarts, arrive for several calls in any order, for nested calls and sub-agents, and on any worker. Siblings that need none are not held back.`,
  },
  'POL-5': {
    state: 'built',
    says: `Connection required: if someone can connect, the call waits (deadline as approvals), the person connects the provider, the call resumes; otherwise the model reads \`{"connection_required": provider}\` and goes on. Tokens are never in arguments, results or the feed. Questions: choice, text, secret, with a default at the deadline.`,
  },
  'POL-6': {
    state: 'built',
    says: `One inbox lists all that waits for people, with what would run, its effect, its arguments and a preview of the change.`,
  },
  'POL-7': {
    state: 'built',
    says: `A new user message while calls wait: the history gets a placeholder result and the later outcome arrives as a runtime notice (default), or the calls are superseded; never a broken conversation.`,
  },
  'POL-8': {
    state: 'built',
    says: `Budgets: calls, time, cost and repeated identical calls per turn and session; over budget answers the model, it does not kill the run.`,
  },
  'POL-9': {
    state: 'built',
    says: `A changed definition of a remote tool (rug pull) is quarantined until someone accepts it.`,
  },
  'TASK-1': {
    state: 'built',
    says: `\`spawn_background\` appears by itself when some tool supports background, refuses itself as target, validates the target's arguments and obeys the target's policy; with \`schedule\` it makes a schedule and a monitor task. 5 active per session across the fleet (the model's sixth is refused with a reason, code queues), 64 per worker; checks and texts as the reference lists. \`signal_on_completion\` means wake policy on_terminal.`,
  },
  'TASK-2': {
    state: 'built',
    says: `States queued → running ⇄ awaiting_input → succeeded | failed | cancelled | abandoned. One pure function applies every update; wrong attempt is dropped; a terminal state is final, enrichment aside.`,
  },
  'TASK-3': {
    state: 'built',
    says: `Everything a runner writes (status, progress, output, artifacts, terminal, signal) is fenced, not only heartbeats. A crash before the first heartbeat is found like any other.`,
  },
  'TASK-4': {
    state: 'built',
    says: `Output streams to \`/.background/<run>/output.log\` (\`[stream] \` prefix) and to the feed while it runs (bounded at 262,144 characters, said so when cut); \`result.json\` at the end; artifacts, state and signal commit together.`,
  },
  'TASK-5': {
    state: 'built',
    says: `Cancel is seen within 250 ms, signals the tool, gives grace, is an own state, not an error text.`,
  },
  'TASK-6': {
    state: 'built',
    says: `Lost owner: rerun if the live tool is readOnly or idempotent or says \`rerun\` (the live definition, any registered tool), up to 3 attempts with backoff; otherwise abandoned with evidence, and the session is told. Declared recovery: rerunnable | owner_bound | external.`,
  },
  'TASK-7': {
    state: 'built',
    says: `\`ctx.emit(type, payload, {key?})\` in a task appends an event of a declared type with a schema and a meaning (terminal, wake); undeclared, blank or outside a task is refused; a replay key makes an append idempotent, a different payload under it is a conflict.`,
  },
  'TASK-8': {
    state: 'built',
    says: `start, await, list, get, signal, message, cancel, wait: for code, for the model (task tools) and over HTTP. The n-th signal of a name resolves the n-th wait for it; early signals keep.`,
  },
  'TASK-9': {
    state: 'built',
    says: `Wake policy silent | on_terminal | on_activity. Signals reach the model marked as runtime notices, not as the user's words.`,
  },
  'TASK-10': {
    state: 'built',
    says: `Ending a session or parent applies cancel (default) or abandon to its tasks, recorded with the end.`,
  },
  'CRON-1': {
    state: 'built',
    says: `Cron (5 fields) in an IANA zone, or an instant (RFC 3339); exactly one; bad input is refused with the reason; daylight saving handled; a past instant is refused.`,
  },
  'CRON-2': {
    state: 'built',
    says: `Each due slot starts exactly one run, across workers and crashes; missed slots follow a policy (skip, once, all up to a cap), overlaps too (skip, queue, parallel); at least 60 s apart by default. The run starts directly; no model has to re-issue it. Default 5 active per session.`,
  },
  'CRON-3': {
    state: 'built',
    says: `Pause, resume, run now, list, next times, history.`,
  },
  'CRON-4': {
    state: 'built',
    says: `Triggers: subscribe a task or message to a named event; emit with an idempotency key; record and reservation are atomic; a failed start is retried by a sweep and never lost.`,
  },
  'SESS-1': {
    state: 'built',
    says: `A turn: model → batch → model … until an answer, a control, a limit or a wait. Each model call and batch is recorded; after a crash the turn goes on from there, finished model calls are not paid again.`,
  },
  'SESS-2': {
    state: 'built',
    says: `Models come through the AI SDK's provider interface; a scripted model ships for tests, demos and offline use. Streaming text reaches the feed; an interrupted stream is retracted and restarted. Provider metadata on calls survives the round trip.`,
  },
  'SESS-3': {
    state: 'built',
    says: `Every tool call in the history has exactly one result: an orphan is repaired from the record or by a synthesized interrupted result before each model call.`,
  },
  'SESS-4': {
    state: 'built',
    says: `Messages that arrive during a turn queue and are seen at the next model call or after, by choice. One turn at a time per session, across workers.`,
  },
  'SESS-5': {
    state: 'built',
    says: `\`ctx.complete\` asks a model from inside a tool, recorded as a step, with usage attributed to the call.`,
  },
  'SESS-6': {
    state: 'built',
    says: `Sub-agents run as tasks with their own session; approvals bubble to the root; control switchFrame hands a turn to another frame.`,
  },
  'SESS-7': {
    state: 'built',
    says: `Client-side tools: the call is handed to the caller, who posts the result; ids are checked; 300 s default timeout.`,
  },
  'SESS-8': {
    state: 'built',
    says: `Tool search: from 15 tools on, schemas are deferred; \`tool_search\` reveals by name and description; reveals belong to the session and survive restarts; \`defer: never | auto | always\` all mean what they say.`,
  },
  'SESS-9': {
    state: 'built',
    says: `Narration: started, waiting, completed, failed, by locale; tool's own words, else a good default; never shows secret-looking fields.`,
  },
  'SESS-10': {
    state: 'built',
    says: `History that no longer fits is compacted without ever splitting a call from its result.`,
  },
  'SESS-11': {
    state: 'built',
    says: `Usage and cost per call, turn, session, tool.`,
  },
  'SESS-12': {
    state: 'built',
    says: `A turn streams: \`textStream\`, a UI message stream in the AI SDK's protocol (text, reasoning, partial tool input, tool output, approvals and their decisions, resume after a reload), structured output by schema, \`toolChoice\`, provider-executed tools. Models of AI SDK 6 and 7.`,
  },
  'SESS-13': {
    state: 'built',
    says: `A new message never freezes behind a pending approval. If the open turn waits only for people or the outside, a new \`turn()\` ends it with \`end: 'handed_over'\`: its waiting calls get placeholder results, their outcomes arrive later as notices (and wake the session where waking is on), and the new turn takes the session with its own model, frame, tools and output. Otherwise the new turn queues (SESS-4). Both handles settle.`,
  },
  'BOX-1': {
    state: 'built',
    says: `18 tools: get_current_time, echo, report_progress, add, subtract, multiply, divide, get_weather, get_forecast (deterministic samples), write_todos, read_file, write_file, edit_file, list_directory, grep_files, delete_file, stat_file, web_fetch; each with title, hints, output schema, narration (\`toolbox()\` leaves the samples out: echo, add, subtract, multiply, divide, get_weather, get_forecast come from \`toolbox.samples()\`). By capability: spawn_background and task tools, kv_store, secret_store, ask_user, tool_search, read_output, bash (a real shell in a bounded child process, off unless enabled).`,
  },
  'BOX-2': {
    state: 'built',
    says: `Files live in the session (database) or in a real folder. No path, symlink, race, device or case trick leaves the root. edit_file takes an expected hash; edits are exact, unique, non-overlapping. Limits as the reference lists.`,
  },
  'BOX-3': {
    state: 'built',
    says: `grep cannot hang: linear-time matching or a killed worker; binary, huge and many files are bounded.`,
  },
  'BOX-4': {
    state: 'built',
    says: `web_fetch: http(s) only; every address checked and pinned on every redirect; private, link-local, metadata, mapped and translated ranges refused; size, time and decompression capped; HTML to readable markdown; allow and deny lists.`,
  },
  'BOX-5': {
    state: 'built',
    says: `secret_store values are encrypted, usable by reference, and never come back to the model in clear unless the operator allows it.`,
  },
  'FEED-1': {
    state: 'built',
    says: `Every change is an event, committed with the change, with a sequence per session and a position in the whole store. Read from any cursor, then live, without gap or repeat, over reconnects, on any worker, for one session or all; an expired cursor says so. Progress, output and deltas are marked live: they are not in the journal, use no sequence number, may be kept for a bounded time so that a reader can resume, are sealed and erased like other payloads, and are never replayed as results. (Restate: projected at call boundaries, each once.)`,
  },
  'FEED-2': {
    state: 'built',
    says: `Live events (deltas, progress, output) reach subscribers in every process that shares the store, in one order with the recorded ones, typed, bounded and expiring; who joins in mid-answer gets the answer so far. \`after: 'now'\` starts at the end. Turns have started, ended and failed events; call events carry the tool's name and the model's call id.`,
  },
  'DOOR-1': {
    state: 'built',
    says: `HTTP: routes as data, OpenAPI 3.1 from them, problem+json errors with stable codes, SSE with Last-Event-ID, idempotency keys, health, readiness, Prometheus metrics, a typed client. Scoped tokens; tenants never see each other (uniform 404). Loopback and a token by default; Host and Origin checked; bodies, rates and streams bounded; fuzzing never gives a 5xx.`,
  },
  'DOOR-2': {
    state: 'built',
    says: `CLI: \`pawl serve | worker | call | tools | sessions | inbox | approve | deny | tasks | schedules | tail | export | mcp | migrate | doctor | demo\`; \`--json\`, exit codes, NO_COLOR, help with examples; progress where work is long.`,
  },
  'DOOR-3': {
    state: 'built',
    says: `OpenTelemetry spans and metrics by the GenAI conventions, trace context stored with the call; logs structured; a trace links model call, tool call, step, task.`,
  },
  'DOOR-4': {
    state: 'built',
    says: `Export a session or call as JSONL and as one self-contained HTML page.`,
  },
  'DOOR-5': {
    state: 'built',
    says: `Webhooks out and decision links are signed, single-use, expiring and bound to the item; delivery is retried from the journal.`,
  },
  'DOOR-6': {
    state: { missing: 'a test in a real Next.js application' },
    says: `Runs on Node 22.18 and newer, under bundlers, inside Hono, Express and Next.js; the package contains its docs.`,
  },
  'MCP-1': {
    state: 'built',
    says: `As a server: Pawl's tools over stdio and streamable HTTP, with approvals, progress, cancellation; long calls as tasks. Spec 2026-07-28 and 2025-11-25; the public conformance suite passes.`,
  },
  'MCP-2': {
    state: 'built',
    says: `As a client: any MCP server's tools become a provider with Pawl's policy, limits, retries and record; reconnects with backoff; idle and total timeouts; changed definitions quarantined. \`pawl mcp --config servers.json\` is a gateway in front of existing servers.`,
  },
  'MCP-3': {
    state: 'built',
    says: `A request that a client re-issues after a broken stream does not run twice: identity is an idempotency key in \`_meta\`; without one, the same principal, tool and canonical arguments join only a call whose result was never delivered. A delivered call is joined only if the tool declares \`dedupe\`.`,
  },
  'RST-1': {
    state: 'not yet',
    says: `The same tools, calls, steps, waits, tasks and turns run on Restate: its journal, its retries, its timers, its scale. The same promises hold, or the line that does not says why.`,
  },
  'KIT-1': {
    state: 'built',
    says: `\`pawl/testing\`: a runtime in memory with a clock you move, a scripted model, failing and hanging tools, and \`crashTest(tool, input, { effects })\`: it runs the tool in a child process, kills it before and after every recorded write, recovers, and checks that the outcome and the outside effects are as if nothing had happened. Users prove their own tools with it.`,
  },
  'KIT-2': {
    state: 'built',
    says: `Store conformance is published as data: a third party can write a store and run it.`,
  },
  'KIT-3': {
    state: 'built',
    says: `A recorded session can be replayed as a test against changed tool code; differences are shown call by call.`,
  },
}
