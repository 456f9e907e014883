package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/people"
	"switchboard/store/sessions"
)

// erasedTables are those of which Erase changes or deletes rows.
var erasedTables = []string{
	"messages", "turns", "plans", "tasks", "reviews", "llm_calls", "llm_bodies", "deliveries", "actions", "approvals", "events", "attachments", "sessions", "conversations", "chat_calls",
	"memories", "memory_settings", "memory_scopes", "recalled", "vectors", "jobs", "runs", "notifications", "rejected", "settings_versions", "audit",
}

const (
	// isNamed: an erasure that was cut off may have left nothing of them but that it began.
	isNamed = `
		SELECT 1 WHERE EXISTS (SELECT 1 FROM turns WHERE person = ?) OR EXISTS (SELECT 1 FROM messages WHERE person = ?)
			OR EXISTS (SELECT 1 FROM memories WHERE person = ? OR scope = ?) OR EXISTS (SELECT 1 FROM jobs WHERE owner = ?)
			OR EXISTS (SELECT 1 FROM audit WHERE person = ?) OR EXISTS (SELECT 1 FROM audit WHERE action = 'memory.erase' AND target = ?)`
	// identitiesOf are those under which they alone wrote, and that nobody has now.
	identitiesOf = `
		SELECT identity AS name FROM messages WHERE identity <> '' GROUP BY identity
		HAVING max(CASE WHEN person = ? THEN 1 ELSE 0 END) = 1 AND max(CASE WHEN person NOT IN ('', ?) THEN 1 ELSE 0 END) = 0
			AND identity NOT IN (SELECT identity FROM identities WHERE person <> ?)`
	// takenBy are identities of somebody else.
	takenBy = `SELECT identity AS name FROM identities WHERE person <> ?`
	// namesOf are those under which somebody wrote from one of these, and that nobody has now: they were joined to others.
	namesOf = `
		SELECT DISTINCT person AS name FROM messages WHERE person <> '' AND identity IN (%s) AND person <> ?
			AND person NOT IN (SELECT name FROM people) AND person NOT IN (SELECT name FROM people_away) ORDER BY person`
	// gaveAll: they gave something for everybody, or an erasure was cut off, which may have taken it.
	gaveAll = `
		SELECT 1 WHERE EXISTS (SELECT 1 FROM memories WHERE scope = 'global' AND person IN (%s))
			OR (SELECT outcome FROM audit WHERE action = 'memory.erase' AND target = ? ORDER BY id DESC LIMIT 1) = 'begun'`
	newest      = `SELECT coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(id) FROM turns), 0)`
	openOf      = `SELECT id FROM turns WHERE person IN (%s) AND state IN ('queued', 'running', 'waiting') ORDER BY id LIMIT 1`
	eraseCounts = `
		SELECT (SELECT count(*) FROM jobs WHERE owner IN (%[1]s)), (SELECT count(*) FROM notifications WHERE person IN (%[1]s)),
			(SELECT count(*) FROM attachments a JOIN messages m ON m.id = a.message_id WHERE m.person IN (%[1]s) AND a.state <> 'gone'),
			(SELECT count(*) FROM llm_bodies b JOIN turns t ON t.id = b.turn_id WHERE t.person IN (%[1]s))`
	turnsOf = `SELECT id, FALSE AS recent, TRUE AS ready FROM turns WHERE person IN (%s) AND id <= ? AND id > ? ORDER BY id LIMIT ?`
	// theirs: they wrote it, were answered with it, or it asks somebody about a turn of theirs. The lists are their names and identities.
	// With EXISTS, PostgreSQL would read all turns for each page of messages.
	theirs = `(m.person IN (%[1]s) OR (SELECT count(*) FROM turns t WHERE t.id = m.turn_id AND t.person IN (%[1]s)) > 0
		OR (SELECT count(*) FROM actions a JOIN approvals p ON p.id = a.approval_id JOIN turns t ON t.id = p.turn_id WHERE a.message_id = m.id AND t.person IN (%[1]s)) > 0
		OR m.person = '' AND m.identity IN (%[2]s))`
	messagesOf = `SELECT m.id, m.conversation_id AS conversation, coalesce(m.session_id, 0) AS session FROM messages m WHERE m.id > ? AND m.id <= ? AND %s ORDER BY m.id`
	// someMessages have also what was typed, or edited away.
	someMessages = `
		SELECT m.id, coalesce(m.session_id, 0) AS session, %s AS theirs, m.direction = 'in' AS "in", m.text || ' ' || coalesce(m.said, '') AS text,
			(m.text <> '' OR m.quote <> '' OR m.said IS NOT NULL OR m.choices IS NOT NULL OR m.metadata IS NOT NULL OR m.forwarded_from <> '' OR m.attachments > 0) AS held
		FROM messages m WHERE m.id > ? ORDER BY m.id LIMIT 1000`
	goneBlobs = `SELECT DISTINCT blob AS name FROM attachments WHERE state = 'gone' AND blob <> '' ORDER BY blob LIMIT 100`
	dropBlobs = `UPDATE attachments SET blob = '' WHERE state = 'gone' AND blob IN (%s)`
	// eraseRequests: what was not decided is decided by nobody any more, and its buttons do nothing.
	eraseRequests  = `UPDATE approvals SET data = '{}', state = CASE state WHEN 'proposed' THEN 'cancelled' ELSE state END WHERE kind <> 'tool' AND (person = ? OR data LIKE ? ESCAPE '!')`
	cancelRequests = `
		UPDATE actions SET state = 'cancelled', outcome = 'removed' WHERE state = 'proposed' AND approval_id IN (
			SELECT id FROM approvals WHERE state = 'cancelled' AND kind <> 'tool')`
	// eraseRejected: whose it was is not known of what could not be read.
	eraseRejected = `
		DELETE FROM rejected WHERE EXISTS (SELECT 1 FROM conversations c WHERE c.channel = rejected.channel AND c.conversation = rejected.conversation AND c.id IN (%s))`
)

