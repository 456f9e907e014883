package store

import (
	"slices"

	"switchboard/router/ledger"
)

const (
	cancelLinks = `
		UPDATE actions SET state = 'cancelled', outcome = 'newer', used_at = ? WHERE kind = 'link' AND person = ? AND state = 'proposed' AND message_id <> ?`
	sessionPlace = `
		SELECT c.channel, c.conversation, c.kind, c.place, c.title FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.id = ?`
	joinIdentity = `
		INSERT INTO identities (identity, person, linked, created_at) VALUES (?, ?, TRUE, ?)
		ON CONFLICT (identity) DO UPDATE SET person = excluded.person, linked = TRUE`
	// joinedSessions are the direct chats of a person, and where something of theirs is open.
	joinedSessions = `
		SELECT id FROM sessions WHERE person = ? AND person <> ''
		UNION SELECT session_id FROM turns WHERE rank IS NOT NULL AND person = ?
		UNION SELECT session_id FROM turns WHERE parked_at IS NOT NULL AND state = 'waiting' AND person = ?`
	joinTurns    = `UPDATE turns SET person = ? WHERE session_id = ? AND person = ?`
	joinMessages = `
		UPDATE messages SET person = ?, author = CASE WHEN author = person THEN ? ELSE author END WHERE session_id = ? AND person = ?`
	joinActions = `UPDATE actions SET person = ? WHERE session_id = ? AND person = ?`
)

// joinPerson gives what names a person to another. The audit log and who decided once stay.
var joinPerson = []string{
	`UPDATE identities SET person = ?, linked = TRUE WHERE person = ?`,
	`UPDATE sessions SET person = ? WHERE person = ? AND person <> ''`,
	`UPDATE memories SET person = ? WHERE person = ? AND person <> ''`,
	`UPDATE jobs SET owner = ? WHERE owner = ? AND owner <> ''`,
	`UPDATE notifications SET person = ? WHERE person = ?`,
	`UPDATE approvals SET person = ? WHERE person = ?`,
	`UPDATE approvals SET decided_by = ? WHERE decided_by = ? AND scope IN ('session', 'always')`,
}

// useLink makes the sender the person who made the code. Where that is an admin, they are
// asked first.
func (t *tx) useLink(used *ledger.Entry, sender *ledger.Person, code *codeRow, as *ledger.AsCode, a *ledger.Accepted) error {
	maker, err := t.person(code.Person)
	if err != nil {
		return err
	}
	if code.State != ledger.ActionProposed || code.ExpiresAt <= t.now || maker == nil || maker.Source == ledger.FromOpen {
		a.Situation = ledger.LinkWrong
		return nil
	}
	if a.Situation = mayJoin(maker, sender); a.Situation != "" {
		return nil
	}
	use := statement{setAction, []any{string(ledger.ActionAccepted), "used", maker.Name, t.now, code.ID}}
	if maker.Role == ledger.RoleAdmin {
		return t.confirmLink(used, maker, code, as, a, use)
	}
	if err := t.run(use); err != nil {
		return err
	}
	a.Situation, a.People = ledger.LinkDone, true
	used.Sender.Person, used.Sender.Rule = maker.Name, ledger.RuleLink
	return t.join(maker, sender, clean(as.Identity), maker.Name)
}

// confirmLink asks in the chat where the code was made.
func (t *tx) confirmLink(used *ledger.Entry, maker *ledger.Person, code *codeRow, as *ledger.AsCode, a *ledger.Accepted, use statement) error {
	var rows []conversationRow
	if err := t.All(&rows, sessionPlace, code.SessionID); err != nil {
		return err
	}
	a.Situation = ledger.LinkAsked
	switch {
	case len(rows) == 0 || as.Request != nil && len(as.Request.Questions) == 0:
		a.Situation = ledger.LinkWrong
		return nil
	case as.Request == nil: // it is rendered now, and all is done again
		a.Confirm = rows[0].conversation()
		return nil
	}
	if err := t.run(use); err != nil {
		return err
	}
	a.Elsewhere = rows[0].conversation()
	_, err := t.request(ledger.ApprovalLink, maker.Name, used, as.Identity, "", as.Request)
	return err
}

// mayJoin says why somebody cannot become the maker of a code; empty: they can. A nil
// sender is a stranger.
func mayJoin(maker, sender *ledger.Person) ledger.Situation {
	switch {
	case sender == nil:
		return ""
	case sender.Name == maker.Name:
		return ledger.LinkSame
	case sender.Source == ledger.FromSettings:
		return ledger.LinkByFile
	case sender.Role == ledger.RoleAdmin && maker.Role != ledger.RoleAdmin:
		return ledger.LinkAdmin
	}
	return ""
}

// join makes an account, and the person that it was, another person. The sessions stay
// apart. What others may read of a group stays as it was said there.
func (t *tx) join(maker, former *ledger.Person, identity, by string) error {
	was := "a stranger"
	if former == nil {
		if _, err := t.Exec(joinIdentity, identity, maker.Name, t.now); err != nil {
			return err
		}
	} else {
		was = "person " + former.Name
		if err := t.joinRows(maker.Name, former.Name); err != nil {
			return err
		}
	}
	return t.audit(ledger.Hand{Person: by, Rule: ledger.RuleLink}, audited{
		action: "person.join", target: "person " + maker.Name, outcome: "done", data: map[string]any{"identity": identity, "was": was},
	})
}

func (t *tx) joinRows(maker, former string) error {
	sessions, err := t.ids(joinedSessions, former, former, former)
	if err != nil {
		return err
	}
	slices.Sort(sessions)
	for _, id := range sessions {
		if _, found, err := t.lock(id); err != nil {
			return err
		} else if !found {
			continue
		}
		if err := t.run(
			statement{joinTurns, []any{maker, id, former}},
			statement{joinMessages, []any{maker, maker, id, former}},
			statement{joinActions, []any{maker, id, former}},
		); err != nil {
			return err
		}
	}
	if _, err := t.each(joinPerson, []any{maker, former}); err != nil {
		return err
	}
	if _, err := t.Exec(dropPerson, former); err != nil {
		return err
	}
	return t.joinSpending(ledger.SpentByPerson, maker, former)
}
