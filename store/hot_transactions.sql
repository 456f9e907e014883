-- The transactions that every message goes through, each as one function and so one round trip; see
-- docs/decisions/0001-hot-transactions.md. They do what accept, step, begin and settle of this package do statement by
-- statement on SQLite; the conformance suite holds the two together. All texts come cleaned and cut.
--
-- This file is edited in place: it is run after the migrations, as one transaction, whenever its hash is not the one
-- that the database has, also beside running engines. So every function is written CREATE OR REPLACE, and one that is not here
-- any more is dropped. One that keeps its parameters' types and changes its result or their names needs a
-- DROP FUNCTION IF EXISTS before it. See docs/operations.md, "Upgrades", for what engines of two builds may expect.

-- sb_clock is the database's clock, in µs.
CREATE OR REPLACE FUNCTION sb_clock() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)
$$;

-- sb_started is when this server was started, in µs.
CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS bigint)
$$;

-- sb_restarted says that this server was started less than 15 s ago, so that nobody is to blame for not having renewed.
-- A start in the future says that the clock was set back since.
CREATE OR REPLACE FUNCTION sb_restarted() RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT sb_started() > sb_clock() - 15000000 AND sb_started() <= sb_clock()
$$;

-- sb_alive: who renewed in the future did so before the clock was set back, and has to do so again.
CREATE OR REPLACE FUNCTION sb_alive(o owners) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT o.state = 'alive' AND o.declared_at IS NULL AND (o.expires_at IS NULL
		OR o.expires_at > sb_clock() AND o.renewed_at <= sb_clock() + 15000000 OR sb_restarted())
$$;