// What is blanked of many rows at once.
var (
	bodiesOfTurns = marked(`DELETE FROM llm_bodies WHERE turn_id IN (%s)`, batchTurns)
	eraseTurns    = ofMany(batchTurns, append([]string{
		`UPDATE approvals SET revoked_at = decided_at WHERE scope IN ('session', 'always') AND revoked_at IS NULL AND turn_id IN (%s)`,
		`DELETE FROM recalled WHERE kind = 'memory' AND ref IN (SELECT id FROM memories WHERE turn_id IN (%s))`,
		`DELETE FROM memories WHERE turn_id IN (%s)`,
	}, blankTurns...)...)
	eraseSent     = marked(`UPDATE attachments SET state = 'gone', name = '', reason = '', platform_id = '' WHERE state <> 'gone' AND message_id IN (%s)`, batchRows)
	eraseMessages = ofMany(batchRows, append([]string{
		`UPDATE actions SET text = '' WHERE message_id IN (%s)`,
		`UPDATE attachments SET name = '', reason = '', platform_id = '' WHERE state = 'gone' AND message_id IN (%s)`,
		`DELETE FROM events WHERE message_id IN (%s)`,
	}, blankMessages...)...)
	// eraseOwn take the name for their one ?.
	eraseOwn = []string{
		`DELETE FROM jobs WHERE owner = ? AND owner <> ''`,
		`DELETE FROM notifications WHERE person = ?`,
		`UPDATE approvals SET revoked_at = decided_at WHERE ? IN (person, decided_by) AND scope IN ('session', 'always') AND revoked_at IS NULL`,
		`UPDATE approvals SET shown = '', why = '' WHERE person = ?`,
		`UPDATE approvals SET why = '' WHERE decided_by = ?`,
		`UPDATE actions SET state = 'cancelled', outcome = 'removed' WHERE state = 'proposed' AND person = ? AND person <> ''`,
		`UPDATE actions SET text = '' WHERE person = ? AND person <> ''`,
		`UPDATE settings_versions SET reason = '' WHERE person = ? AND person <> ''`,
	}
)

