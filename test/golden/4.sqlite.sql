PRAGMA application_id = 1348564844;
PRAGMA user_version = 4;
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE workers (
    id     TEXT PRIMARY KEY,
    -- Monotonic milliseconds of this machine. A boot starts them anew, so a lease from before it lies in the future: not valid.
    issued INTEGER NOT NULL,
    until  INTEGER NOT NULL
  ) WITHOUT ROWID;
CREATE TABLE calls (
    uid        TEXT PRIMARY KEY,
    tenant     TEXT NOT NULL,
    session    TEXT NOT NULL,
    batch      TEXT NOT NULL,
    id         TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    principal  TEXT,
    tool       TEXT NOT NULL,
    input      TEXT NOT NULL,
    hash       TEXT NOT NULL,
    options    TEXT,
    createdAt INTEGER NOT NULL,
    state      TEXT NOT NULL,
    args       TEXT,
    terms      TEXT,
    attempt    INTEGER NOT NULL,
    startedAt INTEGER,
    wait       TEXT,
    outcome    TEXT,
    settledAt INTEGER,
    fence      INTEGER NOT NULL,
    owner      TEXT
  , deaths INTEGER NOT NULL DEFAULT 0, trouble TEXT, line TEXT) WITHOUT ROWID;
CREATE TABLE steps (
    call  TEXT NOT NULL,
    key   TEXT NOT NULL,
    state TEXT NOT NULL,
    input TEXT,
    value TEXT,
    round INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (call, key)
  ) WITHOUT ROWID;
CREATE TABLE waits (
    id         TEXT PRIMARY KEY,
    call       TEXT NOT NULL,
    name       TEXT NOT NULL,
    salt       TEXT NOT NULL,
    keyHash    TEXT NOT NULL UNIQUE,
    deadline   INTEGER NOT NULL,
    createdAt INTEGER NOT NULL,
    resolution TEXT
  , terms TEXT) WITHOUT ROWID;
CREATE TABLE attachments (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    mediaType TEXT NOT NULL,
    name       TEXT,
    data       BLOB NOT NULL,
    PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant   TEXT NOT NULL,
    session  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    call     TEXT NOT NULL,
    type     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    body     TEXT NOT NULL
  , filed INTEGER);
CREATE TABLE holds (
    name   TEXT NOT NULL,
    holder TEXT NOT NULL,
    worker TEXT NOT NULL,
    -- NULL: it has a place. Else its number in line.
    ticket INTEGER,
    -- Of places that are free by themselves: from when to when, in monotonic milliseconds like leases.
    issued INTEGER,
    until  INTEGER,
    PRIMARY KEY (name, holder)
  ) WITHOUT ROWID;
CREATE TABLE filed (position INTEGER NOT NULL);
CREATE TABLE sessions (
    number  INTEGER PRIMARY KEY,
    tenant  TEXT NOT NULL,
    session TEXT NOT NULL,
    -- Of its last event.
    seq     INTEGER NOT NULL
  );
CREATE TABLE uses (
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    call   TEXT NOT NULL,
    PRIMARY KEY (tenant, id, call)
  ) WITHOUT ROWID;
CREATE TABLE erasures (
    scope    TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    count    INTEGER NOT NULL
  ) WITHOUT ROWID;
CREATE TABLE kept (
    "of"     TEXT NOT NULL,
    tenant   TEXT NOT NULL,
    session  TEXT NOT NULL,
    key      TEXT NOT NULL,
    revision INTEGER NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY ("of", tenant, session, key)
  ) WITHOUT ROWID;
