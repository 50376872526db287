CREATE TABLE attachments (place bytea NOT NULL, tenant text NOT NULL, id text NOT NULL, "mediaType" text NOT NULL, name text, data bytea NOT NULL, PRIMARY KEY (place));
INSERT INTO attachments VALUES (E'\\x45b146f12ec247fac21b198b8b772ff982b572c2959304c3182383ea942281a0', 'default', 'att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s', 'application/x', 'q"''ü', E'\\x000102ff');
CREATE TABLE calls (uid text COLLATE "C" NOT NULL, place bytea NOT NULL, scope bytea NOT NULL, tenant text NOT NULL, session text NOT NULL, batch text NOT NULL, id text NOT NULL, occurrence integer NOT NULL, principal text, tool text COLLATE "C" NOT NULL, input text NOT NULL, hash text NOT NULL, options text, "createdAt" bigint NOT NULL, state text NOT NULL, args text, terms text, attempt integer NOT NULL, "startedAt" bigint, wait text, outcome text, "settledAt" bigint, fence bigint NOT NULL, owner text COLLATE "C", deaths integer NOT NULL DEFAULT 0, trouble text, line text, PRIMARY KEY (uid), UNIQUE (place));
INSERT INTO calls VALUES ('golden000002', E'\\x1a962616dd3e0a5f9e7b582d2800f97446f42b27bcb8d4357e5fff374c648352', E'\\xe0d4a7690836a2272299ec39fd42a1f2c2f6de20a5d730e0084927acc9a18ef0', 'default', 'unknown', '', 'u', '0', E'who \\0 knows \\\\0', 'charges', '{"amount":5}', 'NKGYR1vhGEybBMoWyqhmhk1UPddhJWn8Q9Tbmd7hOZg', NULL, '1767225600050', 'settled', '{"amount":5}', '{"onCrash":"stop"}', '1', '1767225600050', NULL, '{"status":"unknown","unknown":{"message":"The worker stopped while this tool was running, so it is not known whether it took effect. It was not run again. Check before asking for it again.","startedAt":1767225600050,"evidence":{"attempt":1}}}', '1767225661000', '2', NULL, '1', NULL, NULL);
INSERT INTO calls VALUES ('golden000005', E'\\x2e1800f482a819bc70b9b86d20890b509bea7f7afcef0b9e34c88a5e6e0ba3e0', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'echo', '0', E'who \\0 knows \\\\0', 'echo', E'{"nul":"a\\u0000b","quote":"''\\"\\\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}', 'hyUwHrV1osZ4H_O-r5oVDemAwGe8DoaI7FsOupNtAng', NULL, '1767225662000', 'settled', E'{"nul":"a\\u0000b","quote":"''\\"\\\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}', '{"onCrash":"rerun"}', '1', '1767225662000', NULL, E'{"status":"success","value":{"nul":"a\\u0000b","quote":"''\\"\\\\","deep":[[1,2.5,0,1e+300],null,true],"emoji":"😀"}}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000006', E'\\xc4a8872e9cebe35c331a7984eab14ecdd8eb28822e1fdef233dc46fe0e020eee', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'steps', '0', E'who \\0 knows \\\\0', 'steps', '{"x":1}', 'm_mXa6MA-pQrhubgkSRoJOZsywJynLqFMiVLmI0F2_Q', '{"order":1}', '1767225662000', 'settled', '{"x":1}', '{"onCrash":"rerun"}', '1', '1767225662000', NULL, '{"status":"success","value":[{"x":1},"then"]}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000007', E'\\xe8237e768975d8afe189f2cd9674212dde20b10179af0ee120a32ee049c58039', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'fails', '0', E'who \\0 knows \\\\0', 'fails', '{}', 'P-n-W1PCBOjdpj7O00dBjpC8n7qFw8SRpWeCxIWKHzc', '{"order":2}', '1767225662000', 'settled', '{}', '{"onCrash":"rerun"}', '1', '1767225662000', NULL, '{"status":"failure","failure":{"source":"tool","retry":{"when":"never"},"class":"execution","code":"not_found","message":"No such order","raw":{"order":7}}}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000008', E'\\xbac3680c3bf51943951a6759e4c7f72b5970b4c5058a949da6f144856de6c06a', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'keeps', '0', E'who \\0 knows \\\\0', 'keeps', '{}', 'ou59M6p5XwWXCJtgbNjWNkYv1YeGN_reZhtYu453upU', '{"order":3}', '1767225662000', 'settled', '{}', '{"onCrash":"rerun"}', '1', '1767225662000', NULL, E'{"status":"success","value":{"file":{"$pawl":"attachment","ref":{"id":"att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s","mediaType":"application/x","bytes":4,"name":"q\\"''ü"}}}}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000009', E'\\xfed56a8a09c6a3782b596214f5e09b6e3b529d20763cce963c979623c21a308d', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'nobody', '0', E'who \\0 knows \\\\0', 'pawl:absent', '{}', 'H1TPArtViBur7iqcgL3PXuMClAI5xZmckyklg0eil9c', '{"absent":true,"name":"no_such_tool","order":4}', '1767225662000', 'settled', NULL, NULL, '0', NULL, NULL, '{"status":"failure","failure":{"source":"runtime","retry":{"when":"never"},"class":"unavailable","code":"tool_unavailable","message":"There is no tool named ''no_such_tool''."}}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000010', E'\\x54f93d046ec056a576d4b40176b70002bce60e4b27bab9f194dac8106a193065', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', 'default', 'settled', '', 'bad', '0', E'who \\0 knows \\\\0', 'echo', 'null', 'E2RmIzDKham99jtevjGt6q0ClEVwsEe6Rb6O87jqoqs', E'{"raw":"not an object","unreadable":"The arguments are not valid JSON: at line 1, column 1: expected a value, found \\"not an object\\"","order":5}', '1767225662000', 'settled', NULL, NULL, '0', NULL, NULL, E'{"status":"failure","failure":{"source":"runtime","retry":{"when":"never"},"class":"invalid_request","code":"invalid_arguments","message":"The arguments are not valid JSON: at line 1, column 1: expected a value, found \\"not an object\\"\\nFix the arguments and call again."}}', '1767225662000', '1', NULL, '0', NULL, '7:default,7:settled,0:,12:golden000004,');
INSERT INTO calls VALUES ('golden000011', E'\\xb5ece1824782b44bff2846ed275cef16bff42c8a7f4bbebec81ea759d467958f', E'\\x4fa4731802ca0978aa4263691471882fe6ce972ce545772fb409af0ab1abd3ca', E'o''dd "näme" \\\\ 😀', E'o''dd "näme" \\\\ 😀', '', E'o''dd "näme" \\\\ 😀', '0', E'who \\0 knows \\\\0', 'echo', E'{"same":"o''dd \\"näme\\" \\\\ 😀"}', 'nYMKwSaWqUtFmHVhu-vtrv_h3Ggr4txlSzVckpVs_zI', NULL, '1767225662000', 'settled', E'{"same":"o''dd \\"näme\\" \\\\ 😀"}', '{"onCrash":"rerun"}', '1', '1767225662000', NULL, E'{"status":"success","value":{"same":"o''dd \\"näme\\" \\\\ 😀"}}', '1767225662000', '1', NULL, '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000012', E'\\x339f276c69c47ddeeb4b4a7675aef6bbcf285a45ad9a74b1b890c87558e491f7', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', 'default', 'cancelled', '', 'c', '0', E'who \\0 knows \\\\0', 'parks', '{}', 'UFpWlVjY7YXKC-r9tG5_yihTVHyeOelcV3c-3_ZHt8Y', NULL, '1767225662025', 'settled', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":0,"waitingMs":0,"until":1767225662025,"attempts":1}}', '1', '1767225662025', 'golden000013', '{"status":"cancelled","cancellation":{"message":"Not wanted","source":"cancellation"}}', '1767225663000', '2', NULL, '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000014', E'\\xe80f10f2629bf5545b896708d83939fba2a31e692018a89182eda836427e3b30', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'sleeps', '0', E'who \\0 knows \\\\0', 'sleeps', '{}', '2WdUn8aTk5N0gO8iicYitJ23Q5L8CNDw0v8qN08AdCQ', NULL, '1767225663025', 'running', '{}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000015', E'\\x9ab625612f7101bc8ba893297d0589e1fb3919b207e4e60da29dcab99263e170', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'retries', '0', E'who \\0 knows \\\\0', 'retries', '{}', 'WlhbTli3i25GlfIZO0u85_idlmDxNiQNM577RtO4jr0', '{"order":1}', '1767225663025', 'queued', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":0,"waitingMs":0,"until":1767225663025,"attempts":1}}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000016', E'\\x48ab547b37eee8e9b5249b32c7a1806df54f61ddccde3c3760896cd0130af290', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'parks', '0', E'who \\0 knows \\\\0', 'parks', '{}', 'UFpWlVjY7YXKC-r9tG5_yihTVHyeOelcV3c-3_ZHt8Y', '{"order":2}', '1767225663025', 'parked', '{}', '{"onCrash":"rerun","spent":{"queuedMs":0,"runningMs":25,"waitingMs":0,"until":1767225663050,"attempts":1}}', '1', '1767225663025', 'golden000017', NULL, NULL, '1', NULL, '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000018', E'\\x9335c3215bb7642d9284f47c03fc13bd3168008f1e9cb441c57b64e79dc2bb7f', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'waits', '0', E'who \\0 knows \\\\0', 'waits', '{}', 'c6qyhGtXo0E_y2FzqH0LwAGzEoVPeeyVa5EsY3ezCL0', '{"order":3}', '1767225663025', 'running', '{}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000020', E'\\xe592ccbdc7307b15d378db4380de6f2a2118c18746781f89fce5d5aa19c92c07', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'interrupted', '0', E'who \\0 knows \\\\0', 'interrupted', '{}', '1AoP9F97XJKrPuM1CPd40eLjM-nonQnQ-t79mAZfZ2c', '{"order":4}', '1767225663025', 'running', '{}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000021', E'\\xfd2bea803146a384b9273d2dfef45b20ad7b1ee6fc9cdc018680813fe6f2dd9f', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'once', '0', E'who \\0 knows \\\\0', 'once', '{}', 'y3BFQLNMmBjm_2MMmzZGah3wWKKt5zZAwYSjiw7onoc', '{"order":5}', '1767225663025', 'running', '{}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000022', E'\\xd18a920247507ff3c181d8d420f4309a78dddcc419354f964e7d7d2473de449e', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', '', 'calls', '0', E'who \\0 knows \\\\0', 'calls', '{}', 'ltdoBMAN2mgwZ8LI3dzKfP13x5vnVBEK9kmhnD_yBG0', '{"order":6}', '1767225663025', 'running', '{}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000023', E'\\xe12a6bac099907e58bf0e4bc34b4e34e0f01895beadc4d7787772ce15a0b915c', E'\\x02ac9d033d88ee404d7633619c2f92cc28c9cd8b573bb3b6df7c8a5df92647d4', 'default', 'stops', '', 's', '0', E'who \\0 knows \\\\0', 'charges', '{}', '9M28ZtTq2EF44hprLLY3gcQevYra5ELmouoYXbIxjEA', NULL, '1767225663025', 'running', '{}', '{"onCrash":"stop"}', '1', '1767225663025', NULL, NULL, NULL, '1', 'golden000003', '0', NULL, NULL);
INSERT INTO calls VALUES ('golden000024', E'\\x5814fefcdd44e7cf9397489a3cc69f7abf1c839e673e607d81b4e60df1585d48', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', 'default', 'open', 'pawl:under:0:,5:calls,1:0,5:run:1,', 'inner', '0', E'who \\0 knows \\\\0', 'echo', '{"n":1}', 'GgDCbRkEsbZg1U9l7Hg_X_Z4kij_Gvc0Spv00uADzwQ', '{"root":"golden000022"}', '1767225663025', 'settled', '{"n":1}', '{"onCrash":"rerun"}', '1', '1767225663025', NULL, '{"status":"success","value":{"n":1}}', '1767225663025', '1', NULL, '0', NULL, NULL);
CREATE TABLE erasures (scope bytea NOT NULL, seq bigint NOT NULL, "position" bigint NOT NULL, count bigint NOT NULL, PRIMARY KEY (scope));
INSERT INTO erasures VALUES (E'\\x', '0', '0', '0');
CREATE TABLE events ("position" bigint NOT NULL, scope bytea NOT NULL, seq bigint NOT NULL, tenant text NOT NULL, session text NOT NULL, call text NOT NULL, type text NOT NULL, at bigint NOT NULL, body text NOT NULL, PRIMARY KEY ("position"));
INSERT INTO events VALUES ('1', E'\\xe0d4a7690836a2272299ec39fd42a1f2c2f6de20a5d730e0084927acc9a18ef0', '1', 'default', 'unknown', 'golden000002', 'call.received', '1767225600050', '{"tool":"charges"}');
INSERT INTO events VALUES ('10', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '7', 'default', 'settled', 'golden000010', 'call.received', '1767225662000', '{"tool":"echo"}');
INSERT INTO events VALUES ('11', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '8', 'default', 'settled', 'golden000009', 'call.settled', '1767225662000', '{"status":"failure","attempts":0}');
INSERT INTO events VALUES ('12', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '9', 'default', 'settled', 'golden000010', 'call.settled', '1767225662000', '{"status":"failure","attempts":0}');
INSERT INTO events VALUES ('13', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '10', 'default', 'settled', 'golden000006', 'call.started', '1767225662000', '{"attempt":1}');
INSERT INTO events VALUES ('14', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '11', 'default', 'settled', 'golden000005', 'call.settled', '1767225662000', '{"status":"success","attempts":1}');
INSERT INTO events VALUES ('15', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '12', 'default', 'settled', 'golden000006', 'step.done', '1767225662000', '{"step":"step:a"}');
INSERT INTO events VALUES ('16', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '13', 'default', 'settled', 'golden000006', 'step.done', '1767225662000', '{"step":"step:b ü"}');
INSERT INTO events VALUES ('17', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '14', 'default', 'settled', 'golden000007', 'call.started', '1767225662000', '{"attempt":1}');
INSERT INTO events VALUES ('18', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '15', 'default', 'settled', 'golden000008', 'call.started', '1767225662000', '{"attempt":1}');
INSERT INTO events VALUES ('19', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '16', 'default', 'settled', 'golden000006', 'call.settled', '1767225662000', '{"status":"success","attempts":1}');
INSERT INTO events VALUES ('2', E'\\xe0d4a7690836a2272299ec39fd42a1f2c2f6de20a5d730e0084927acc9a18ef0', '2', 'default', 'unknown', 'golden000002', 'call.started', '1767225600050', '{"attempt":1}');
INSERT INTO events VALUES ('20', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '17', 'default', 'settled', 'golden000007', 'call.settled', '1767225662000', '{"status":"failure","attempts":1}');
INSERT INTO events VALUES ('21', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '18', 'default', 'settled', 'golden000008', 'call.settled', '1767225662000', '{"status":"success","attempts":1}');
INSERT INTO events VALUES ('22', E'\\x4fa4731802ca0978aa4263691471882fe6ce972ce545772fb409af0ab1abd3ca', '1', E'o''dd "näme" \\\\ 😀', E'o''dd "näme" \\\\ 😀', 'golden000011', 'call.received', '1767225662000', '{"tool":"echo"}');
INSERT INTO events VALUES ('23', E'\\x4fa4731802ca0978aa4263691471882fe6ce972ce545772fb409af0ab1abd3ca', '2', E'o''dd "näme" \\\\ 😀', E'o''dd "näme" \\\\ 😀', 'golden000011', 'call.started', '1767225662000', '{"attempt":1}');
INSERT INTO events VALUES ('24', E'\\x4fa4731802ca0978aa4263691471882fe6ce972ce545772fb409af0ab1abd3ca', '3', E'o''dd "näme" \\\\ 😀', E'o''dd "näme" \\\\ 😀', 'golden000011', 'call.settled', '1767225662000', '{"status":"success","attempts":1}');
INSERT INTO events VALUES ('25', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '1', 'default', 'cancelled', 'golden000012', 'call.received', '1767225662025', '{"tool":"parks"}');
INSERT INTO events VALUES ('26', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '2', 'default', 'cancelled', 'golden000012', 'call.started', '1767225662025', '{"attempt":1}');
INSERT INTO events VALUES ('27', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '3', 'default', 'cancelled', 'golden000012', 'wait.opened', '1767225662025', '{"wait":"golden000013","name":"answer","deadline":1767830462025}');
INSERT INTO events VALUES ('28', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '4', 'default', 'cancelled', 'golden000012', 'call.parked', '1767225662025', '{"wait":"golden000013","deadline":1767830462025}');
INSERT INTO events VALUES ('29', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '5', 'default', 'cancelled', 'golden000012', 'call.cancelling', '1767225663000', '{"reason":"Not wanted","by":"Ada"}');
INSERT INTO events VALUES ('3', E'\\xe0d4a7690836a2272299ec39fd42a1f2c2f6de20a5d730e0084927acc9a18ef0', '3', 'default', 'unknown', 'golden000002', 'call.settled', '1767225661000', '{"status":"unknown","attempts":1}');
INSERT INTO events VALUES ('30', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '6', 'default', 'cancelled', 'golden000012', 'wait.resolved', '1767225663000', '{"wait":"golden000013","by":"cancelled"}');
INSERT INTO events VALUES ('31', E'\\xe50835820c1caa628eed84fc97df3d0da629e5d4065c9a6602f3ef5d57df004e', '7', 'default', 'cancelled', 'golden000012', 'call.settled', '1767225663000', '{"status":"cancelled","attempts":1}');
INSERT INTO events VALUES ('32', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '1', 'default', 'open', 'golden000014', 'call.received', '1767225663025', '{"tool":"sleeps"}');
INSERT INTO events VALUES ('33', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '2', 'default', 'open', 'golden000014', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('34', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '3', 'default', 'open', 'golden000015', 'call.received', '1767225663025', '{"tool":"retries"}');
INSERT INTO events VALUES ('35', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '4', 'default', 'open', 'golden000015', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('36', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '5', 'default', 'open', 'golden000015', 'call.queued', '1767225663025', '{"attempt":1,"until":1767225693025,"code":"try_again"}');
INSERT INTO events VALUES ('37', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '6', 'default', 'open', 'golden000016', 'call.received', '1767225663025', '{"tool":"parks"}');
INSERT INTO events VALUES ('38', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '7', 'default', 'open', 'golden000016', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('39', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '8', 'default', 'open', 'golden000016', 'wait.opened', '1767225663025', '{"wait":"golden000017","name":"answer","deadline":1767830463025}');
INSERT INTO events VALUES ('4', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '1', 'default', 'settled', 'golden000005', 'call.received', '1767225662000', '{"tool":"echo"}');
INSERT INTO events VALUES ('40', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '9', 'default', 'open', 'golden000018', 'call.received', '1767225663025', '{"tool":"waits"}');
INSERT INTO events VALUES ('41', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '10', 'default', 'open', 'golden000018', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('42', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '11', 'default', 'open', 'golden000018', 'wait.opened', '1767225663025', '{"wait":"golden000019","name":"ears","deadline":1767830463025}');
INSERT INTO events VALUES ('43', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '12', 'default', 'open', 'golden000020', 'call.received', '1767225663025', '{"tool":"interrupted"}');
INSERT INTO events VALUES ('44', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '13', 'default', 'open', 'golden000020', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('45', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '14', 'default', 'open', 'golden000021', 'call.received', '1767225663025', '{"tool":"once"}');
INSERT INTO events VALUES ('46', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '15', 'default', 'open', 'golden000021', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('47', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '16', 'default', 'open', 'golden000021', 'step.started', '1767225663025', '{"step":"step:only"}');
INSERT INTO events VALUES ('48', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '17', 'default', 'open', 'golden000022', 'call.received', '1767225663025', '{"tool":"calls"}');
INSERT INTO events VALUES ('49', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '18', 'default', 'open', 'golden000022', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('5', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '2', 'default', 'settled', 'golden000005', 'call.started', '1767225662000', '{"attempt":1}');
INSERT INTO events VALUES ('50', E'\\x02ac9d033d88ee404d7633619c2f92cc28c9cd8b573bb3b6df7c8a5df92647d4', '1', 'default', 'stops', 'golden000023', 'call.received', '1767225663025', '{"tool":"charges"}');
INSERT INTO events VALUES ('51', E'\\x02ac9d033d88ee404d7633619c2f92cc28c9cd8b573bb3b6df7c8a5df92647d4', '2', 'default', 'stops', 'golden000023', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('52', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '19', 'default', 'open', 'golden000014', 'step.done', '1767225663025', '{"step":"step:before"}');
INSERT INTO events VALUES ('53', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '20', 'default', 'open', 'golden000020', 'step.done', '1767225663025', '{"step":"step:first"}');
INSERT INTO events VALUES ('54', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '21', 'default', 'open', 'golden000024', 'call.received', '1767225663025', '{"tool":"echo"}');
INSERT INTO events VALUES ('55', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '22', 'default', 'open', 'golden000024', 'call.started', '1767225663025', '{"attempt":1}');
INSERT INTO events VALUES ('56', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '23', 'default', 'open', 'golden000024', 'call.settled', '1767225663025', '{"status":"success","attempts":1}');
INSERT INTO events VALUES ('57', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '24', 'default', 'open', 'golden000016', 'call.parked', '1767225663050', '{"wait":"golden000017","deadline":1767830463025}');
INSERT INTO events VALUES ('58', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '25', 'default', 'open', 'golden000014', 'step.done', '1767225663050', '{"step":"sleep:1"}');
INSERT INTO events VALUES ('59', E'\\x83d095bd2debaa8f7565173f65ab98f7201f4dde7c43a60e2ffee56cbfbe21d5', '26', 'default', 'open', 'golden000022', 'step.done', '1767225663050', '{"step":"sleep:1"}');
INSERT INTO events VALUES ('6', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '3', 'default', 'settled', 'golden000006', 'call.received', '1767225662000', '{"tool":"steps"}');
INSERT INTO events VALUES ('7', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '4', 'default', 'settled', 'golden000007', 'call.received', '1767225662000', '{"tool":"fails"}');
INSERT INTO events VALUES ('8', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '5', 'default', 'settled', 'golden000008', 'call.received', '1767225662000', '{"tool":"keeps"}');
INSERT INTO events VALUES ('9', E'\\xaee345f5663b3283b7d90e893173e580d38f239cf937aa1c77bca7a20b797cc3', '6', 'default', 'settled', 'golden000009', 'call.received', '1767225662000', '{"tool":"no_such_tool"}');
CREATE TABLE holds (place bytea NOT NULL, holder text COLLATE "C" NOT NULL, name text NOT NULL, worker text COLLATE "C" NOT NULL, ticket bigint, until timestamp with time zone, PRIMARY KEY (place, holder));
CREATE TABLE kept (place bytea NOT NULL, whose bytea NOT NULL, scope bytea NOT NULL, of text COLLATE "C" NOT NULL, tenant text NOT NULL, session text NOT NULL, key text COLLATE "C" NOT NULL, revision bigint NOT NULL, value text NOT NULL, PRIMARY KEY (place));
CREATE TABLE log (one boolean NOT NULL DEFAULT true, "position" bigint NOT NULL, version bigint NOT NULL, CHECK (one), PRIMARY KEY (one));
INSERT INTO log VALUES ('true', '59', '14');
CREATE TABLE meta (one boolean NOT NULL DEFAULT true, version integer NOT NULL, CHECK (one), PRIMARY KEY (one));
INSERT INTO meta VALUES ('true', '4');
CREATE TABLE settings (key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (key));
INSERT INTO settings VALUES ('format', '1');
INSERT INTO settings VALUES ('secret_fingerprint', 'xxflL2JnTSYhdd8yjRXWe3M0vG9spvaSMzti0jgdR8g');
CREATE TABLE steps (call text COLLATE "C" NOT NULL, place bytea NOT NULL, key text NOT NULL, state text NOT NULL, input text, value text, round integer NOT NULL, at bigint NOT NULL, PRIMARY KEY (call, place));
INSERT INTO steps VALUES ('golden000006', E'\\x0eee77c09f16ab2e74da5053352e7b5516e81d33d8e1539a2ff3c1a5aaf15f27', 'step:b ü', 'done', NULL, '"then"', '1', '1767225662000');
INSERT INTO steps VALUES ('golden000006', E'\\xafe841b2aeac2ff0f76b0a9d51a6349b9266151f6213b1cdec147eb61206c42b', 'step:a', 'done', '{"x":1}', '{"x":1}', '1', '1767225662000');
INSERT INTO steps VALUES ('golden000012', E'\\xf52d6975dd4c18e7a706284e3a7f87331161764ec46cc03dc4190e3261c663b8', 'cancel', 'done', NULL, '{"reason":"Not wanted","by":"Ada"}', '1', '1767225663000');
INSERT INTO steps VALUES ('golden000014', E'\\x146473c7f59bde301bbaa10c56267925736ea72063cbc0be9d799a054af782a5', 'step:before', 'done', NULL, '"then"', '1', '1767225663025');
INSERT INTO steps VALUES ('golden000014', E'\\x614a3116ab1ddc3b852ae10a79c2d2184c79224bc1c2dceb0be447b997c31de0', 'sleep:1', 'done', NULL, '1767229263050', '1', '1767225663050');
INSERT INTO steps VALUES ('golden000015', E'\\x529cb6005ad8b896558ae2f9b7b34ed6e37a7b9ccb51b3cb637e47eaad51b94c', 'retry:1', 'done', NULL, '1767225693025', '1', '1767225663025');
INSERT INTO steps VALUES ('golden000020', E'\\x05afd2b020b78fd35c5238fe74f3c9c63c33fd466d22f2a73fc8188990661869', 'step:first', 'done', NULL, '"then"', '1', '1767225663025');
INSERT INTO steps VALUES ('golden000021', E'\\xaa482707b097f05ab6b9290ef731eca232affa06802207ef247868bb24f36125', 'step:only', 'started', NULL, NULL, '1', '1767225663025');
INSERT INTO steps VALUES ('golden000022', E'\\x614a3116ab1ddc3b852ae10a79c2d2184c79224bc1c2dceb0be447b997c31de0', 'sleep:1', 'done', NULL, '1767229263050', '1', '1767225663050');
CREATE TABLE uses (place bytea NOT NULL, call text COLLATE "C" NOT NULL, PRIMARY KEY (place, call));
INSERT INTO uses VALUES (E'\\x45b146f12ec247fac21b198b8b772ff982b572c2959304c3182383ea942281a0', 'golden000008');
CREATE TABLE waits (id text COLLATE "C" NOT NULL, call text COLLATE "C" NOT NULL, name text NOT NULL, salt text NOT NULL, "keyHash" text COLLATE "C" NOT NULL, deadline bigint NOT NULL, "createdAt" bigint NOT NULL, resolution text, terms text, UNIQUE ("keyHash"), PRIMARY KEY (id));
INSERT INTO waits VALUES ('golden000013', 'golden000012', 'answer', 's8RofxZhPOGB_VR71s0pDw', 'CvsA_egGTzb-U_FVhrxUgWV8-M2haeA6FYdJOTs0Yxw', '1767830462025', '1767225662025', '{"cancelled":"Not wanted"}', NULL);
INSERT INTO waits VALUES ('golden000017', 'golden000016', 'answer', 'gYPyRoTjIqzTVOtyj5Dabg', 'gd6ZC8waGyzUl5Kbc9_jjXnmXrNDka9UZ4xi3iVChf8', '1767830463025', '1767225663025', NULL, NULL);
INSERT INTO waits VALUES ('golden000019', 'golden000018', 'ears', 'CkMPRl1sjUksbc-MbjZFAQ', '-D7rAcjl_4RFuZK_uOpWSR_4lX1CKjER-EYJFqZB6j8', '1767830463025', '1767225663025', NULL, NULL);
CREATE TABLE workers (id text COLLATE "C" NOT NULL, until timestamp with time zone NOT NULL, PRIMARY KEY (id));
INSERT INTO workers VALUES ('golden000001', '2026-11-17 23:36:21.26482+00');
INSERT INTO workers VALUES ('golden000003', '2026-11-17 23:36:34.273072+00');
CREATE INDEX calls_line ON calls USING hash (line) WHERE ((line IS NOT NULL) AND (state = ANY (ARRAY['received'::text, 'queued'::text, 'running'::text])));
CREATE INDEX calls_open ON calls USING btree (owner, "createdAt", uid) WHERE (state = ANY (ARRAY['received'::text, 'queued'::text, 'running'::text]));
CREATE INDEX calls_parked ON calls USING btree (scope, uid) WHERE (state = 'parked'::text);
CREATE INDEX calls_scope ON calls USING btree (scope, uid);
CREATE INDEX calls_settled ON calls USING btree ("settledAt", uid) WHERE (state = 'settled'::text);
CREATE INDEX events_scope ON events USING btree (scope, "position");
CREATE INDEX holds_holder ON holds USING btree (holder);
CREATE INDEX holds_ticket ON holds USING btree (ticket) WHERE (ticket IS NOT NULL);
CREATE INDEX holds_until ON holds USING btree (until) WHERE (until IS NOT NULL);
CREATE INDEX kept_all ON kept USING btree (of, key);
CREATE INDEX kept_session ON kept USING btree (of, scope, key);
CREATE INDEX kept_tenant ON kept USING btree (of, whose, key);
CREATE INDEX uses_call ON uses USING btree (call);
CREATE INDEX waits_call ON waits USING btree (call);
CREATE INDEX waits_open ON waits USING btree (deadline, id) WHERE (resolution IS NULL);
CREATE OR REPLACE FUNCTION erase_page_3(of_tenant text, of_scope text, before bigint, after_at bigint, after_uid text, most integer, anew boolean)
 RETURNS TABLE(calls integer, events integer, attachments integer, "lastAt" bigint, "lastUid" text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
  #variable_conflict use_column
  DECLARE uids text[]; scopes bytea[]; files bytea[]; number bigint; furthest bigint;
  BEGIN
    PERFORM 1 FROM log FOR UPDATE;
    IF of_scope IS NOT NULL THEN 
  SELECT coalesce(array_agg(uid ORDER BY uid), '{}'), coalesce(array_agg(DISTINCT scope), '{}'), max("settledAt")
    INTO uids, scopes, "lastAt" FROM (SELECT uid, scope, "settledAt" FROM calls AS c WHERE scope = decode(of_scope, 'hex') AND uid > after_uid AND state = 'settled' AND "settledAt" < before
      AND scope NOT IN (SELECT scope FROM calls WHERE state IN ('received', 'queued', 'running'))
      AND NOT EXISTS (SELECT 1 FROM calls AS p WHERE p.state = 'parked' AND p.scope = c.scope) ORDER BY uid LIMIT most) AS page;
    ELSIF of_tenant IS NOT NULL THEN 
  SELECT coalesce(array_agg(uid ORDER BY uid), '{}'), coalesce(array_agg(DISTINCT scope), '{}'), max("settledAt")
    INTO uids, scopes, "lastAt" FROM (SELECT uid, scope, "settledAt" FROM calls AS c WHERE tenant = of_tenant AND uid > after_uid AND state = 'settled' AND "settledAt" < before
      AND scope NOT IN (SELECT scope FROM calls WHERE state IN ('received', 'queued', 'running'))
      AND NOT EXISTS (SELECT 1 FROM calls AS p WHERE p.state = 'parked' AND p.scope = c.scope) ORDER BY uid LIMIT most) AS page;
    ELSE 
  SELECT coalesce(array_agg(uid ORDER BY "settledAt", uid), '{}'), coalesce(array_agg(DISTINCT scope), '{}'), max("settledAt")
    INTO uids, scopes, "lastAt" FROM (SELECT uid, scope, "settledAt" FROM calls AS c WHERE ("settledAt", uid) > (after_at, after_uid) AND state = 'settled' AND "settledAt" < before
      AND scope NOT IN (SELECT scope FROM calls WHERE state IN ('received', 'queued', 'running'))
      AND NOT EXISTS (SELECT 1 FROM calls AS p WHERE p.state = 'parked' AND p.scope = c.scope) ORDER BY "settledAt", uid LIMIT most) AS page;
    END IF;
    calls := cardinality(uids); events := 0; attachments := 0;
    "lastUid" := uids[calls];
    IF calls > 0 THEN
      SELECT coalesce(array_agg(DISTINCT place), '{}') INTO files FROM uses WHERE call = ANY(uids);
      DELETE FROM steps WHERE call = ANY(uids);
      DELETE FROM waits WHERE call = ANY(uids);
      DELETE FROM uses WHERE call = ANY(uids);
      DELETE FROM calls WHERE uid = ANY(uids);
      DELETE FROM attachments WHERE place = ANY(files) AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.place = attachments.place);
      GET DIAGNOSTICS attachments = ROW_COUNT;
      SELECT count + 1 INTO number FROM erasures WHERE scope = '';
      -- All parts of a statement see the events as they were before it.
      WITH gone AS (DELETE FROM events WHERE scope = ANY(scopes) AND call = ANY(uids) RETURNING scope, position),
        sums AS (SELECT scope, max(position) AS position, count(*) AS total FROM gone GROUP BY scope),
        noted AS (INSERT INTO erasures AS e
          SELECT scope, (SELECT seq FROM events WHERE events.scope = sums.scope ORDER BY position DESC LIMIT 1), position, number FROM sums
          ON CONFLICT (scope) DO UPDATE SET seq = greatest(e.seq, excluded.seq), position = greatest(e.position, excluded.position),
            count = excluded.count)
        SELECT coalesce(sum(total), 0), max(position) INTO events, furthest FROM sums;
      IF events > 0 THEN UPDATE erasures SET count = number, position = greatest(position, furthest) WHERE scope = ''; END IF;
      IF anew THEN
        UPDATE erasures SET seq = 0 WHERE scope = ANY(scopes) AND NOT EXISTS (SELECT 1 FROM events WHERE events.scope = erasures.scope);
      END IF;
    END IF;
    IF anew AND of_scope IS NOT NULL AND calls < most THEN DELETE FROM kept WHERE scope = decode(of_scope, 'hex'); END IF;
    IF anew AND of_tenant IS NOT NULL AND of_scope IS NULL AND calls < most THEN
      DELETE FROM kept WHERE tenant = of_tenant;
      WITH gone AS (DELETE FROM attachments WHERE tenant = of_tenant
          AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.place = attachments.place) RETURNING 1)
        SELECT attachments + count(*) INTO attachments FROM gone;
    END IF;
    RETURN NEXT;
  END $function$
;
CREATE OR REPLACE FUNCTION lacking_places(who text, lenders text[], places json)
 RETURNS TABLE(name text)
 LANGUAGE sql
AS $function$
    SELECT x.name FROM ROWS FROM (json_to_recordset(places) AS (place text, name text, capacity integer)) WITH ORDINALITY AS x
      WHERE (SELECT count(*) FROM holds AS c WHERE c.place = decode(x.place, 'hex') AND (c.until IS NULL OR c.until > clock_timestamp())
        AND (c.ticket IS NULL OR EXISTS (SELECT 1 FROM workers WHERE workers.id = c.worker AND workers.until > clock_timestamp()))
        AND c.holder <> who AND c.holder <> ALL (lenders)
        AND (c.ticket IS NULL OR c.ticket <
        CASE
          WHEN cardinality(lenders) > 0 OR EXISTS (SELECT 1 FROM holds AS own WHERE own.place = decode(x.place, 'hex') AND own.holder = who
            AND own.ticket IS NULL) THEN 0
          ELSE coalesce((SELECT ticket FROM holds AS own WHERE own.holder = who AND own.ticket IS NOT NULL LIMIT 1), 9007199254740991) END))
        >= x.capacity ORDER BY x.ordinality
  $function$
;
CREATE OR REPLACE FUNCTION write_group_3(guards json, newcalls json, moves json, newsteps json, newwaits json, answers json, files json, facts json, placings json, newuses json, keeps json, channel text, writer text)
 RETURNS TABLE(bad integer[], raised bigint, lacking jsonb)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
  DECLARE last bigint; told_now bigint := 0; op record; lacks text; turn bigint;
  BEGIN
    SELECT position, version + 1 INTO last, raised FROM log FOR UPDATE;
    bad := '{}';
    IF guards IS NOT NULL THEN
      PERFORM 1 FROM calls WHERE uid IN (SELECT k FROM json_to_recordset(guards) AS g(kind text, k text) WHERE kind IN ('holds', 'held', 'unsettled'))
        ORDER BY uid FOR UPDATE;
      SELECT coalesce(array_agg(i), '{}') INTO bad FROM json_to_recordset(guards) AS g(i integer, kind text, k text, f bigint)
        WHERE NOT CASE kind
          -- Scalar, not EXISTS: that would be hashed, which reads the whole table.
          WHEN 'absent' THEN (SELECT uid FROM calls WHERE place = decode(k, 'hex')) IS NULL
          WHEN 'holds' THEN (SELECT fence = f AND state <> 'settled' FROM calls WHERE uid = k) IS TRUE
          WHEN 'unsettled' THEN (SELECT state <> 'settled' FROM calls WHERE uid = k) IS TRUE
          WHEN 'held' THEN (SELECT fence = f FROM calls WHERE uid = k) IS TRUE
          WHEN 'kept' THEN coalesce((SELECT revision FROM kept WHERE place = decode(k, 'hex')), 0) = f
          ELSE (SELECT resolution IS NULL FROM waits WHERE waits.id = k) IS TRUE END;
    END IF;
    lacking := '{}';
    IF placings IS NOT NULL THEN
      -- One after the other: what one gives back the next may take.
      FOR op IN SELECT * FROM json_to_recordset(placings)
        AS p(n integer, i integer, needs integer[], op text, holder text, above text[], worker text, places json) ORDER BY n
      LOOP
        CONTINUE WHEN op.needs && bad;
        IF op.op = 'take' THEN
          SELECT name INTO lacks FROM lacking_places(op.holder, op.above, op.places) LIMIT 1;
          IF FOUND THEN
            bad := bad || op.i;
            lacking := lacking || jsonb_build_object(op.i, lacks);
            CONTINUE;
          END IF;
          DELETE FROM holds WHERE holder = op.holder AND ticket IS NOT NULL;
          INSERT INTO holds SELECT decode(place, 'hex'), coalesce(entry, op.holder), name, op.worker, NULL,
              clock_timestamp() + ms * interval '1 millisecond'
            FROM json_to_recordset(op.places) AS x(place text, name text, entry text, ms double precision)
            ON CONFLICT (place, holder) DO UPDATE SET worker = excluded.worker, ticket = NULL, until = excluded.until;
        ELSIF op.op = 'line' THEN
          CONTINUE WHEN EXISTS (SELECT 1 FROM holds, json_to_recordset(op.places) AS x(place text)
            WHERE holds.place = decode(x.place, 'hex') AND holder = op.holder AND ticket IS NULL);
          SELECT coalesce((SELECT ticket FROM holds WHERE holder = op.holder AND ticket IS NOT NULL LIMIT 1),
            (SELECT coalesce(max(ticket), 0) + 1 FROM holds)) INTO turn;
          DELETE FROM holds WHERE holder = op.holder AND ticket IS NOT NULL;
          INSERT INTO holds SELECT decode(place, 'hex'), op.holder, name, op.worker, turn, NULL
            FROM json_to_recordset(op.places) AS x(place text, name text);
        ELSIF op.places IS NULL THEN
          DELETE FROM holds WHERE holder = op.holder;
        ELSE
          DELETE FROM holds USING json_to_recordset(op.places) AS x(place text)
            WHERE holds.place = decode(x.place, 'hex') AND holder = op.holder;
        END IF;
      END LOOP;
    END IF;
    IF newcalls IS NOT NULL THEN
      INSERT INTO calls SELECT uid, decode(place, 'hex'), decode(scope, 'hex'), tenant, session, batch, id, occurrence, principal, tool,
          input, hash, options, "createdAt", state, args, terms, attempt, "startedAt", wait, outcome, "settledAt", fence, owner, deaths, trouble, line
        FROM json_to_recordset(newcalls) AS c(needs integer[], uid text, place text, scope text, tenant text, session text, batch text,
          id text, occurrence integer, principal text, tool text, input text, hash text, options text, "createdAt" bigint, state text,
          args text, terms text, attempt integer, "startedAt" bigint, wait text, outcome text, "settledAt" bigint, fence bigint, owner text,
          deaths integer, trouble text, line text)
        WHERE NOT needs && bad;
    END IF;
    IF newwaits IS NOT NULL THEN
      INSERT INTO waits SELECT id, call, name, salt, "keyHash", deadline, "createdAt", resolution, terms
        FROM json_to_recordset(newwaits) AS w(needs integer[], id text, call text, name text, salt text, "keyHash" text, deadline bigint,
          "createdAt" bigint, resolution text, terms text) WHERE NOT needs && bad;
    END IF;
    IF moves IS NOT NULL THEN
      -- Of several moves of one call the last that holds is what remains; let go of once is let go of.
      UPDATE calls SET state = m.state, args = m.args, terms = m.terms, attempt = m.attempt, "startedAt" = m."startedAt", wait = m.wait,
          outcome = m.outcome, "settledAt" = m."settledAt", deaths = m.deaths, trouble = m.trouble, owner = CASE WHEN m.released THEN NULL ELSE owner END
        FROM (SELECT DISTINCT ON (uid) *, bool_or(release) OVER (PARTITION BY uid) AS released
          FROM json_to_recordset(moves) AS x(n integer, needs integer[], uid text, state text, args text, terms text, attempt integer,
            "startedAt" bigint, wait text, outcome text, "settledAt" bigint, deaths integer, trouble text, release boolean)
          WHERE NOT needs && bad ORDER BY uid, n DESC) AS m WHERE calls.uid = m.uid;
    END IF;
    IF newsteps IS NOT NULL THEN
      INSERT INTO steps SELECT DISTINCT ON (call, place) call, decode(place, 'hex'), key, state, input, value, round, at
        FROM json_to_recordset(newsteps) AS s(n integer, needs integer[], call text, place text, key text, state text, input text,
          value text, round integer, at bigint) WHERE NOT needs && bad ORDER BY call, place, n DESC
        ON CONFLICT (call, place) DO UPDATE SET state = excluded.state, input = excluded.input, value = excluded.value,
          round = excluded.round, at = excluded.at;
    END IF;
    IF answers IS NOT NULL THEN
      WITH answered AS (UPDATE waits SET resolution = a.resolution FROM json_to_recordset(answers) AS a(needs integer[], id text,
          resolution text) WHERE waits.id = a.id AND NOT needs && bad RETURNING waits.id, waits.call)
        UPDATE calls SET state = 'queued' FROM answered WHERE uid = answered.call AND state = 'parked' AND wait = answered.id;
    END IF;
    IF files IS NOT NULL THEN
      INSERT INTO attachments SELECT decode(place, 'hex'), tenant, id, "mediaType", name, decode(data, 'base64')
        FROM json_to_recordset(files) AS f(needs integer[], place text, tenant text, id text, "mediaType" text, name text, data text)
        WHERE NOT needs && bad ON CONFLICT DO NOTHING;
    END IF;
    IF newuses IS NOT NULL THEN
      INSERT INTO uses SELECT decode(place, 'hex'), call FROM json_to_recordset(newuses) AS u(needs integer[], place text, call text)
        WHERE NOT needs && bad ON CONFLICT DO NOTHING;
    END IF;
    IF keeps IS NOT NULL THEN
      -- One after the other: of several about one name each sees what the one before left.
      FOR op IN SELECT *, decode(name, 'hex') AS at FROM json_to_recordset(keeps) AS k(n integer, needs integer[], name text, whose text, scope text,
        "of" text, tenant text, session text, key text, value text) WHERE NOT needs && bad ORDER BY n
      LOOP
        IF op.value IS NULL THEN
          DELETE FROM kept WHERE place = op.at;
        ELSE
          INSERT INTO kept VALUES (op.at, decode(op.whose, 'hex'), decode(op.scope, 'hex'), op."of", op.tenant, op.session, op.key, 1, op.value)
            ON CONFLICT (place) DO UPDATE SET revision = kept.revision + 1, value = excluded.value;
        END IF;
      END LOOP;
    END IF;
    IF facts IS NOT NULL THEN
      INSERT INTO events SELECT last + row_number() OVER (ORDER BY n), s, max(before) OVER (PARTITION BY s) + nth,
          tenant, session, call, type, at, body
        -- Asked for once per session. Its last events may have been erased.
        FROM (SELECT *, CASE nth WHEN 1 THEN greatest((SELECT seq FROM events WHERE events.scope = s ORDER BY position DESC LIMIT 1),
            (SELECT seq FROM erasures WHERE erasures.scope = s), 0) END AS before
          FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY n) AS nth
            FROM (SELECT *, decode(scope, 'hex') AS s FROM json_to_recordset(facts) AS e(n integer, needs integer[], scope text,
              tenant text, session text, call text, type text, at bigint, body text) WHERE NOT needs && bad) AS told) AS counted) AS numbered;
      GET DIAGNOSTICS told_now = ROW_COUNT;
    END IF;
    UPDATE log SET position = last + told_now, version = raised;
    PERFORM pg_notify(channel, writer || ' ' || raised);
    RETURN NEXT;
  END $function$
;