const (
	// othersLink are messages by which others than those named were sent files.
	othersLink = `SELECT text AS name FROM messages WHERE session_id = ? AND person <> '' AND person NOT IN (%s) AND text LIKE '%%](attachment:%%' ORDER BY id`
	// keptAs are files that were kept of what was said, as a long answer is.
	keptAs    = `SELECT id FROM attachments WHERE session_id = ? AND message_id IS NULL AND state <> 'gone' AND blob IN (%s)`
	eraseMade = `UPDATE attachments SET state = 'gone', name = '', platform_id = '' WHERE session_id = ? AND message_id IS NULL AND state <> 'gone' AND id IN (%s)`
)

var (
	linking  = marked(`SELECT session_id AS session, text FROM messages WHERE direction = 'out' AND session_id IS NOT NULL AND text LIKE '%](attachment:%' AND id IN (%s)`, batchRows)
	sentWith = marked(`SELECT m.session_id AS session, d.extra FROM deliveries d JOIN messages m ON m.id = d.message_id WHERE m.session_id IS NOT NULL AND d.extra LIKE '{"files":%' AND d.message_id IN (%s)`, batchRows)
	// published are files that a turn made, which may not have been sent.
	published = marked(`SELECT t.session_id AS session, k.output AS text FROM tasks k JOIN turns t ON t.id = k.turn_id WHERE k.tool = 'workspace.publish' AND k.turn_id IN (%s)`, batchTurns)
	linkedIn  = regexp.MustCompile(`\]\(attachment:(\d{1,18})\)`)
)

// made takes away files that were made here and that some answers link or were sent with.
func (e *eraser) made(t *database.Tx, answers []any) (n int64, err error) {
	files, err := linked(t, linking, answers)
	if err == nil {
		err = e.kept(t, answers, files)
	}
	if err != nil {
		return 0, err
	}
	return e.unlessSent(t, files)
}

// linked are the files of each session that some texts link.
func linked(t *database.Tx, query string, of []any) (map[int64][]string, error) {
	list, err := database.Select[struct {
		Session int64
		Text    string
	}](t, query, of...)
	files := map[int64][]string{}
	for _, m := range list {
		for _, link := range linkedIn.FindAllStringSubmatch(m.Text, -1) {
			files[m.Session] = append(files[m.Session], link[1])
		}
	}
	return files, err
}

// unlessSent takes files away that were made here, unless others were sent them.
func (e *eraser) unlessSent(t *database.Tx, files map[int64][]string) (n int64, err error) {
	for session, ids := range files {
		if e.sent[session] == nil && err == nil {
			var texts []string
			texts, err = t.Names(fmt.Sprintf(othersLink, e.marks), append([]any{session}, e.who...)...)
			e.sent[session] = map[string]bool{}
			for _, link := range linkedIn.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
				e.sent[session][link[1]] = true
			}
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return e.sent[session][id] })
		if err == nil && len(ids) > 0 {
			var gone int64
			gone, err = t.Exec(fmt.Sprintf(eraseMade, strings.Join(ids, ",")), session) // they are digits
			n += gone
		}
	}
	return n, err
}

// kept adds the files that some answers were sent with.
func (e *eraser) kept(t *database.Tx, answers []any, files map[int64][]string) error {
	list, err := database.Select[struct {
		Session int64
		Extra   struct{ Files []channels.File }
	}](t, sentWith, answers...)
	for _, part := range list {
		var blobs []string
		for _, f := range part.Extra.Files {
			blobs = append(blobs, f.Blob)
		}
		marks, args := database.In(blobs)
		ids, err := t.IDs(fmt.Sprintf(keptAs, marks), append([]any{part.Session}, args...)...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			files[part.Session] = append(files[part.Session], database.Digits(id))
		}
	}
	return err
}

// A chat is a session that may have something of who is erased.
type chat struct {
	ID             int64
	Person         string
	Channel, Place string
	Direct         bool
	Summed         bool // it has a summary
	Own            bool // it is theirs alone
	Touched        bool // they spoke there, or it was asked there what they want
	Near           bool // or in another of the group, or what they gave for everybody: what is remembered of it surfaces there
}

