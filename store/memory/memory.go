package memory

import (
	"context"
	"slices"
	"strings"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/channels"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

var _ routermemory.Store = (*Store)(nil)

const (
	columns = `SELECT m.id, m.kind, m.scope, m.category, m.key, m.text, m.state, m.outcome, m.person, m.source,
		coalesce((SELECT s.key FROM sessions s WHERE s.id = m.session_id), '') AS session, coalesce(m.turn_id, 0) AS turn,
		m.confidence, m.taint, m.kept, m.always, m.created_at, m.updated_at, m.used_at, m.expires_at, coalesce(m.asked_turn, 0) AS asked_turn FROM memories m WHERE `
	// current: it is there and its time is not over.
	current = `m.state = 'active' AND (m.expires_at = 0 OR m.expires_at > ?)`
	// standing are preferences, rules and open questions, and rules that stood in every prompt until a while ago. What comes
	// from elsewhere is found by those who search for it. The + keeps SQLite from memories_expires, for which it would plan the
	// statement again at each run.
	standing = columns + `m.scope IN (%s) AND m.state IN ('active', 'forgotten') AND m.kind IN ('preference', 'rule', 'question') AND m.taint = ''
		AND (m.state = 'active' AND (m.expires_at = 0 OR +m.expires_at > ?) OR m.state = 'forgotten' AND m.always = TRUE) ORDER BY m.id DESC LIMIT 500`
	// askedIn: a question that was put in vain is open again, and one that was put in a session may be answered in the next turns of it.
	askedIn = `
		SELECT t.id, t.state IN ('failed', 'cancelled') AS vain, t.session_id = ? AND (SELECT count(*) FROM (
			SELECT 1 FROM turns y WHERE y.session_id = t.session_id AND y.id > t.id LIMIT 4) z) <= 3 AS here
		FROM turns t WHERE t.id IN (%s)`
	place = `
		SELECT s.id AS session, s.private <> '' AS private, c.channel, c.place AS "group", c.kind = 'direct' AS direct
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.key = ?`
	lastAnswer = `
		SELECT m.text, coalesce(m.turn_id, 0) FROM messages m WHERE m.session_id = (SELECT s.id FROM sessions s WHERE s.key = ?)
			AND m.id > (SELECT s.reset_message FROM sessions s WHERE s.key = ?) AND m.direction = 'out' AND (m.class = 'reply' OR m.class = 'say' AND m.notice = FALSE)
			AND (CAST(? AS bigint) = 0 OR m.id < (SELECT t.message_id FROM turns t WHERE t.id = ?)) ORDER BY m.session_id DESC, m.id DESC LIMIT 1`
	used = `
		UPDATE memories SET used_at = ?, expires_at = CASE WHEN expires_at = 0 THEN 0 ELSE expires_at + ? - CASE WHEN used_at > created_at THEN used_at ELSE created_at END END
		WHERE used_at < ? AND kind <> 'question' AND id IN (%s)`
	ownSettings = `SELECT learning, recall, expire_after, denied FROM memory_settings WHERE person = ?`
)

// MemoryPlace is where a person speaks in a conversation, of which no more than its ID need be known.
func (s *Store) MemoryPlace(ctx context.Context, conv channels.Conversation, person string) (memory.Place, error) {
	conv = sessions.CleanConversation(conv)
	at, err := database.Read(ctx, s.DB, "look for a place", func(t *database.Tx) (*memory.Place, error) {
		return database.First[memory.Place](t, place, sessions.SessionKey(conv.Channel, conv.ID))
	})
	if err != nil || at == nil { // nobody spoke there yet
		at = &memory.Place{Channel: conv.Channel, Group: conv.Place, Direct: conv.Kind == channels.Direct}
	}
	at.Person = database.Clean(person)
	return *at, err
}

// LastAnswer implements routermemory.Store.
func (s *Store) LastAnswer(ctx context.Context, session string, turn int64) (text string, of int64, err error) {
	_, err = s.ReadRow(ctx, "read the last answer", lastAnswer, []any{session, session, turn, turn}, &text, &of)
	return text, of, err
}

// Memories lists what fits a filter, the newest first.
func (s *Store) Memories(ctx context.Context, f routermemory.Filter) ([]memory.Entry, error) {
	return database.Read(ctx, s.DB, "list memories", func(t *database.Tx) ([]memory.Entry, error) { return list(t, &f) })
}

func list(t *database.Tx, f *routermemory.Filter) ([]memory.Entry, error) {
	where, args := []string{current}, []any{t.Now}
	if f.All {
		where, args = []string{`m.state IN ('active', 'archived', 'pending')`}, nil
	}
	where, args = among(where, args, "m.id", f.IDs)
	where, args = among(where, args, "m.scope", f.Scopes)
	where, args = among(where, args, "m.kind", f.Kinds)
	if f.Person != "" {
		where, args = append(where, "m.person = ?"), append(args, database.Clean(f.Person))
	}
	if f.Before > 0 {
		where, args = append(where, "m.id < ?"), append(args, f.Before)
	}
	limit := f.Limit
	if limit == 0 {
		limit = 1000
	}
	return database.Select[memory.Entry](t, columns+strings.Join(where, " AND ")+" ORDER BY m.id DESC LIMIT ?", append(args, limit)...)
}

// among adds that a column is one of a list, where there is one.
func among[T any](where []string, args []any, column string, list []T) ([]string, []any) {
	if list == nil {
		return where, args
	}
	if len(list) == 0 {
		return append(where, "1 = 0"), args
	}
	marks, values := database.In(list)
	return append(where, column+" IN ("+marks+")"), append(args, values...)
}

// StandingMemories are preferences, rules and open questions that hold at a place, and rules that did. Where somebody wants nothing
// recalled, or the chat is private, only the rules of every prompt are. What others said, where others take part, stands for nobody else.
func (s *Store) StandingMemories(ctx context.Context, at memory.Place, minConfidence float64) (known memory.Known, recalls bool, err error) {
	err = s.Read(ctx, "recall what stands", func(t *database.Tx) error {
		own, err := settings(t, at.Person)
		if err != nil {
			return err
		}
		recalls = own.Recall && !at.Private
		marks, args := database.In(at.Scopes())
		rows, err := database.Select[memory.Entry](t, strings.Replace(standing, "%s", marks, 1), append(args, t.Now)...)
		if err != nil {
			return err
		}
		put, err := askedOf(t, rows, at.Session)
		for _, e := range slices.Backward(rows) {
			in := put[e.AskedTurn]
			switch {
			case e.State != "active":
				known.Ended = append(known.Ended, e)
			case e.TaintFor(at.Person) != tools.Clean, e.AskedTurn != 0 && !in.Vain && !(in.Here && recalls):
			case e.AskedTurn != 0 && !in.Vain:
				known.Asked = append(known.Asked, e)
			case e.Always || recalls && (e.Kind != memory.Preference || e.Confidence >= minConfidence):
				known.Standing = append(known.Standing, e)
			}
		}
		return err
	})
	return known, recalls, err
}

// An asking is what is known of a turn that put a question.
type asking struct {
	ID         int64
	Vain, Here bool
}

// askedOf are the turns that put questions, by ID, as seen in a session.
func askedOf(t *database.Tx, rows []memory.Entry, session int64) (map[int64]asking, error) {
	put := map[int64]asking{}
	var ids []int64
	for _, e := range rows {
		if e.AskedTurn != 0 {
			ids = append(ids, e.AskedTurn)
		}
	}
	if ids == nil {
		return put, nil
	}
	marks, args := database.In(ids)
	list, err := database.Select[asking](t, strings.Replace(askedIn, "%s", marks, 1), append([]any{session}, args...)...)
	for _, a := range list {
		put[a.ID] = a
	}
	return put, err
}

// MemoriesUsed notes that some stand in a prompt, once a day. A question expires all the same.
func (s *Store) MemoriesUsed(ctx context.Context, ids []int64) error {
	return s.Write(ctx, database.Async, "note the use of memories", func(t *database.Tx) error {
		marks, args := database.In(ids)
		return t.Do(strings.Replace(used, "%s", marks, 1), append([]any{t.Now, t.Now, t.Now - dayMicros}, args...)...)
	})
}

// MemorySettings are those of a person.
func (s *Store) MemorySettings(ctx context.Context, person string) (routermemory.Settings, error) {
	return database.Read(ctx, s.DB, "read settings of memory", func(t *database.Tx) (routermemory.Settings, error) {
		return settings(t, database.Clean(person))
	})
}

func settings(t *database.Tx, person string) (own routermemory.Settings, err error) {
	own = routermemory.Defaults()
	if person == "" {
		return own, nil
	}
	var expire int64
	found, err := t.Row(ownSettings, []any{person}, &own.Learning, &own.Recall, &expire, database.JSON(&own.Denied))
	if err != nil || !found {
		return own, err
	}
	own.Expire = expire / dayMicros
	return own, nil
}
