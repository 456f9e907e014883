package store

import (
	"fmt"

	"switchboard/router/core"
	routersessions "switchboard/router/sessions"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/sessions"
)

// sessionColumns are where a session keeps what it has of its own.
var sessionColumns = map[routersessions.Setting]string{
	routersessions.Mode: "mode", routersessions.Model: "model", routersessions.Language: "language", routersessions.TimeZone: "timezone",
	routersessions.Private: "private",
	routersessions.Title:   "(SELECT title FROM conversations c WHERE c.id = conversation_id)",
}

const (
	sessionHas = `SELECT id, %s FROM sessions WHERE key = ?`
	setSession = `UPDATE sessions SET %s = ? WHERE id = ?`
	unrecall   = `DELETE FROM recalled WHERE session_id = ? AND kind <> 'memory'`
	// unlearn: what a review taught while nothing was to be learned.
	unlearn  = `UPDATE memories SET state = 'discarded', text = '', outcome = 'it was said in private', updated_at = ? WHERE session_id = ? AND kind = 'learning' AND state = 'pending'`
	setTitle = `UPDATE conversations SET title = ? WHERE id = (SELECT conversation_id FROM sessions WHERE id = ?)`
)

// changeSession sets something of a session. ErrNotFound: nobody spoke there yet, and it is not to begin so.
func changeSession(t *database.Tx, c *routersessions.Change) (a audit.Entry, err error) {
	if c.Conversation.ID == "" && c.Of == routersessions.TimeZone && c.Person != "" {
		err = jobs.SetZone(t, c)
		a.Outcome, a.Data = "done", map[string]any{"was": c.Was, "now": c.To}
		return a, err
	}
	column, known := sessionColumns[c.Of]
	if !known {
		return a, fmt.Errorf("a session has no %q of its own", c.Of)
	}
	if c.Begins != "" {
		conversation, key, err := sessions.Arrived(t, c.Conversation)
		if err == nil {
			_, err = sessions.FindOrOwn(t, conversation, key, database.Clean(c.Begins))
		}
		if err != nil {
			return a, err
		}
	}
	place, found, err := sessions.FindPlace(t, sessions.CleanConversation(c.Conversation))
	if err == nil && found {
		found, err = t.Row(t.Locked(fmt.Sprintf(sessionHas, column)), []any{place.Key}, &a.Session, &c.Was)
	}
	if err == nil && !found {
		err = core.ErrNotFound
	}
	if err != nil {
		return a, err
	}
	if c.Of == routersessions.Title {
		if err := t.Do(setTitle, c.To, a.Session); err != nil {
			return a, err
		}
	} else if !c.Aside {
		if err := t.Do(fmt.Sprintf(setSession, column), c.To, a.Session); err != nil {
			return a, err
		}
	}
	if c.Of == routersessions.Private && c.To != c.Was {
		do := []database.Statement{database.Do(unlearn, t.Now, a.Session)}
		if c.To != "" {
			do = append(do, database.Do(unrecall, a.Session))
		} else if err := sessions.LeaveBehind(t, a.Session); err != nil { // what was said in private stays so
			return a, err
		}
		if err := t.Run(do...); err != nil {
			return a, err
		}
	}
	if c.Of == routersessions.TimeZone && c.Person != "" && c.To != "" {
		if err := jobs.MoveTo(t, c); err != nil {
			return a, err
		}
	}
	a.Outcome, a.Data = "done", map[string]any{"was": c.Was, "now": c.To}
	return a, nil
}