const (
	// everyChat: what they gave for everybody may have surfaced in each.
	everyChat = `
		SELECT s.id, s.person, c.channel, c.place, c.kind = 'direct' AS direct, s.summary <> '' AS summed FROM sessions s JOIN conversations c ON c.id = s.conversation_id ORDER BY s.id`
	askedIn  = `SELECT DISTINCT session_id AS id FROM turns WHERE person IN (%s)`
	othersIn = `SELECT 1 FROM messages WHERE session_id = ? AND person <> '' AND person NOT IN (%s) LIMIT 1`
	speakers = `SELECT DISTINCT person AS name FROM messages WHERE session_id = ? AND person <> '' ORDER BY person`
	// hasPrompts: or it will have some, of a turn that goes on.
	hasPrompts = `
		SELECT 1 FROM turns t WHERE t.session_id = ? AND (t.state IN ('running', 'waiting') OR t.state = 'queued' AND t.calls > 0 OR EXISTS (SELECT 1 FROM llm_bodies b WHERE b.turn_id = t.id)
			OR EXISTS (SELECT 1 FROM tasks k WHERE k.turn_id = t.id AND k.tool LIKE 'memory.%' AND k.output <> '')) LIMIT 1`
	// reading are turns that may have read what is erased, and go on; elsewhere only those that searched. They may have begun some meanwhile.
	reading = `
		SELECT count(*) FROM turns t WHERE t.session_id = ? AND t.id <= ? AND (t.state IN ('running', 'waiting') OR t.state = 'queued' AND t.calls > 0)
			AND (CAST(? AS boolean) OR EXISTS (SELECT 1 FROM tasks k WHERE k.turn_id = t.id AND k.tool LIKE 'memory.%' AND k.output <> ''))`
	// eraseEvents: what a turn of theirs did is told nobody again.
	eraseEvents = `
		DELETE FROM events WHERE session_id = ? AND n IN (
			SELECT v.n FROM events v JOIN turns t ON t.id = v.turn_id WHERE v.session_id = ? AND t.id <= ? AND t.person IN (%s) ORDER BY v.n LIMIT 500)`
	erasePrompts = `
		DELETE FROM llm_bodies WHERE (turn_id, step) IN (SELECT b.turn_id, b.step FROM turns t JOIN llm_bodies b ON b.turn_id = t.id
			WHERE t.session_id = ? AND t.state IN ('done', 'failed', 'cancelled', 'merged') LIMIT 500)`
)

var (
	// eraseShared take the session: prompts of others, and what tools of memory brought them, may have words of theirs.
	eraseShared = []string{
		`UPDATE llm_bodies SET request = NULL, response = NULL WHERE turn_id IN (SELECT id FROM turns WHERE session_id = ?)`,
		`UPDATE tasks SET output = '' WHERE tool LIKE 'memory.%' AND turn_id IN (SELECT id FROM turns WHERE session_id = ? AND state IN ('done', 'failed', 'cancelled', 'merged'))`,
	}
	// eraseTouched do too; the summary is the last of them, and is made again of what is left.
	eraseTouched = []string{
		`UPDATE messages SET quote = '' WHERE session_id = ? AND quote <> ''`,
		`UPDATE messages SET quote = '' WHERE session_id IS NULL AND quote <> '' AND conversation_id = (SELECT conversation_id FROM sessions WHERE id = ?)`,
		`UPDATE sessions SET rest_fault = '' WHERE id = ? AND rest_fault <> ''`,
		`DELETE FROM recalled WHERE kind = 'summary' AND ref = ?`,
		`UPDATE sessions SET summary = '', summary_taint = '', summed_to = reset_message, rest_fault = '', restless = TRUE, rest_after = 0 WHERE id = ? AND summary <> ''`,
	}
	// eraseChat do too, where the chat is theirs alone; the files that were made there are the last.
	eraseChat = []string{
		`UPDATE sessions SET instructions = '' WHERE id = ?`,
		`UPDATE conversations SET title = '' WHERE id = (SELECT conversation_id FROM sessions WHERE id = ?)`,
		`DELETE FROM chat_calls WHERE conversation = (SELECT c.conversation FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.id = ?)`,
		`UPDATE attachments SET state = 'gone', name = '', reason = '', platform_id = '' WHERE session_id = ? AND message_id IS NULL AND state <> 'gone'`,
	}
)