-- sb_in_time says that an owner's renewals came in time for 10 s, and by the clock as it is now.
CREATE OR REPLACE FUNCTION sb_in_time(p_owner bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT EXISTS (SELECT 1 FROM owners o WHERE o.id = p_owner AND o.in_time_since <= sb_clock() - 10000000
		AND o.renewed_at <= sb_clock())
$$;

-- sb_keeps says whether the owner o keeps its leases from p_taker: it lives, or has merely expired and the taker was late
-- itself, so that neither may be to blame.
CREATE OR REPLACE FUNCTION sb_keeps(o owners, p_taker bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT sb_alive(o) OR (o.state = 'alive' AND o.declared_at IS NULL AND NOT sb_in_time(p_taker))
$$;

-- sb_dead says that whoever has a lease is gone for sure, and not only late.
CREATE OR REPLACE FUNCTION sb_dead(o owners) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT o.state <> 'alive' OR o.declared_at IS NOT NULL
$$;

-- sb_lock takes the advisory lock of an owner for this connection; sb_locked says whether anybody has it. The number of
-- the table keeps the owners of two schemas of one database apart.
CREATE OR REPLACE FUNCTION sb_lock(p_owner bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT pg_try_advisory_lock(CAST(CAST(CAST('owners' AS regclass) AS oid) AS integer), CAST(p_owner AS integer))
$$;

CREATE OR REPLACE FUNCTION sb_lockers(p_owner bigint) RETURNS SETOF integer LANGUAGE sql VOLATILE AS $$
	SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
	AND l.classid = CAST(CAST('owners' AS regclass) AS oid) AND l.objid = CAST(p_owner AS oid)
	AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

CREATE OR REPLACE FUNCTION sb_locked(p_owner bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT EXISTS (SELECT 1 FROM sb_lockers(p_owner))
$$;

-- sb_holds says whether p_fence is the newest of a held lease, which then stays so to the end of the transaction: a
-- channel's by a lock, a session's because the session's row is locked by whoever changes it.
CREATE OR REPLACE FUNCTION sb_holds(p_kind text, p_name text, p_fence bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF p_kind = 'channel' THEN
		PERFORM 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = p_kind AND l.name = p_name AND l.fence = p_fence AND o.state = 'alive' FOR SHARE OF l;
	ELSE
		PERFORM 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = p_kind AND l.name = p_name AND l.fence = p_fence AND o.state = 'alive';
	END IF;
	RETURN FOUND;
END $$;

-- sb_emit numbers the events of a locked session and returns the first number.
CREATE OR REPLACE FUNCTION sb_emit(p_session bigint, p_events jsonb, p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	v_first bigint;
BEGIN
	IF jsonb_array_length(p_events) = 0 THEN
		RETURN 0;
	END IF;
	UPDATE sessions SET next_event = next_event + jsonb_array_length(p_events), used_at = p_now, restless = TRUE WHERE id = p_session
	RETURNING next_event - jsonb_array_length(p_events) + 1 INTO v_first;
	INSERT INTO events (session_id, n, kind, turn_id, message_id, data, created_at)
	SELECT p_session, v_first + i - 1, e ->> 'kind', nullif(CAST(e ->> 'turn' AS bigint), 0), nullif(CAST(e ->> 'message' AS bigint), 0),
		coalesce(e ->> 'data', ''), p_now
	FROM jsonb_array_elements(p_events) WITH ORDINALITY AS x (e, i);
	RETURN v_first;
END $$;

-- sb_load reads a running turn along with what set it running, as load does, column by column in the same order; a test
-- compares the two texts. What is not plain is left for load.
CREATE OR REPLACE FUNCTION sb_load(p_turn bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_turn jsonb;
	v_recent jsonb;
	v_session bigint;
	v_message bigint;
	v_reset_message bigint;
	v_reset_turn bigint;
BEGIN
	SELECT jsonb_build_array(t.id, t.person, coalesce(t.started_at, t.created_at) + t.waited, t.cancel_requested, t.resumed, t.calls,
		coalesce(t.retry_of, 0), CASE WHEN t.asked_at > 0 THEN t.asked_at ELSE t.created_at END, t.away, t.ordered,
		s.id, s.key, s.summary, s.summary_taint, s.mode, s.model, s.language, s.timezone, s.instructions, s.private <> '', s.reset_message, s.reset_turn, s.summed_to,
		coalesce(p.role, ''), coalesce(p.timezone, ''),
		c.channel, c.conversation, c.kind, c.place, c.title,
		m.id, m.text, m.author, m.happened_at, m.created_at, m.taint, m.quote, m.outside, m.forwarded_from, m.platform_id, coalesce(m.replaces, 0),
		m.attachments, coalesce(t.draft_id, 0),
		t.waited > 0 AND EXISTS (SELECT 1 FROM turns y WHERE y.session_id = t.session_id AND y.message_id > t.message_id
			AND y.started_at IS NOT NULL),
		(SELECT count(*) FROM turns y WHERE y.merged_into = t.id),
		(SELECT count(*) FROM plans WHERE plans.turn_id = t.id),
		(SELECT count(*) FROM messages y WHERE y.turn_id = t.id AND y.class = 'say'),
		EXISTS (SELECT 1 FROM memories x WHERE x.always = TRUE) OR EXISTS (SELECT 1 FROM recalled x WHERE x.scope IN ('global', 'session:' || s.id,
			CASE WHEN c.kind = 'direct' THEN 'person:' || t.person ELSE 'group:' || c.channel || ':' || c.place END)),
		EXISTS (SELECT 1 FROM llm_calls WHERE llm_calls.turn_id = t.id AND llm_calls.reserved > 0),
		c.kind <> 'direct' AND EXISTS (SELECT 1 FROM messages x WHERE x.conversation_id = c.id AND x.id > s.reset_message AND x.report IS NOT NULL)), s.id, m.id, s.reset_message, s.reset_turn
	INTO v_turn, v_session, v_message, v_reset_message, v_reset_turn
	FROM turns t JOIN sessions s ON s.id = t.session_id JOIN conversations c ON c.id = s.conversation_id
	JOIN messages m ON m.id = t.message_id LEFT JOIN people p ON p.name = t.person
	WHERE t.id = p_turn AND t.calls = 0 AND t.retry_of IS NULL AND t.draft_id IS NULL AND m.attachments = 0;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	SELECT jsonb_agg(jsonb_build_array(x.id, x.author, x.person, x.direction, x.class, x.origin, x.text, x.forwarded_from, x.taint, x.count, x.happened_at, x.created_at)
		ORDER BY x.id DESC) INTO v_recent
	FROM (SELECT id, author, person, direction, class, origin, text, forwarded_from, taint, attachments AS count, happened_at, created_at FROM messages
		WHERE (session_id, id) > (v_session, v_reset_message) AND (session_id, id) <= (v_session, 9223372036854775807) AND (id < v_message AND (turn_id IS NULL OR turn_id > v_reset_turn) OR direction = 'out' AND turn_id > v_reset_turn AND turn_id < p_turn
		OR turn_id IS NULL AND class IN ('note', 'revision'))
		AND (origin <> 'job' OR EXISTS (SELECT 1 FROM messages y WHERE y.turn_id = messages.turn_id AND y.class = 'say'))
		ORDER BY session_id DESC, id DESC
		LIMIT 31) AS x;
	RETURN jsonb_build_object('turn', v_turn, 'recent', v_recent);
END $$;

-- sb_head sets the next turn of a locked session running; NULL when there is none, or none but for persons in p_except. p_left
-- says that the holder before died.
CREATE OR REPLACE FUNCTION sb_head(p_session bigint, p_fence bigint, p_left boolean, p_except jsonb, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_turn turns%ROWTYPE;
BEGIN
	SELECT * INTO v_turn FROM turns WHERE session_id = p_session AND rank IS NOT NULL ORDER BY rank LIMIT 1;
	IF NOT FOUND OR v_turn.not_before > p_now OR p_except ? v_turn.person THEN
		RETURN NULL;
	END IF;
	UPDATE turns SET state = 'running', started_at = coalesce(started_at, p_now),
		waited = waited + CASE WHEN state = 'queued' AND outcome = 'model_away' AND terms IS NULL AND not_before > 0 THEN p_now - not_before ELSE 0 END,
		resumed = CASE WHEN state = 'running' AND p_left THEN resumed + 1 ELSE resumed END,
		holders = CASE WHEN length(holders) < 1000 THEN holders ELSE '…' || substr(holders, 500) END || ' ' || (SELECT coalesce(owner, 0)
			FROM leases WHERE kind = 'session' AND name = CAST(p_session AS text)) || ':' || p_fence || ':' || p_now
	WHERE id = v_turn.id;
	IF v_turn.state = 'queued' THEN
		PERFORM sb_emit(p_session, jsonb_build_array(jsonb_build_object('kind', 'turn', 'turn', v_turn.id, 'data', '{"state":"running"}')), p_now);
	END IF;
	RETURN jsonb_build_object('turn', v_turn.id, 'session', p_session, 'fence', p_fence, 'person', v_turn.person, 'data', sb_load(v_turn.id));
END $$;

-- sb_take takes the lease of a locked session if it is free. left_over says that its holder before died.
CREATE OR REPLACE FUNCTION sb_take(p_owner bigint, p_session bigint, p_now bigint, OUT taken bigint, OUT left_over boolean) LANGUAGE plpgsql AS $$
BEGIN
	left_over := FALSE;
	UPDATE leases l SET owner = p_owner, fence = l.fence + 1, taken_at = p_now
	WHERE l.kind = 'session' AND l.name = CAST(p_session AS text) AND l.owner IS NULL
	AND EXISTS (SELECT 1 FROM owners o WHERE o.id = p_owner AND sb_alive(o))
	RETURNING l.fence INTO taken;
	IF FOUND THEN
		RETURN;
	END IF;
	left_over := EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = 'session' AND l.name = CAST(p_session AS text) AND sb_dead(o));
	INSERT INTO leases (kind, name, owner, fence, taken_at)
	SELECT 'session', CAST(p_session AS text), o.id, 1, p_now FROM owners o WHERE o.id = p_owner AND sb_alive(o)
	ON CONFLICT (kind, name) DO UPDATE SET owner = excluded.owner, fence = leases.fence + 1, taken_at = excluded.taken_at
	WHERE leases.owner IS NULL OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = leases.owner AND sb_keeps(o, excluded.owner))
	RETURNING fence INTO taken;
END $$;

-- sb_run sets the head of a locked session running under its lease, or gives that back where there is none. No fence, no lease.
CREATE OR REPLACE FUNCTION sb_run(p_session bigint, p_fence bigint, p_left boolean, p_except jsonb, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_head jsonb;
BEGIN
	IF p_fence IS NULL THEN
		RETURN NULL;
	END IF;
	v_head := sb_head(p_session, p_fence, p_left, p_except, p_now);
	IF v_head IS NULL THEN
		UPDATE leases SET owner = NULL WHERE kind = 'session' AND name = CAST(p_session AS text) AND fence = p_fence;
	END IF;
	RETURN v_head;
END $$;

-- sb_claimable are heads of sessions that nobody keeps from p_owner, the longest waiting first: claimable of this package. What was
-- left running has waited for longer than what was not begun.
CREATE OR REPLACE FUNCTION sb_claimable(p_owner bigint, p_channels jsonb, p_except jsonb, p_now bigint, p_limit bigint) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
	v_found bigint;
BEGIN
	RETURN QUERY SELECT t.session_id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN conversations c ON c.id = s.conversation_id
	WHERE t.rank IS NOT NULL AND t.state = 'running' AND p_channels ? c.channel AND NOT coalesce(p_except ? t.person, FALSE) AND t.not_before <= p_now
	AND NOT EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.rank < t.rank)
	AND NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = 'session' AND l.name = CAST(t.session_id AS text) AND sb_keeps(o, p_owner))
	ORDER BY t.created_at, t.id LIMIT p_limit;
	GET DIAGNOSTICS v_found = ROW_COUNT;
	RETURN QUERY SELECT t.session_id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN conversations c ON c.id = s.conversation_id
	WHERE t.rank IS NOT NULL AND t.state = 'queued' AND p_channels ? c.channel AND NOT coalesce(p_except ? t.person, FALSE) AND t.not_before <= p_now
	AND NOT EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.rank < t.rank)
	AND NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
		WHERE l.kind = 'session' AND l.name = CAST(t.session_id AS text) AND sb_keeps(o, p_owner))
	ORDER BY t.created_at, t.id LIMIT p_limit - v_found;
END $$;

-- sb_claim takes the leases of sessions that are free and sets the head of each running, none for persons in p_except, until
-- p_limit turns run. It waits for nobody: who has a session locked may stand still. It says which were locked.
CREATE OR REPLACE FUNCTION sb_claim(p_owner bigint, p_now bigint, p_sessions jsonb, p_except jsonb, p_limit bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_session bigint;
	v_fence bigint;
	v_left boolean;
	v_head jsonb;
	v_out jsonb := '[]';
	v_locked jsonb := '[]';
BEGIN
	FOR v_session IN SELECT CAST(x AS bigint) FROM jsonb_array_elements(p_sessions) AS x LOOP
		EXIT WHEN jsonb_array_length(v_out) >= p_limit;
		PERFORM 1 FROM sessions WHERE id = v_session FOR UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			v_locked := v_locked || to_jsonb(v_session);
			CONTINUE;
		END IF;
		SELECT taken, left_over INTO v_fence, v_left FROM sb_take(p_owner, v_session, p_now);
		v_head := sb_run(v_session, v_fence, v_left, p_except, p_now);
		IF v_head IS NOT NULL THEN
			v_out := v_out || jsonb_build_array(v_head);
		END IF;
	END LOOP;
	RETURN jsonb_build_object('claimed', v_out, 'locked', v_locked);
END $$;

-- sb_incoming stores what somebody wrote; p_session is NULL for a stranger, p_turn where nothing is to answer it.
CREATE OR REPLACE FUNCTION sb_incoming(p_conversation bigint, p_session bigint, p_turn bigint, p_class text, p_entry jsonb, p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	v_id bigint;
BEGIN
	INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, origin, person, author, identity, rule, platform_id,
		reply_to, text, quote, outside, forwarded_from, taint, attachments, happened_at, created_at)
	VALUES (p_conversation, p_session, p_turn, 'in', p_class, p_entry ->> 'origin', p_entry ->> 'person', p_entry ->> 'author',
		p_entry ->> 'identity', p_entry ->> 'rule', p_entry ->> 'platform_id', p_entry ->> 'reply_to', p_entry ->> 'text', p_entry ->> 'quote',
		CAST(p_entry ->> 'outside' AS boolean), p_entry ->> 'forwarded_from', p_entry ->> 'taint', jsonb_array_length(p_entry -> 'attachments'), CAST(p_entry ->> 'happened_at' AS bigint), p_now)
	RETURNING id INTO v_id;
	IF jsonb_array_length(p_entry -> 'attachments') = 0 THEN
		RETURN v_id;
	END IF;
	INSERT INTO attachments (message_id, session_id, position, platform_id, kind, name, type, size, taint, created_at, used_at)
	SELECT v_id, p_session, i - 1, a ->> 'id', a ->> 'kind', a ->> 'name', a ->> 'type', CAST(a ->> 'size' AS bigint),
		a ->> 'taint', p_now, p_now
	FROM jsonb_array_elements(p_entry -> 'attachments') WITH ORDINALITY AS x (a, i);
	RETURN v_id;
END $$;

-- sb_outgoing stores a message of ours with its deliveries. Where the reply says so, its first part is begun, as by sb_begin,
-- unless its conversation waits for something.
CREATE OR REPLACE FUNCTION sb_outgoing(p_conversation bigint, p_session bigint, p_turn bigint, p_reply jsonb, p_now bigint,
	OUT message bigint, OUT begun jsonb) LANGUAGE plpgsql AS $$
DECLARE
	v_c conversations%ROWTYPE;
	v_open jsonb := p_reply -> 'open';
	v_fence bigint; -- of the channel, when the first part is begun here
	v_count bigint := jsonb_array_length(p_reply -> 'parts');
	v_read boolean := CAST(p_reply ->> 'read' AS boolean);
BEGIN
	INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, person, author, reply_to, text, taint, notice, final,
		attempt, position, choices, said, created_at)
	VALUES (p_conversation, p_session, p_turn, 'out', p_reply ->> 'class', p_reply ->> 'person', p_reply ->> 'author', p_reply ->> 'reply_to', p_reply ->> 'text',
		p_reply ->> 'taint', CAST(p_reply ->> 'notice' AS boolean), CAST(p_reply ->> 'final' AS boolean),
		CAST(p_reply ->> 'attempt' AS bigint), CAST(p_reply ->> 'position' AS bigint), p_reply ->> 'choices', p_reply ->> 'said', p_now)
	RETURNING id INTO message;
	IF v_count = 0 THEN
		RETURN;
	END IF;
	UPDATE conversations SET next_seq = next_seq + v_count WHERE id = p_conversation RETURNING * INTO v_c;
	-- Behind the lock of the conversation, in which nobody else adds a part now.
	IF v_open ->> 'channel' = v_c.channel AND v_open ->> 'conversation' = v_c.conversation AND NOT v_read
		AND sb_holds('channel', v_c.channel, CAST(v_open ->> 'fence' AS bigint))
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE channel = v_c.channel AND conversation_id = v_c.id AND settled = FALSE) THEN
		v_fence := v_open ->> 'fence';
	END IF;
	WITH made AS (
		INSERT INTO deliveries (message_id, conversation_id, channel, seq, part, last, text, rich, extra, reply_to, nonce, state, settled,
			tries, fence, first_try, last_try, created_at, updated_at)
		SELECT message, v_c.id, v_c.channel, v_c.next_seq - v_count + i, i - 1, i = v_count, p ->> 'text', p ->> 'rich', p ->> 'extra',
			p_reply ->> 'reply_to', p ->> 'nonce', CASE WHEN v_read THEN 'sent' WHEN begins THEN 'sending' ELSE 'pending' END, v_read,
			CAST(begins AS integer), CASE WHEN begins THEN v_fence ELSE 0 END, CASE WHEN begins THEN p_now ELSE 0 END,
			CASE WHEN begins THEN p_now ELSE 0 END, p_now, p_now
		FROM jsonb_array_elements(p_reply -> 'parts') WITH ORDINALITY AS x (p, i), LATERAL (SELECT v_fence IS NOT NULL AND i = 1 AS begins) AS y
		RETURNING id, part, state, last, text, rich, extra, nonce
	)
	SELECT jsonb_build_object('id', id, 'message', message, 'text', text, 'rich', rich, 'extra', extra, 'reply_to', p_reply ->> 'reply_to',
		'nonce', nonce, 'part', part, 'last', last, 'state', state, 'tries', 1, 'first_try', p_now, 'last_try', p_now, 'written', p_now,
		'kind', v_c.kind, 'place', v_c.place, 'title', v_c.title)
	INTO begun FROM made WHERE state = 'sending';
END $$;

-- sb_answer stores an entry's message and a reply to it (JSON null: none).
CREATE OR REPLACE FUNCTION sb_answer(p_conversation bigint, p_session bigint, p_class text, p_entry jsonb, p_reply jsonb, p_now bigint,
	OUT message bigint, OUT newest bigint, OUT event bigint) LANGUAGE plpgsql AS $$
DECLARE
	v_events jsonb;
BEGIN
	message := sb_incoming(p_conversation, p_session, NULL, p_class, p_entry, p_now);
	newest := message;
	v_events := jsonb_build_array(jsonb_build_object('kind', 'message', 'message', message));
	IF jsonb_typeof(p_reply) = 'object' THEN
		SELECT o.message INTO newest FROM sb_outgoing(p_conversation, p_session, NULL, p_reply, p_now) o;
		v_events := v_events || jsonb_build_object('kind', 'message', 'message', newest);
	END IF;
	event := sb_emit(p_session, v_events, p_now);
END $$;

-- sb_drop_draft drops the draft of a turn that ends. One that was begun stays so: if its ID comes to be known it is taken back.
CREATE OR REPLACE FUNCTION sb_drop_draft(p_delivery bigint, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE deliveries SET state = 'dropped', outcome = CASE draft WHEN 'begun' THEN 'left' ELSE 'not_needed' END,
		draft = CASE draft WHEN 'begun' THEN 'begun' WHEN 'shown' THEN 'leave' ELSE '' END, updated_at = p_now
	WHERE id = p_delivery AND state = 'draft';
END $$;

CREATE OR REPLACE FUNCTION sb_accept_one(p_owner bigint, e jsonb, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_class text := e ->> 'class';
	v_conversation conversations%ROWTYPE;
	v_former boolean := FALSE;
	v_session bigint;
	v_message bigint;
	v_turn bigint;
	v_event bigint;
	v_newest bigint;
	v_open bigint;
	v_queued bigint;
	v_known boolean;
	v_fence bigint;
	v_left boolean;
	v_person text;
	v_events jsonb;
	v_claim jsonb;
	v_waiting boolean := FALSE;
BEGIN
	INSERT INTO event_keys (key, expires_at) VALUES (decode(e ->> 'key', 'base64'), CAST(e ->> 'key_expires' AS bigint))
	ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at WHERE event_keys.expires_at <= p_now;
	IF NOT FOUND THEN
		RETURN '{"duplicate":true}';
	END IF;
	IF v_class = 'rejected' THEN
		INSERT INTO rejected (channel, conversation, reason, raw, created_at)
		VALUES (e ->> 'channel', e ->> 'conversation', e ->> 'reject', decode(e ->> 'raw', 'base64'), p_now);
		RETURN jsonb_build_object('rejected', e ->> 'reject');
	END IF;

	LOOP
		SELECT * INTO v_conversation FROM conversations WHERE channel = e ->> 'channel' AND conversation = e ->> 'conversation';
		v_former := FALSE;
		IF NOT FOUND THEN
			SELECT c.* INTO v_conversation FROM moved m JOIN conversations c ON c.id = m.conversation_id
			WHERE m.channel = e ->> 'channel' AND m.former = e ->> 'conversation';
			v_former := FOUND;
		END IF;
		IF v_conversation.id IS NULL THEN
			INSERT INTO conversations (channel, conversation, kind, place, title, created_at)
			VALUES (e ->> 'channel', e ->> 'conversation', e ->> 'kind', e ->> 'place', e ->> 'title', p_now)
			ON CONFLICT (channel, conversation) DO NOTHING;
			SELECT * INTO v_conversation FROM conversations WHERE channel = e ->> 'channel' AND conversation = e ->> 'conversation';
			v_former := TRUE; -- its labels are these
		END IF;
		-- Retention takes neither the conversation of a locked session nor one that is locked itself.
		IF v_class NOT IN ('stranger', 'overheard') THEN
			SELECT id, person INTO v_session, v_person FROM sessions WHERE conversation_id = v_conversation.id FOR UPDATE;
			EXIT WHEN FOUND;
		END IF;
		PERFORM 1 FROM conversations WHERE id = v_conversation.id AND conversation = v_conversation.conversation FOR KEY SHARE;
		EXIT WHEN FOUND; -- else it has moved just now
	END LOOP;
	IF NOT v_former AND (v_conversation.kind <> e ->> 'kind' OR v_conversation.place <> e ->> 'place'
		OR (e ->> 'title' <> '' AND v_conversation.title <> e ->> 'title') OR v_conversation.gone_at <> 0 OR v_conversation.gone_notified) THEN
		UPDATE conversations SET kind = e ->> 'kind', place = e ->> 'place', title = coalesce(nullif(e ->> 'title', ''), title),
			gone_at = 0, gone_notified = FALSE
		WHERE id = v_conversation.id;
	END IF;
	IF v_class IN ('stranger', 'overheard') THEN
		RETURN jsonb_build_object('message', sb_incoming(v_conversation.id, NULL, NULL, v_class, e, p_now));
	END IF;
	IF v_session IS NULL THEN
		INSERT INTO sessions (conversation_id, key, used_at, created_at)
		VALUES (v_conversation.id, v_conversation.channel || ':' || v_conversation.conversation, p_now, p_now)
		ON CONFLICT (conversation_id) DO NOTHING;
		SELECT id, person INTO v_session, v_person FROM sessions WHERE conversation_id = v_conversation.id FOR UPDATE;
	END IF;
	IF e ->> 'kind' = 'direct' AND e ->> 'person' NOT IN ('', v_person) THEN
		IF v_person <> '' THEN -- who writes for a program may not
			RAISE EXCEPTION 'another person wrote here' USING ERRCODE = 'SB002';
		END IF;
		UPDATE sessions SET person = e ->> 'person' WHERE id = v_session;
	END IF;

	IF v_class = 'turn' THEN
		-- The text may answer a question; whether it does is not decided here.
		IF CAST(e ->> 'choice' AS boolean) AND EXISTS (SELECT 1 FROM actions WHERE session_id = v_session AND state = 'proposed'
			AND (kind = 'choice' OR number <> 0) AND (person = '' OR person = e ->> 'person') AND expires_at > p_now) THEN
			RAISE EXCEPTION 'a question is open' USING ERRCODE = 'SB002';
		END IF;
		SELECT count(*), count(*) FILTER (WHERE rank > 0), e ->> 'platform_id' <> '' AND EXISTS (
			SELECT 1 FROM messages WHERE conversation_id = v_conversation.id
			AND direction = 'in' AND platform_id = e ->> 'platform_id' AND platform_id <> '')
		INTO v_open, v_queued, v_known FROM turns WHERE session_id = v_session AND rank IS NOT NULL;
		IF v_queued >= CAST(e ->> 'queue_limit' AS bigint) THEN
			RAISE EXCEPTION 'a queue is full' USING ERRCODE = 'SB002';
		END IF;
		-- An edit was told before the message itself.
		IF v_known THEN
			RETURN '{"duplicate":true}';
		END IF;
		v_turn := nextval('turns_id_seq');
		v_message := sb_incoming(v_conversation.id, v_session, v_turn, v_class, e, p_now);
		v_events := jsonb_build_array(jsonb_build_object('kind', 'message', 'turn', v_turn, 'message', v_message),
			jsonb_build_object('kind', 'turn', 'turn', v_turn, 'data', '{"state":"queued"}'));
		IF CAST(e ->> 'may_claim' AS boolean) THEN
			SELECT taken, left_over INTO v_fence, v_left FROM sb_take(p_owner, v_session, p_now);
		ELSE
			v_waiting := NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
				WHERE l.kind = 'session' AND l.name = CAST(v_session AS text) AND sb_alive(o));
		END IF;
		IF v_fence IS NOT NULL AND v_open = 0 THEN
			INSERT INTO turns (id, session_id, message_id, person, state, holders, asked_at, created_at, started_at)
			VALUES (v_turn, v_session, v_message, e ->> 'person', 'running', ' ' || p_owner || ':' || v_fence || ':' || p_now,
				CAST(e ->> 'asked_at' AS bigint), p_now, p_now);
			v_claim := jsonb_build_object('turn', v_turn, 'session', v_session, 'fence', v_fence, 'person', e ->> 'person');
			v_events := v_events || jsonb_build_object('kind', 'turn', 'turn', v_turn, 'data', '{"state":"running"}');
			v_event := sb_emit(v_session, v_events, p_now);
			v_claim := v_claim || jsonb_build_object('data', sb_load(v_turn));
		ELSE
			INSERT INTO turns (id, session_id, message_id, person, state, asked_at, created_at)
			VALUES (v_turn, v_session, v_message, e ->> 'person', 'queued', CAST(e ->> 'asked_at' AS bigint), p_now);
			v_event := sb_emit(v_session, v_events, p_now);
			v_claim := sb_run(v_session, v_fence, v_left, NULL, p_now);
		END IF;
		RETURN jsonb_build_object('message', v_message, 'turn', v_turn, 'event', v_event, 'session', v_session,
			'claimed', v_claim, 'waiting', v_waiting);
	END IF;

	SELECT a.message, a.newest, a.event INTO v_message, v_newest, v_event
	FROM sb_answer(v_conversation.id, v_session, v_class, e, e -> 'reply', p_now) a;
	IF e ->> 'effect' = 'reset' THEN
		UPDATE sessions SET summary = '', summary_taint = '', instructions = '', reset_message = v_newest,
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = v_session), 0)
		WHERE id = v_session;
	END IF;
	RETURN jsonb_build_object('message', v_message, 'event', v_event, 'session', v_session);
END $$;

-- sb_keep stores entries p_first to p_last of a batch, which are all of people who are not served, or overheard: what
-- sb_accept_one does with each, in as few statements for hundreds as for one. It is the way of a flood.
CREATE OR REPLACE FUNCTION sb_keep(p_entries jsonb, p_first bigint, p_last bigint, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_first jsonb;
	v_fresh bigint[];
	v_out jsonb;
BEGIN
	-- Where each key comes first, by name: a join of lists whose length nobody can guess would compare all with all.
	SELECT jsonb_object_agg(y.key, y.i) INTO v_first
	FROM (
		SELECT DISTINCT ON (x.key) x.key, x.i FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (key text)) WITH ORDINALITY AS x (key, i)
		WHERE x.i BETWEEN p_first AND p_last ORDER BY x.key, x.i
	) AS y;
	WITH fresh AS (
		INSERT INTO event_keys (key, expires_at)
		SELECT decode(x.key, 'base64'), x.key_expires
		FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (key text, key_expires bigint)) WITH ORDINALITY AS x (key, key_expires, i)
		WHERE x.i BETWEEN p_first AND p_last AND CAST(v_first ->> x.key AS bigint) = x.i
		ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at WHERE event_keys.expires_at <= p_now
		RETURNING key
	)
	SELECT coalesce(array_agg(CAST(v_first ->> translate(encode(key, 'base64'), E'\n', '') AS bigint)), '{}') INTO v_fresh FROM fresh;

	-- Retention takes none of these from here on.
	PERFORM 1 FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (channel text, conversation text)) WITH ORDINALITY AS x (channel, conversation, i)
	JOIN conversations c ON c.channel = x.channel AND c.conversation = x.conversation
	WHERE x.i = ANY (v_fresh) FOR KEY SHARE OF c;
	INSERT INTO conversations (channel, conversation, kind, place, title, created_at)
	SELECT DISTINCT ON (x.channel, x.conversation) x.channel, x.conversation, x.kind, x.place, x.title, p_now
	FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (channel text, conversation text, kind text, place text, title text))
		WITH ORDINALITY AS x (channel, conversation, kind, place, title, i)
	WHERE x.i = ANY (v_fresh)
	AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.channel = x.channel AND c.conversation = x.conversation)
	AND NOT EXISTS (SELECT 1 FROM moved m WHERE m.channel = x.channel AND m.former = x.conversation)
	ORDER BY x.channel, x.conversation, x.title = '', x.i DESC
	ON CONFLICT (channel, conversation) DO NOTHING;
	UPDATE conversations c SET kind = y.kind, place = y.place, title = coalesce(nullif(y.title, ''), c.title), gone_at = 0, gone_notified = FALSE
	FROM (
		SELECT DISTINCT ON (x.channel, x.conversation) x.channel, x.conversation, x.kind, x.place, x.title
		FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (channel text, conversation text, kind text, place text, title text))
			WITH ORDINALITY AS x (channel, conversation, kind, place, title, i)
		WHERE x.i = ANY (v_fresh) ORDER BY x.channel, x.conversation, x.title = '', x.i DESC
	) AS y
	WHERE c.channel = y.channel AND c.conversation = y.conversation
	AND (c.kind <> y.kind OR c.place <> y.place OR (y.title <> '' AND c.title <> y.title) OR c.gone_at <> 0 OR c.gone_notified);

	WITH kept AS (
		SELECT nextval('messages_id_seq') AS id, x.*
		FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (channel text, conversation text, class text, origin text, person text, author text,
			identity text, rule text, platform_id text, reply_to text, text text, quote text, outside boolean, forwarded_from text, taint text,
			happened_at bigint, attachments jsonb)) WITH ORDINALITY AS x (channel, conversation, class, origin, person, author, identity, rule,
			platform_id, reply_to, text, quote, outside, forwarded_from, taint, happened_at, attachments, i)
		WHERE x.i = ANY (v_fresh)
	), stored AS (
		INSERT INTO messages (id, conversation_id, direction, class, origin, person, author, identity, rule, platform_id, reply_to, text, quote,
			outside, forwarded_from, taint, attachments, happened_at, created_at)
		SELECT k.id, coalesce(c.id, m.conversation_id), 'in', k.class, k.origin, k.person, k.author, k.identity, k.rule, k.platform_id, k.reply_to, k.text,
			k.quote, k.outside, k.forwarded_from, k.taint, jsonb_array_length(k.attachments), k.happened_at, p_now
		FROM kept k LEFT JOIN conversations c ON c.channel = k.channel AND c.conversation = k.conversation
		LEFT JOIN moved m ON c.id IS NULL AND m.channel = k.channel AND m.former = k.conversation
	), files AS (
		INSERT INTO attachments (message_id, position, platform_id, kind, name, type, size, taint, created_at, used_at)
		SELECT k.id, n - 1, a ->> 'id', a ->> 'kind', a ->> 'name', a ->> 'type', CAST(a ->> 'size' AS bigint), a ->> 'taint', p_now, p_now
		FROM kept k, jsonb_array_elements(k.attachments) WITH ORDINALITY AS y (a, n)
	)
	SELECT jsonb_agg(CASE WHEN k.id IS NULL THEN '{"duplicate":true}' ELSE jsonb_build_object('message', k.id) END ORDER BY n)
	INTO v_out FROM generate_series(p_first, p_last) AS n LEFT JOIN kept k ON k.i = n;
	RETURN v_out;