CREATE UNIQUE INDEX calls_place ON calls (tenant, session, batch, id, occurrence);
CREATE INDEX waits_call ON waits (call);
CREATE INDEX waits_open ON waits (deadline, id) WHERE resolution IS NULL;
CREATE INDEX calls_line ON calls (line) WHERE line IS NOT NULL AND state IN ('received', 'queued', 'running');
CREATE INDEX holds_holder ON holds (holder);
CREATE INDEX holds_until ON holds (until) WHERE until IS NOT NULL;
CREATE INDEX holds_ticket ON holds (ticket) WHERE ticket IS NOT NULL;
CREATE INDEX events_session ON events (tenant, session) WHERE filed = 1;
CREATE UNIQUE INDEX sessions_name ON sessions (tenant, session);
CREATE INDEX calls_settled ON calls (settledAt, uid) WHERE state = 'settled';
CREATE INDEX calls_parked ON calls (tenant, session, uid) WHERE state = 'parked';
CREATE INDEX uses_call ON uses (call);
CREATE INDEX kept_tenant ON kept ("of", tenant, key);
CREATE INDEX kept_all ON kept ("of", key);
CREATE INDEX calls_open ON calls (owner, createdAt, uid) WHERE state IN ('received', 'queued', 'running');
INSERT INTO settings ("key", "value") VALUES ('format', '1');
INSERT INTO settings ("key", "value") VALUES ('secret_fingerprint', 'xxflL2JnTSYhdd8yjRXWe3M0vG9spvaSMzti0jgdR8g');
INSERT INTO workers ("id", "issued", "until") VALUES ('golden000001', 1000, 11000);
INSERT INTO workers ("id", "issued", "until") VALUES ('golden000003', 65350, 75350);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000002', 'default', 'unknown', '', 'u', 0, 'who ', 'charges', '{"amount":5}', 'NKGYR1vhGEybBMoWyqhmhk1UPddhJWn8Q9Tbmd7hOZg', NULL, 1767225600000, 'settled', '{"amount":5}', '{"onCrash":"stop"}', 1, 1767225600000, NULL, '{"status":"unknown","unknown":{"message":"The worker stopped while this tool was running, so it is not known whether it took effect. It was not run again. Check before asking for it again.","startedAt":1767225600000,"evidence":{"attempt":1}}}', 1767225661000, 2, NULL, 1, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000005', 'default', 'settled', '', 'echo', 0, 'who ', 'echo', '{"nul":"a\u0000b","quote":"''\"\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}', 'hyUwHrV1osZ4H_O-r5oVDemAwGe8DoaI7FsOupNtAng', NULL, 1767225662000, 'settled', '{"nul":"a\u0000b","quote":"''\"\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}', '{"onCrash":"rerun"}', 1, 1767225662000, NULL, '{"status":"success","value":{"nul":"a\u0000b","quote":"''\"\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000006', 'default', 'settled', '', 'steps', 0, 'who ', 'steps', '{"x":1}', 'm_mXa6MA-pQrhubgkSRoJOZsywJynLqFMiVLmI0F2_Q', '{"order":1}', 1767225662000, 'settled', '{"x":1}', '{"onCrash":"rerun"}', 1, 1767225662000, NULL, '{"status":"success","value":[{"x":1},"then"]}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000007', 'default', 'settled', '', 'fails', 0, 'who ', 'fails', '{}', 'P-n-W1PCBOjdpj7O00dBjpC8n7qFw8SRpWeCxIWKHzc', '{"order":2}', 1767225662000, 'settled', '{}', '{"onCrash":"rerun"}', 1, 1767225662000, NULL, '{"status":"failure","failure":{"source":"tool","retry":{"when":"never"},"class":"execution","code":"not_found","message":"No such order","raw":{"order":7}}}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000008', 'default', 'settled', '', 'keeps', 0, 'who ', 'keeps', '{}', 'ou59M6p5XwWXCJtgbNjWNkYv1YeGN_reZhtYu453upU', '{"order":3}', 1767225662000, 'settled', '{}', '{"onCrash":"rerun"}', 1, 1767225662000, NULL, '{"status":"success","value":{"file":{"$pawl":"attachment","ref":{"id":"att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s","mediaType":"application/x","bytes":4,"name":"q\"''ü"}}}}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000009', 'default', 'settled', '', 'nobody', 0, 'who ', 'pawl:absent', '{}', 'H1TPArtViBur7iqcgL3PXuMClAI5xZmckyklg0eil9c', '{"absent":true,"name":"no_such_tool","order":4}', 1767225662000, 'settled', NULL, NULL, 0, NULL, NULL, '{"status":"failure","failure":{"source":"runtime","retry":{"when":"never"},"class":"unavailable","code":"tool_unavailable","message":"There is no tool named ''no_such_tool''."}}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000010', 'default', 'settled', '', 'bad', 0, 'who ', 'echo', 'null', 'E2RmIzDKham99jtevjGt6q0ClEVwsEe6Rb6O87jqoqs', '{"raw":"not an object","unreadable":"The arguments are not valid JSON: at line 1, column 1: expected a value, found \"not an object\"","order":5}', 1767225662000, 'settled', NULL, NULL, 0, NULL, NULL, '{"status":"failure","failure":{"source":"runtime","retry":{"when":"never"},"class":"invalid_request","code":"invalid_arguments","message":"The arguments are not valid JSON: at line 1, column 1: expected a value, found \"not an object\"\nFix the arguments and call again."}}', 1767225662000, 1, NULL, 0, NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000011', 'o''dd "näme" \ 😀', 'o''dd "näme" \ 😀', '', 'o''dd "näme" \ 😀', 0, 'who ', 'echo', '{"same":"o''dd \"näme\" \\ 😀"}', 'nYMKwSaWqUtFmHVhu-vtrv_h3Ggr4txlSzVckpVs_zI', NULL, 1767225662000, 'settled', '{"same":"o''dd \"näme\" \\ 😀"}', '{"onCrash":"rerun"}', 1, 1767225662000, NULL, '{"status":"success","value":{"same":"o''dd \"näme\" \\ 😀"}}', 1767225662000, 1, NULL, 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000012', 'default', 'cancelled', '', 'c', 0, 'who ', 'parks', '{}', 'UFpWlVjY7YXKC-r9tG5_yihTVHyeOelcV3c-3_ZHt8Y', NULL, 1767225662000, 'settled', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":0,"waitingMs":0,"until":1767225662000,"attempts":1}}', 1, 1767225662000, 'golden000013', '{"status":"cancelled","cancellation":{"message":"Not wanted","source":"cancellation"}}', 1767225663000, 2, NULL, 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000014', 'default', 'open', '', 'sleeps', 0, 'who ', 'sleeps', '{}', '2WdUn8aTk5N0gO8iicYitJ23Q5L8CNDw0v8qN08AdCQ', NULL, 1767225663000, 'running', '{}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000015', 'default', 'open', '', 'retries', 0, 'who ', 'retries', '{}', 'WlhbTli3i25GlfIZO0u85_idlmDxNiQNM577RtO4jr0', '{"order":1}', 1767225663000, 'queued', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":0,"waitingMs":0,"until":1767225663000,"attempts":1}}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000016', 'default', 'open', '', 'parks', 0, 'who ', 'parks', '{}', 'UFpWlVjY7YXKC-r9tG5_yihTVHyeOelcV3c-3_ZHt8Y', '{"order":2}', 1767225663000, 'parked', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":0,"waitingMs":0,"until":1767225663000,"attempts":1}}', 1, 1767225663000, 'golden000017', NULL, NULL, 1, NULL, 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000018', 'default', 'open', '', 'waits', 0, 'who ', 'waits', '{}', 'c6qyhGtXo0E_y2FzqH0LwAGzEoVPeeyVa5EsY3ezCL0', '{"order":3}', 1767225663000, 'running', '{}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000020', 'default', 'open', '', 'interrupted', 0, 'who ', 'interrupted', '{}', '1AoP9F97XJKrPuM1CPd40eLjM-nonQnQ-t79mAZfZ2c', '{"order":4}', 1767225663000, 'running', '{}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000021', 'default', 'open', '', 'once', 0, 'who ', 'once', '{}', 'y3BFQLNMmBjm_2MMmzZGah3wWKKt5zZAwYSjiw7onoc', '{"order":5}', 1767225663000, 'running', '{}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000022', 'default', 'open', '', 'calls', 0, 'who ', 'calls', '{}', 'ltdoBMAN2mgwZ8LI3dzKfP13x5vnVBEK9kmhnD_yBG0', '{"order":6}', 1767225663000, 'running', '{}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000023', 'default', 'open', 'pawl:under:0:,5:calls,1:0,5:run:1,', 'inner', 0, 'who ', 'echo', '{"n":1}', 'GgDCbRkEsbZg1U9l7Hg_X_Z4kij_Gvc0Spv00uADzwQ', '{"root":"golden000022"}', 1767225663000, 'settled', '{"n":1}', '{"onCrash":"rerun"}', 1, 1767225663000, NULL, '{"status":"success","value":{"n":1}}', 1767225663000, 1, NULL, 0, NULL, NULL);
INSERT INTO calls ("uid", "tenant", "session", "batch", "id", "occurrence", "principal", "tool", "input", "hash", "options", "createdAt", "state", "args", "terms", "attempt", "startedAt", "wait", "outcome", "settledAt", "fence", "owner", "deaths", "trouble", "line") VALUES ('golden000024', 'default', 'stops', '', 's', 0, 'who ', 'charges', '{}', '9M28ZtTq2EF44hprLLY3gcQevYra5ELmouoYXbIxjEA', NULL, 1767225663000, 'running', '{}', '{"onCrash":"stop"}', 1, 1767225663000, NULL, NULL, NULL, 1, 'golden000003', 0, NULL, NULL);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000006', 'step:a', 'done', '{"x":1}', '{"x":1}', 1, 1767225662000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000006', 'step:b ü', 'done', NULL, '"then"', 1, 1767225662000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000012', 'cancel', 'done', NULL, '{"reason":"Not wanted","by":"Ada"}', 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000014', 'sleep:1', 'done', NULL, '1767229263000', 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000014', 'step:before', 'done', NULL, '"then"', 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000015', 'retry:1', 'done', NULL, '1767225693000', 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000020', 'step:first', 'done', NULL, '"then"', 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000021', 'step:only', 'started', NULL, NULL, 1, 1767225663000);
INSERT INTO steps ("call", "key", "state", "input", "value", "round", "at") VALUES ('golden000022', 'sleep:1', 'done', NULL, '1767229263000', 1, 1767225663000);
INSERT INTO waits ("id", "call", "name", "salt", "keyHash", "deadline", "createdAt", "resolution", "terms") VALUES ('golden000013', 'golden000012', 'answer', 'Oafg3eKANBvvKvxQ_0qa-Q', 'xJVkIbilJtF5XakSxm4LBRm8tzsn-Avog527-wP_C-8', 1767830462000, 1767225662000, '{"cancelled":"Not wanted"}', NULL);
INSERT INTO waits ("id", "call", "name", "salt", "keyHash", "deadline", "createdAt", "resolution", "terms") VALUES ('golden000017', 'golden000016', 'answer', 'AwTUWvPyyqSqu10oMd4bSw', 'f0f_-IQcKAiFoOgGU9Awi0tqyD4ph9GVAaoNWaUpy3g', 1767830463000, 1767225663000, NULL, NULL);
INSERT INTO waits ("id", "call", "name", "salt", "keyHash", "deadline", "createdAt", "resolution", "terms") VALUES ('golden000019', 'golden000018', 'ears', '1MKK1l2YiysFaKDao5Sbbg', 'Svml2VUHkMKsIyoLQqb7dNSc2ge0r95X3X0-mNt3X9M', 1767830463000, 1767225663000, NULL, NULL);
INSERT INTO attachments ("tenant", "id", "mediaType", "name", "data") VALUES ('default', 'att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s', 'application/x', 'q"''ü', X'000102FF');
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (1, 'default', 'unknown', 1, 'golden000002', 'call.received', 1767225600000, '{"tool":"charges"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (10, 'default', 'settled', 7, 'golden000010', 'call.received', 1767225662000, '{"tool":"echo"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (11, 'default', 'settled', 8, 'golden000009', 'call.settled', 1767225662000, '{"status":"failure","attempts":0}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (12, 'default', 'settled', 9, 'golden000010', 'call.settled', 1767225662000, '{"status":"failure","attempts":0}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (13, 'default', 'settled', 10, 'golden000006', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (14, 'default', 'settled', 11, 'golden000005', 'call.settled', 1767225662000, '{"status":"success","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (15, 'default', 'settled', 12, 'golden000006', 'step.done', 1767225662000, '{"step":"step:a"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (16, 'default', 'settled', 13, 'golden000006', 'step.done', 1767225662000, '{"step":"step:b ü"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (17, 'default', 'settled', 14, 'golden000007', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (18, 'default', 'settled', 15, 'golden000008', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (19, 'default', 'settled', 16, 'golden000006', 'call.settled', 1767225662000, '{"status":"success","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (2, 'default', 'unknown', 2, 'golden000002', 'call.started', 1767225600000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (20, 'default', 'settled', 17, 'golden000007', 'call.settled', 1767225662000, '{"status":"failure","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (21, 'default', 'settled', 18, 'golden000008', 'call.settled', 1767225662000, '{"status":"success","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (22, 'o''dd "näme" \ 😀', 'o''dd "näme" \ 😀', 1, 'golden000011', 'call.received', 1767225662000, '{"tool":"echo"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (23, 'o''dd "näme" \ 😀', 'o''dd "näme" \ 😀', 2, 'golden000011', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (24, 'o''dd "näme" \ 😀', 'o''dd "näme" \ 😀', 3, 'golden000011', 'call.settled', 1767225662000, '{"status":"success","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (25, 'default', 'cancelled', 1, 'golden000012', 'call.received', 1767225662000, '{"tool":"parks"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (26, 'default', 'cancelled', 2, 'golden000012', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (27, 'default', 'cancelled', 3, 'golden000012', 'wait.opened', 1767225662000, '{"wait":"golden000013","name":"answer","deadline":1767830462000}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (28, 'default', 'cancelled', 4, 'golden000012', 'call.parked', 1767225662000, '{"wait":"golden000013","deadline":1767830462000}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (29, 'default', 'cancelled', 5, 'golden000012', 'call.cancelling', 1767225663000, '{"reason":"Not wanted","by":"Ada"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (3, 'default', 'unknown', 3, 'golden000002', 'call.settled', 1767225661000, '{"status":"unknown","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (30, 'default', 'cancelled', 6, 'golden000012', 'wait.resolved', 1767225663000, '{"wait":"golden000013","by":"cancelled"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (31, 'default', 'cancelled', 7, 'golden000012', 'call.settled', 1767225663000, '{"status":"cancelled","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (32, 'default', 'open', 1, 'golden000014', 'call.received', 1767225663000, '{"tool":"sleeps"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (33, 'default', 'open', 2, 'golden000014', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (34, 'default', 'open', 3, 'golden000015', 'call.received', 1767225663000, '{"tool":"retries"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (35, 'default', 'open', 4, 'golden000015', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (36, 'default', 'open', 5, 'golden000015', 'call.queued', 1767225663000, '{"attempt":1,"until":1767225693000,"code":"try_again"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (37, 'default', 'open', 6, 'golden000016', 'call.received', 1767225663000, '{"tool":"parks"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (38, 'default', 'open', 7, 'golden000016', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (39, 'default', 'open', 8, 'golden000016', 'wait.opened', 1767225663000, '{"wait":"golden000017","name":"answer","deadline":1767830463000}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (4, 'default', 'settled', 1, 'golden000005', 'call.received', 1767225662000, '{"tool":"echo"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (40, 'default', 'open', 9, 'golden000018', 'call.received', 1767225663000, '{"tool":"waits"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (41, 'default', 'open', 10, 'golden000018', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (42, 'default', 'open', 11, 'golden000018', 'wait.opened', 1767225663000, '{"wait":"golden000019","name":"ears","deadline":1767830463000}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (43, 'default', 'open', 12, 'golden000020', 'call.received', 1767225663000, '{"tool":"interrupted"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (44, 'default', 'open', 13, 'golden000020', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (45, 'default', 'open', 14, 'golden000021', 'call.received', 1767225663000, '{"tool":"once"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (46, 'default', 'open', 15, 'golden000021', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (47, 'default', 'open', 16, 'golden000021', 'step.started', 1767225663000, '{"step":"step:only"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (48, 'default', 'open', 17, 'golden000022', 'call.received', 1767225663000, '{"tool":"calls"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (49, 'default', 'open', 18, 'golden000022', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (5, 'default', 'settled', 2, 'golden000005', 'call.started', 1767225662000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (50, 'default', 'open', 19, 'golden000023', 'call.received', 1767225663000, '{"tool":"echo"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (51, 'default', 'open', 20, 'golden000023', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (52, 'default', 'stops', 1, 'golden000024', 'call.received', 1767225663000, '{"tool":"charges"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (53, 'default', 'stops', 2, 'golden000024', 'call.started', 1767225663000, '{"attempt":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (54, 'default', 'open', 21, 'golden000023', 'call.settled', 1767225663000, '{"status":"success","attempts":1}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (55, 'default', 'open', 22, 'golden000014', 'step.done', 1767225663000, '{"step":"step:before"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (56, 'default', 'open', 23, 'golden000020', 'step.done', 1767225663000, '{"step":"step:first"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (57, 'default', 'open', 24, 'golden000016', 'call.parked', 1767225663000, '{"wait":"golden000017","deadline":1767830463000}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (58, 'default', 'open', 25, 'golden000014', 'step.done', 1767225663000, '{"step":"sleep:1"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (59, 'default', 'open', 26, 'golden000022', 'step.done', 1767225663000, '{"step":"sleep:1"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (6, 'default', 'settled', 3, 'golden000006', 'call.received', 1767225662000, '{"tool":"steps"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (7, 'default', 'settled', 4, 'golden000007', 'call.received', 1767225662000, '{"tool":"fails"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (8, 'default', 'settled', 5, 'golden000008', 'call.received', 1767225662000, '{"tool":"keeps"}', NULL);
INSERT INTO events ("position", "tenant", "session", "seq", "call", "type", "at", "body", "filed") VALUES (9, 'default', 'settled', 6, 'golden000009', 'call.received', 1767225662000, '{"tool":"no_such_tool"}', NULL);
INSERT INTO filed ("position") VALUES (0);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (1, 'default', 'unknown', 3);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (2, 'default', 'settled', 18);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (3, 'o''dd "näme" \ 😀', 'o''dd "näme" \ 😀', 3);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (4, 'default', 'cancelled', 7);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (5, 'default', 'open', 26);
INSERT INTO sessions ("number", "tenant", "session", "seq") VALUES (6, 'default', 'stops', 2);
INSERT INTO uses ("tenant", "id", "call") VALUES ('default', 'att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s', 'golden000008');
INSERT INTO erasures ("scope", "seq", "position", "count") VALUES ('', 0, 0, 0);
INSERT INTO sqlite_sequence ("name", "seq") VALUES ('events', 59);
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000002';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000005';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000006';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000007';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000008';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000009';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000010';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000011';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000012';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000014';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000015';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000016';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000018';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000020';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000021';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000022';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000023';
UPDATE calls SET "principal" = 'who ' || char(0) || ' knows \0' WHERE uid = 'golden000024';