// list lists all chats. One is theirs alone that is nobody's now, where nobody else spoke.
func (e *eraser) list(t *database.Tx) ([]chat, error) {
	asked, err := t.IDs(fmt.Sprintf(askedIn, e.marks), e.who...)
	if err != nil {
		return nil, err
	}
	for _, id := range asked {
		e.spoke[id] = true
	}
	all, err := database.Select[chat](t, everyChat)
	groups := map[[2]string]bool{}
	for i := range all {
		c := &all[i]
		c.Touched = e.spoke[c.ID]
		if c.Direct {
			c.Own = slices.Contains(e.audit.Names, strings.TrimSuffix(c.Person, people.Before))
			if c.Person == "" && c.Touched {
				others, err := t.Has(fmt.Sprintf(othersIn, e.marks), append([]any{c.ID}, e.who...)...)
				if err != nil {
					return nil, err
				}
				c.Own = !others
			}
			c.Touched = c.Touched || c.Own
		} else if c.Touched {
			groups[[2]string{c.Channel, c.Place}] = true
		}
	}
	for i := range all {
		c := &all[i]
		c.Near = e.everywhere || c.Touched || !c.Direct && groups[[2]string{c.Channel, c.Place}]
	}
	return all, err
}

// chats blanks what others' chats still have of them, and waits for turns that had read it.
func (e *eraser) chats(ctx context.Context) error {
	todo, err := database.Read(ctx, e.db.DB, "list chats", e.list)
	if err != nil {
		return err
	}
	if e.last, err = database.Value[int64](ctx, e.db.DB, "find the newest turn", `SELECT coalesce(max(id), 0) FROM turns`); err != nil {
		return err
	}
	for _, c := range todo {
		switch {
		case c.Own:
			if err := e.Own(c.ID); err != nil {
				return err
			}
		case c.Touched && e.Shared(c.ID):
			e.done.Folders++
		}
	}
	for until := (time.Time{}); ; {
		e.done.Unfinished = 0
		later := todo[:0]
		for _, c := range todo {
			open, err := e.chat(ctx, &c)
			if err != nil {
				return err
			}
			if e.done.Unfinished += open; open > 0 {
				c.Touched = false // the rest is done
				later = append(later, c)
			}
		}
		if until.IsZero() { // the first round may take long
			until = time.Now().Add(underWay)
		}
		if todo = later; len(todo) == 0 || time.Now().After(until) || !retry.Sleep(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// chat blanks what else a chat has of them, and says how many turns run there that may have read it. What works there at rest writes
// nothing of it any more.
func (e *eraser) chat(ctx context.Context, c *chat) (open int64, err error) {
	if !c.Touched {
		has, err := database.Read(ctx, e.db.DB, "look for prompts", func(t *database.Tx) (bool, error) { return t.Has(hasPrompts, c.ID) })
		if err != nil || !has {
			return 0, err
		}
	}
	if c.Touched {
		if err := e.until(ctx, fmt.Sprintf(eraseEvents, e.marks), slices.Concat([]any{c.ID, c.ID, e.toTurn}, e.who)...); err != nil {
			return 0, err
		}
	}
	var summaries, made int64
	for n := int64(batchRows); n == batchRows && err == nil; e.done.Prompts += n {
		n, err = e.batch(ctx, func(t *database.Tx) (prompts int64, err error) {
			if _, found, err := sessions.Lock(t, c.ID); err != nil || !found {
				return 0, err
			}
			if _, err = t.Row(reading, []any{c.ID, e.last, c.Near}, &open); err != nil {
				return 0, err
			}
			if prompts, err = t.Exec(erasePrompts, c.ID); err != nil || prompts == batchRows {
				return prompts, err
			}
			if _, err := t.Each(eraseShared, []any{c.ID}); err != nil || !c.Touched {
				return prompts, err
			}
			if summaries, err = t.Each(eraseTouched, []any{c.ID}); err == nil && c.Own {
				made, err = t.Each(eraseChat, []any{c.ID})
			}
			if err != nil {
				return 0, err
			}
			who, err := t.Names(speakers, c.ID)
			for _, name := range who {
				if err == nil {
					err = engines.Void(t, engines.Memory, name)
				}
			}
			return prompts, err
		})
	}
	e.done.Summaries, e.done.Files = e.done.Summaries+summaries, e.done.Files+made
	return open, err
}