END $$;

CREATE OR REPLACE FUNCTION sb_accept(p_owner bigint, p_now bigint, p_entries jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_entry jsonb;
	v_i bigint;
	v_kept bigint; -- since which entry all are of those not served
	v_out jsonb := '[]';
BEGIN
	IF jsonb_array_length(p_entries) = 1 THEN
		v_out := jsonb_build_array(sb_accept_one(p_owner, p_entries -> 0, p_now));
	ELSE
		-- In one order, as everybody who locks several sessions.
		PERFORM 1 FROM sessions WHERE id IN (SELECT s.id FROM jsonb_array_elements(p_entries) AS x
			JOIN conversations c ON c.channel = x ->> 'channel' AND c.conversation = x ->> 'conversation' JOIN sessions s ON s.conversation_id = c.id)
		ORDER BY id FOR UPDATE;
		FOR v_entry, v_i IN SELECT x, i FROM jsonb_array_elements(p_entries) WITH ORDINALITY AS y (x, i) LOOP
			IF v_entry ->> 'class' IN ('stranger', 'overheard') THEN
				v_kept := coalesce(v_kept, v_i);
				CONTINUE;
			END IF;
			IF v_kept IS NOT NULL THEN
				v_out := v_out || sb_keep(p_entries, v_kept, v_i - 1, p_now);
				v_kept := NULL;
			END IF;
			v_out := v_out || jsonb_build_array(sb_accept_one(p_owner, v_entry, p_now));
		END LOOP;
		IF v_kept IS NOT NULL THEN
			v_out := v_out || sb_keep(p_entries, v_kept, jsonb_array_length(p_entries), p_now);
		END IF;
	END IF;
	IF p_entries @? '$[*].mark' THEN
		INSERT INTO marks (channel, conversation, mark, noted_at)
		SELECT DISTINCT ON (x ->> 'channel', x -> 'mark' ->> 'conversation')
			x ->> 'channel', x -> 'mark' ->> 'conversation', x -> 'mark' ->> 'value', p_now
		FROM jsonb_array_elements(p_entries) WITH ORDINALITY AS y (x, i) WHERE x ? 'mark'
		ORDER BY x ->> 'channel', x -> 'mark' ->> 'conversation', i DESC
		ON CONFLICT (channel, conversation) DO UPDATE SET mark = excluded.mark, noted_at = excluded.noted_at;
	END IF;
	RETURN v_out;
END $$;

CREATE OR REPLACE FUNCTION sb_step(p_step jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	p_turn bigint := p_step ->> 'turn';
	p_session bigint := p_step ->> 'session';
	p_fence bigint := p_step ->> 'fence';
	p_now bigint := p_step ->> 'now';
	v_conversation bigint;
	v_events jsonb := p_step -> 'events';
	v_x jsonb;
	v_next jsonb;
	v_draft bigint;
	v_message bigint;
	v_begun jsonb;
	v_resumed bigint;
	v_person text;
	v_day text;
	v_held bigint;
	v_charges jsonb; -- NULL: nothing cost anything
	v_stop text;
	v_calls bigint := 0;
	v_in bigint := 0;
	v_out bigint := 0;
	v_cost double precision := 0;
BEGIN
	SELECT conversation_id INTO v_conversation FROM sessions WHERE id = p_session FOR UPDATE;
	-- Behind the lock, which may have been waited for.
	SELECT t.resumed, t.person INTO v_resumed, v_person FROM turns t
	JOIN leases l ON l.kind = 'session' AND l.name = CAST(p_session AS text) AND l.fence = p_fence
	JOIN owners o ON o.id = l.owner AND o.state = 'alive'
	WHERE t.id = p_turn AND t.session_id + 0 = p_session AND t.state = 'running'; -- + 0: not by way of all turns of the session
	IF NOT FOUND THEN
		RETURN '{"fenced":true}';
	END IF;

	FOR v_x IN SELECT x FROM jsonb_array_elements(p_step -> 'calls') AS x LOOP
		v_day := coalesce(v_x ->> 'day', to_char(to_timestamp(p_now / 1000000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')); -- of an older build
		v_held := 0;
		IF v_x ? 'held' THEN
			UPDATE llm_calls SET step = v_x ->> 'step' WHERE turn_id = p_turn AND step = v_x ->> 'held' AND reserved > 0
			RETURNING reserved, day INTO v_held, v_day;
			CONTINUE WHEN NOT FOUND; -- it was settled before
		END IF;
		INSERT INTO llm_calls (turn_id, step, ordinal, role, provider, model, error, refused, tokens_in, tokens_out, cached, cost, duration, day, created_at)
		VALUES (p_turn, v_x ->> 'step', (SELECT count(*) FROM llm_calls WHERE turn_id = p_turn), v_x ->> 'role', v_x ->> 'provider',
			v_x ->> 'model', v_x ->> 'error', v_x ->> 'refused', CAST(v_x ->> 'in' AS bigint), CAST(v_x ->> 'out' AS bigint), CAST(v_x ->> 'cached' AS bigint),
			CAST(v_x ->> 'cost' AS double precision), CAST(v_x ->> 'duration' AS bigint), v_day, p_now)
		ON CONFLICT (turn_id, step) DO UPDATE SET role = excluded.role, provider = excluded.provider, model = excluded.model,
			error = excluded.error, refused = excluded.refused, tokens_in = llm_calls.tokens_in + excluded.tokens_in,
			tokens_out = llm_calls.tokens_out + excluded.tokens_out, cached = llm_calls.cached + excluded.cached,
			cost = llm_calls.cost + excluded.cost, duration = excluded.duration, day = excluded.day, reserved = 0
		WHERE llm_calls.error <> '' OR llm_calls.reserved > 0;
		CONTINUE WHEN NOT FOUND;
		INSERT INTO llm_bodies (turn_id, step, answer, request, response, expires_at)
		VALUES (p_turn, v_x ->> 'step', decode(v_x ->> 'answer', 'base64'), decode(v_x ->> 'request', 'base64'),
			decode(v_x ->> 'response', 'base64'), CAST(p_step ->> 'expires' AS bigint))
		ON CONFLICT (turn_id, step) DO UPDATE SET answer = excluded.answer, request = excluded.request,
			response = excluded.response, expires_at = excluded.expires_at;
		v_calls := v_calls + 1;
		v_in := v_in + CAST(v_x ->> 'in' AS bigint);
		v_out := v_out + CAST(v_x ->> 'out' AS bigint);
		v_cost := v_cost + CAST(v_x ->> 'cost' AS double precision);
		IF v_held > 0 OR coalesce(CAST(v_x ->> 'charge' AS bigint), 0) > 0 THEN
			v_charges := coalesce(v_charges, '[]') || jsonb_build_object('day', v_day, 'person', v_person, 'session', p_session,
				'settled', coalesce(CAST(v_x ->> 'charge' AS bigint), 0), 'reserved', -v_held);
		END IF;
	END LOOP;

	v_x := p_step -> 'plan';
	IF jsonb_typeof(v_x) = 'object' THEN
		IF v_x ->> 'attempt' <> '0' THEN
			UPDATE tasks SET state = 'cancelled', finished_at = p_now
			WHERE turn_id = p_turn AND attempt < CAST(v_x ->> 'attempt' AS bigint) AND state = 'pending';
		END IF;
		INSERT INTO plans (turn_id, attempt, goal, secrets, created_at)
		VALUES (p_turn, CAST(v_x ->> 'attempt' AS bigint), v_x ->> 'goal', v_x ->> 'secrets', p_now);
		INSERT INTO tasks (turn_id, attempt, position, type, detail, tool, args, expect, choices, answer, created_at,
			state, finished_at, has_result, outcome, output, code, rule, hint, taint)
		SELECT p_turn, CAST(v_x ->> 'attempt' AS bigint), CAST(t ->> 'position' AS bigint), t ->> 'type', t ->> 'detail', t ->> 'tool',
			t ->> 'args', t ->> 'expect', t ->> 'choices', t ->> 'answer', p_now,
			t ->> 'state', CASE t ->> 'state' WHEN 'pending' THEN NULL ELSE p_now END, jsonb_typeof(r) = 'object', coalesce(r ->> 'end', ''),
			coalesce(r ->> 'output', ''), coalesce(r ->> 'code', ''), coalesce(r ->> 'rule', ''), coalesce(r ->> 'hint', ''), coalesce(r ->> 'taint', '')
		FROM jsonb_array_elements(v_x -> 'tasks') AS t, LATERAL (SELECT t -> 'result' AS r) AS given;
	END IF;

	FOR v_x IN SELECT x FROM jsonb_array_elements(p_step -> 'changes') AS x LOOP
		UPDATE tasks SET state = v_x ->> 'state',
			started_at = CASE WHEN v_x ->> 'state' = 'running' THEN p_now ELSE started_at END,
			allowed_by = CASE WHEN v_x ->> 'state' = 'running' THEN v_x ->> 'allowed_by' ELSE allowed_by END,
			finished_at = CASE WHEN v_x ->> 'state' = 'running' THEN finished_at ELSE p_now END
		WHERE turn_id = p_turn AND attempt = CAST(v_x ->> 'attempt' AS bigint) AND position = CAST(v_x ->> 'position' AS bigint)
		AND (state = v_x ->> 'from' OR state = v_x ->> 'or' OR (state = 'pending' AND type = 'msg' AND CAST(v_x ->> 'early' AS boolean)));
		IF NOT FOUND THEN
			RAISE EXCEPTION 'task % of attempt % cannot become % now', v_x ->> 'position', v_x ->> 'attempt', v_x ->> 'state'
				USING ERRCODE = 'SB001';
		END IF;
		IF jsonb_typeof(v_x -> 'result') = 'object' THEN
			UPDATE tasks SET has_result = TRUE, outcome = v_x -> 'result' ->> 'end', output = v_x -> 'result' ->> 'output',
				code = v_x -> 'result' ->> 'code', rule = v_x -> 'result' ->> 'rule', hint = v_x -> 'result' ->> 'hint',
				taint = v_x -> 'result' ->> 'taint'
			WHERE turn_id = p_turn AND attempt = CAST(v_x ->> 'attempt' AS bigint) AND position = CAST(v_x ->> 'position' AS bigint);
		END IF;
	END LOOP;

	v_x := p_step -> 'review';
	IF jsonb_typeof(v_x) = 'object' THEN
		INSERT INTO reviews (turn_id, attempt, position, status, reason, learn, taint, created_at)
		VALUES (p_turn, CAST(v_x ->> 'attempt' AS bigint), CAST(v_x ->> 'position' AS bigint), v_x ->> 'status', v_x ->> 'reason',
			v_x ->> 'learn', v_x ->> 'taint', p_now);
		IF v_x ->> 'learn' <> '' THEN
			INSERT INTO memories (kind, scope, person, session_id, text, state, source, taint, turn_id, created_at, updated_at)
			SELECT 'learning', 'session:' || t.session_id, t.person, t.session_id, v_x ->> 'learn', 'pending', 'review', v_x ->> 'taint', t.id, p_now, p_now
			FROM turns t WHERE t.id = p_turn AND NOT EXISTS (SELECT 1 FROM memory_settings m WHERE m.person = t.person AND m.learning = FALSE)
				AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = t.session_id AND (s.private <> '' OR t.id <= s.left_turn OR t.id <= s.reset_turn));
		END IF;
	END IF;

	FOR v_x IN SELECT x FROM jsonb_array_elements(p_step -> 'says') AS x LOOP
		SELECT o.message, coalesce(o.begun, v_begun) INTO v_message, v_begun FROM sb_outgoing(v_conversation, p_session, p_turn, v_x, p_now) o;
		v_events := v_events || jsonb_build_object('kind', 'message', 'turn', p_turn, 'message', v_message);
	END LOOP;

	v_x := p_step -> 'end';
	IF jsonb_typeof(v_x) IS DISTINCT FROM 'object' THEN
		-- Each committed step is progress: whoever dies from now on is counted anew.
		IF v_calls > 0 OR v_resumed > 0 THEN
			UPDATE turns SET resumed = 0, calls = calls + v_calls, tokens_in = tokens_in + v_in, tokens_out = tokens_out + v_out, cost = cost + v_cost
			WHERE id = p_turn;
		END IF;
		PERFORM sb_emit(p_session, v_events, p_now);
		RETURN CASE WHEN v_charges IS NULL THEN jsonb_build_object('begun', v_begun) ELSE jsonb_build_object('begun', v_begun, 'charges', v_charges) END;
	END IF;
	IF v_x ->> 'state' = 'waiting' THEN
		SELECT cancel_requested INTO v_stop FROM turns WHERE id = p_turn;
		IF v_stop <> '' THEN -- it does not wait
			v_x := jsonb_build_object('state', 'cancelled', 'outcome', v_stop, 'open_tasks', TRUE, 'event', jsonb_build_object(
				'kind', 'turn', 'turn', p_turn, 'data', '{"state":"cancelled","outcome":"' || v_stop || '"}'));
		END IF;
	END IF;
	IF CAST(v_x ->> 'open_tasks' AS boolean) THEN
		UPDATE tasks SET state = CASE state WHEN 'pending' THEN 'cancelled' ELSE 'interrupted' END, finished_at = p_now
		WHERE turn_id = p_turn AND state IN ('pending', 'running');
	END IF;
	-- One that is parked keeps its tasks.
	UPDATE turns SET state = v_x ->> 'state', outcome = v_x ->> 'outcome',
		finished_at = CASE v_x ->> 'state' WHEN 'waiting' THEN NULL ELSE p_now END,
		parked_at = CASE v_x ->> 'state' WHEN 'waiting' THEN p_now ELSE parked_at END,
		resumed = 0, calls = calls + v_calls, tokens_in = tokens_in + v_in, tokens_out = tokens_out + v_out, cost = cost + v_cost
	WHERE id = p_turn RETURNING draft_id INTO v_draft;
	IF v_draft IS NOT NULL THEN
		PERFORM sb_drop_draft(v_draft, p_now);
		UPDATE turns SET draft_id = NULL WHERE id = p_turn;
	END IF;
	PERFORM sb_emit(p_session, v_events || (v_x -> 'event'), p_now);
	v_next := sb_run(p_session, p_fence, FALSE, NULL, p_now);
	v_x := jsonb_build_object('next', v_next, 'begun', v_begun);
	RETURN CASE WHEN v_charges IS NULL THEN v_x ELSE v_x || jsonb_build_object('charges', v_charges) END;
END $$;

-- sb_charge changes the sums of [budget] by what calls cost, and by what is reserved no more. Its lock is the last that a
-- transaction waits for.
CREATE OR REPLACE FUNCTION sb_charge(p_charges jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(CAST(CAST(CAST('spending' AS regclass) AS oid) AS integer), 0);
	INSERT INTO spending (day, scope, name, settled, reserved)
	SELECT c ->> 'day', s.scope, s.name, sum(CAST(c ->> 'settled' AS bigint)), sum(CAST(c ->> 'reserved' AS bigint))
	FROM jsonb_array_elements(p_charges) AS c,
		LATERAL (VALUES ('day', ''), ('person', c ->> 'person'), ('session', c ->> 'session')) AS s (scope, name)
	GROUP BY 1, 2, 3
	ON CONFLICT (day, scope, name) DO UPDATE SET settled = spending.settled + excluded.settled, reserved = spending.reserved + excluded.reserved;
END $$;

-- sb_steps commits steps of several sessions, in the order in which they have to be locked.
CREATE OR REPLACE FUNCTION sb_steps(p_steps jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_step jsonb;
	v_one jsonb;
	v_charges jsonb; -- NULL: nothing cost anything
	v_out jsonb := '[]';
BEGIN
	FOR v_step IN SELECT x FROM jsonb_array_elements(p_steps) AS x LOOP
		v_one := sb_step(v_step);
		IF v_one ? 'charges' THEN
			v_charges := coalesce(v_charges, '[]') || (v_one -> 'charges');
			v_one := v_one - 'charges';
		END IF;
		v_out := v_out || jsonb_build_array(v_one);
	END LOOP;
	IF v_charges IS NOT NULL THEN
		PERFORM sb_charge(v_charges);
	END IF;
	RETURN v_out;
END $$;

CREATE OR REPLACE FUNCTION sb_begin(p_channel text, p_fence bigint, p_conversation text, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_c conversations%ROWTYPE;
	v_d deliveries%ROWTYPE;
BEGIN
	IF NOT sb_holds('channel', p_channel, p_fence) THEN
		RETURN '{"fenced":true}';
	END IF;
	SELECT * INTO v_c FROM conversations WHERE channel = p_channel AND conversation = p_conversation;
	SELECT * INTO v_d FROM deliveries WHERE channel = v_c.channel AND conversation_id = v_c.id AND settled = FALSE ORDER BY seq LIMIT 1;
	IF NOT FOUND THEN
		RETURN '{}';
	END IF;
	-- A try in the future says that the clock was set back: clockSlack.
	IF v_d.state = 'pending' AND v_d.next_at > p_now AND v_d.last_try <= p_now + 10000000 THEN
		RETURN jsonb_build_object('due', v_d.next_at);
	END IF;
	IF v_d.state = 'pending' THEN
		UPDATE deliveries SET state = 'sending', tries = tries + 1, fence = p_fence, last_try = p_now, updated_at = p_now,
			first_try = CASE WHEN first_try = 0 THEN p_now ELSE first_try END
		WHERE id = v_d.id AND settled = FALSE RETURNING * INTO v_d;
	ELSIF v_d.state = 'sending' THEN
		UPDATE deliveries SET state = 'unknown', outcome = 'result_lost', updated_at = p_now WHERE id = v_d.id AND settled = FALSE RETURNING * INTO v_d;
	END IF;
	IF NOT FOUND THEN -- it was forgotten just now
		RETURN sb_begin(p_channel, p_fence, p_conversation, p_now);
	END IF;
	RETURN jsonb_build_object('id', v_d.id, 'message', v_d.message_id, 'text', v_d.text, 'rich', v_d.rich, 'extra', v_d.extra,
		'reply_to', v_d.reply_to, 'platform_id', v_d.platform_id,
		'nonce', v_d.nonce, 'noted', v_d.noted, 'part', v_d.part, 'last', v_d.last, 'state', v_d.state, 'tries', v_d.tries, 'repeated', v_d.repeated,
		'first_try', v_d.first_try, 'last_try', v_d.last_try, 'written', v_d.created_at, 'kind', v_c.kind, 'place', v_c.place, 'title', v_c.title);
END $$;

CREATE OR REPLACE FUNCTION sb_settle(s jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	p_now bigint := s ->> 'now';
	v_d deliveries%ROWTYPE;
	v_free boolean := CAST(s ->> 'free' AS boolean);
	v_body boolean := jsonb_typeof(s -> 'body') = 'object';
	v_session bigint;
	v_turn bigint;
BEGIN
	IF NOT sb_holds('channel', s ->> 'channel', CAST(s ->> 'fence' AS bigint)) THEN
		RETURN '{}';
	END IF;
	UPDATE deliveries SET state = s ->> 'state', settled = CAST(s ->> 'settled' AS boolean), outcome = s ->> 'outcome', detail = s ->> 'detail',
		platform_id = CASE WHEN CAST(s ->> 'unedit' AS boolean) THEN '' ELSE coalesce(nullif(s ->> 'platform_id', ''), platform_id) END,
		updated_at = p_now, next_at = CAST(s ->> 'next_at' AS bigint),
		repeated = repeated OR CAST(s ->> 'repeated' AS boolean),
		text = CASE WHEN v_body THEN s -> 'body' ->> 'text' ELSE text END, rich = CASE WHEN v_body THEN s -> 'body' ->> 'rich' ELSE rich END,
		extra = CASE WHEN v_body THEN s -> 'body' ->> 'extra' ELSE extra END,
		first_try = CASE WHEN CAST(s ->> 'fresh' AS boolean) OR v_free AND tries <= 1 THEN 0 ELSE first_try END,
		unnamed = CAST(s ->> 'unnamed' AS boolean),
		tries = CASE WHEN v_free AND tries > 0 THEN tries - 1 ELSE tries END
	WHERE id = CAST(s ->> 'id' AS bigint) AND state = s ->> 'was' AND last_try = CAST(s ->> 'last_try' AS bigint) AND settled = FALSE
	RETURNING * INTO v_d;
	IF NOT FOUND THEN -- the answer may have been lost, and this is the second time
		SELECT * INTO v_d FROM deliveries WHERE id = CAST(s ->> 'id' AS bigint) AND state = s ->> 'state'
		AND last_try = CAST(s ->> 'last_try' AS bigint) AND settled = CAST(s ->> 'settled' AS boolean);
		IF NOT FOUND THEN
			RETURN '{}';
		END IF;
		s := s || '{"state":"","event":""}';
	END IF;
	IF s ->> 'state' = 'dead' THEN
		UPDATE deliveries SET state = 'dead', settled = TRUE, outcome = 'earlier_part_dead', updated_at = p_now
		WHERE message_id = v_d.message_id AND part > v_d.part AND settled = FALSE;
	ELSIF s ->> 'state' = 'dropped' AND CAST(s ->> 'conversation' AS boolean) THEN
		UPDATE deliveries SET state = 'dropped', settled = TRUE, outcome = s ->> 'outcome', updated_at = p_now
		WHERE conversation_id = v_d.conversation_id AND settled = FALSE;
	END IF;
	IF s ->> 'event' <> '' THEN
		SELECT m.session_id, m.turn_id INTO STRICT v_session, v_turn FROM messages m WHERE m.id = v_d.message_id;
		PERFORM sb_emit(v_session, jsonb_build_array(jsonb_build_object('kind', 'delivery', 'turn', v_turn, 'data', s ->> 'event')), p_now);
	END IF;
	RETURN jsonb_build_object('done', TRUE, 'more', NOT CAST(s ->> 'settled' AS boolean) OR EXISTS (
		SELECT 1 FROM deliveries WHERE channel = v_d.channel AND conversation_id = v_d.conversation_id AND settled = FALSE));
END $$;

CREATE OR REPLACE FUNCTION sb_settles(p_list jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v_x jsonb;
	v_out jsonb := '[]';
BEGIN
	FOR v_x IN SELECT x FROM jsonb_array_elements(p_list) AS x LOOP
		v_out := v_out || jsonb_build_array(sb_settle(v_x));
	END LOOP;
	RETURN v_out;
END $$;

-- What these read hardly depends on their arguments: plans are made once a connection, and not five times and more. They may
-- be made when there is next to nothing in the tables, and are kept for a minute or more after: none may read a whole table, or a
-- whole session for its latest rows.
ALTER FUNCTION sb_accept SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
ALTER FUNCTION sb_claimable SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
ALTER FUNCTION sb_claim SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
ALTER FUNCTION sb_steps SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
ALTER FUNCTION sb_begin SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
ALTER FUNCTION sb_settles SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off;
