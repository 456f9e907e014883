package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/channels"
	routerapprovals "switchboard/router/approvals"
	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	routermoney "switchboard/router/money"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/memory"
	"switchboard/store/money"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	// CancelLinks ends the link codes of a person but the newest.
	CancelLinks = `
		UPDATE actions SET state = 'cancelled', outcome = 'newer', used_at = ? WHERE kind = 'link' AND person = ? AND state = 'proposed' AND message_id <> ?`
	sessionPlace = `
		SELECT c.channel, c.conversation AS id, c.kind, c.place, c.title FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.id = ?`
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
	`UPDATE jobs SET owner = ? WHERE owner = ? AND owner <> ''`,
	`UPDATE notifications SET person = ? WHERE person = ?`,
	`UPDATE approvals SET person = ? WHERE person = ?`,
	`UPDATE approvals SET decided_by = ? WHERE decided_by = ? AND scope IN ('session', 'always')`,
}

// useLink asks on both sides whether the sender is to become the person who made the code.
func useLink(t *database.Tx, used *intake.Entry, sender *core.Person, code *codeRow, as *people.CodeIntent, a *intake.Accepted) error {
	maker, err := sessions.Person(t, code.Person)
	if err != nil {
		return err
	}
	a.Outcome = people.LinkWrong
	if code.State != routeroutbox.ActionProposed || code.ExpiresAt <= t.Now || maker == nil || maker.Source == core.FromOpen {
		return nil
	}
	place, err := database.First[channels.Conversation](t, sessionPlace, code.SessionID)
	if err != nil || place == nil {
		return err
	}
	at := *place
	if why := mayJoin(maker, sender); why != "" {
		a.Outcome = why
		return nil
	}
	if core.SessionKey(at) == core.SessionKey(sessions.CleanConversation(used.Event.Conversation)) { // one chat cannot be both sides
		return nil
	}
	if as.Link == nil || *as.Link != (people.Link{At: at, Person: maker.Name, Was: sideOf(sender).Name}) || len(as.Request.Questions) < 2 {
		return nil // it is not what the questions say
	}
	if err := t.Run(database.Do(outbox.SetAction, routeroutbox.ActionAccepted, "used", maker.Name, t.Now, code.ID)); err != nil {
		return err
	}
	a.Outcome, a.Elsewhere = people.LinkAsked, at
	_, err = request(t, routeroutbox.ApprovalLink, maker.Name, used, requestData{
		Sender: sideOf(sender), Maker: sideOf(maker), MadeAt: at, Joined: as.Request.Joined,
	}, as.Identity, as.Request)
	return err
}

// LinkOf is what a code would do for somebody, whose name is empty for a stranger; nil: it is no link code that is good.
func (r *Store) LinkOf(ctx context.Context, code []byte, sender string) (*people.Link, error) {
	return database.Read(ctx, r.DB, "look a link code up", func(t *database.Tx) (*people.Link, error) {
		row, err := database.First[codeRow](t, codeOf, code, people.ActionLink, people.ActionLink)
		if err != nil || row == nil {
			return nil, err
		}
		place, err := database.First[channels.Conversation](t, sessionPlace, row.SessionID)
		if err != nil || place == nil {
			return nil, err
		}
		return &people.Link{At: *place, Person: row.Person, Was: database.Clean(sender)}, nil
	})
}

// A linkSide is a person as the questions name them; the zero value is a stranger.
type linkSide struct {
	Name  string
	Since int64  // µs; somebody else may be given the name
	Role  string // as the question says it
}

func sideOf(p *core.Person) linkSide {
	if p == nil {
		return linkSide{}
	}
	return linkSide{p.Name, database.Micros(p.Since), p.Role}
}

const (
	chatSession = `SELECT id FROM sessions WHERE key = ?`
	keepRequest = `UPDATE approvals SET data = ? WHERE id = ?`
)

// answerLink is decideLink for a stranger, who answers no other question.
func answerLink(t *database.Tx, used *intake.Entry, as *people.CodeIntent, a *intake.Accepted) error {
	var session int64
	key := core.SessionKey(sessions.CleanConversation(used.Event.Conversation))
	if found, err := t.Row(chatSession, []any{key}, &session); err != nil || !found {
		return err
	}
	row, err := outbox.Action(t, used, as.Code, session)
	if err != nil || row == nil || row.Approval == 0 {
		return err
	}
	data, err := row.Stored()
	does := cmp.Or(as.Does, data.Does)
	if err != nil || does == "" {
		return err
	}
	p, err := approvals.Find(t, row.Approval)
	if err != nil || p.Kind != routeroutbox.ApprovalLink {
		return err
	}
	if a.Outcome, err = DecideLink(t, used, row, p, does, as.Identity, a); err == nil && a.NotYours {
		a.Outcome = ""
	} else if err == nil {
		err = outbox.Question(t, row, a)
	}
	return err
}

// DecideLink takes the word of one side on a link; once both sides have confirmed it, it is made, and
// the entry's sender is who they are then. Identity is that of a sender who is a stranger.
func DecideLink(t *database.Tx, e *intake.Entry, row *outbox.ActionRow, p *approvals.Row, does routeroutbox.Does, identity string, a *intake.Accepted) (intake.Outcome, error) {
	var data requestData
	if err := p.Stored(&data); err != nil {
		return "", err
	}
	name, side := database.Clean(e.Sender.Person), "maker"
	theirs := name == data.Maker.Name
	if core.SessionKey(sessions.CleanConversation(e.Event.Conversation)) == core.SessionKey(data.At) {
		side = "sender"
		theirs = name == data.Sender.Name && (name != "" || database.Clean(identity) == p.Identity)
	}
	if !theirs {
		a.NotYours = true
		return routerapprovals.Unknown, nil
	}
	a.Approval = p.ID
	settle := func(state routeroutbox.ActionState, s intake.Outcome) (intake.Outcome, error) {
		a.Action, a.Decision = state, s
		return s, approvals.Settle(t, p, state, "", name, "")
	}
	if p.State != routeroutbox.ActionProposed {
		return settle(routeroutbox.ActionCancelled, routerapprovals.Over)
	} else if p.ExpiresAt <= t.Now {
		return settle(routeroutbox.ActionExpired, routerapprovals.Over)
	}
	maker, sender, err := linked(t, p, &data)
	if err != nil {
		return "", err
	}
	word, outcome := "approval.confirm", "asked"
	switch {
	case does == routeroutbox.DoesDeny:
		word, outcome = "approval.rejected", "done"
	case sideOf(maker) != data.Maker || sideOf(sender) != data.Sender || mayJoin(maker, sender) != "":
		return settle(routeroutbox.ActionCancelled, routerapprovals.Over) // one of them is somebody else by now, or may do more
	case data.Confirmed != "" && data.Confirmed != side:
		word, outcome = "approval.accepted", "done"
	}
	if err := audit.Write(t, core.Actor{Person: name, Rule: e.Sender.Rule}, audit.Entry{
		Action: word, Target: fmt.Sprintf("approval %d", p.ID), Outcome: outcome, Data: map[string]any{"kind": p.Kind, "identity": p.Identity, "side": side},
	}); err != nil {
		return "", err
	}
	switch {
	case does == routeroutbox.DoesDeny:
		return settle(routeroutbox.ActionRejected, people.LinkDenied)
	case outcome == "asked":
		data.Confirmed, a.Decision = side, people.LinkHalf
		return people.LinkHalf, t.Run(
			database.Do(keepRequest, database.JSONText(data), p.ID),
			database.Do(outbox.SetAction, routeroutbox.ActionAccepted, "used", name, t.Now, row.ID),
			database.Do(outbox.CancelSiblings, t.Now, row.MessageID, row.ID, row.Kind),
		)
	}
	if err := join(t, maker, sender, p.Identity, maker.Name); err != nil {
		return "", err
	}
	a.People = true
	said := people.LinkAllowed
	if a.Elsewhere = data.At; side == "sender" {
		said, a.Elsewhere, data.Accepted = people.LinkDone, data.MadeAt, data.Joined
		e.Sender.Person, e.Sender.Rule = maker.Name, routeraudit.RuleLink
	}
	if err := outbox.PostTo(t, a.Elsewhere, &data.Accepted); err != nil {
		return "", err
	}
	return settle(routeroutbox.ActionAccepted, said)
}

// linked reads both sides of a link as they are now; nil: nobody.
func linked(t *database.Tx, p *approvals.Row, data *requestData) (maker, sender *core.Person, err error) {
	if maker, err = sessions.Person(t, data.Maker.Name); err != nil {
		return nil, nil, err
	}
	name, source := data.Sender.Name, ""
	if name == "" {
		if _, err := t.Row(ownerOf, []any{p.Identity}, &name, &source); err != nil {
			return nil, nil, err
		}
	}
	sender, err = sessions.Person(t, name)
	return maker, sender, err
}

// mayJoin says why somebody cannot become the maker of a code; empty: they can. A nil
// sender is a stranger.
func mayJoin(maker, sender *core.Person) intake.Outcome {
	switch {
	case sender == nil:
		return ""
	case sender.Name == maker.Name:
		return people.LinkSame
	case sender.Source == core.FromSettings:
		return people.LinkByFile
	case sender.Role == core.RoleAdmin && maker.Role != core.RoleAdmin:
		return people.LinkAdmin
	}
	return ""
}

// join makes an account, and the person that it was, another person. The sessions stay
// apart. What others may read of a group stays as it was said there.
func join(t *database.Tx, maker, former *core.Person, identity, by string) error {
	was := "a stranger"
	if former == nil {
		if err := t.Do(joinIdentity, identity, maker.Name, t.Now); err != nil {
			return err
		}
	} else {
		was = "person " + former.Name
		if err := JoinRows(t, maker.Name, former.Name); err != nil {
			return err
		}
	}
	return audit.Write(t, core.Actor{Person: by, Rule: routeraudit.RuleLink}, audit.Entry{
		Action: "person.join", Target: "person " + maker.Name, Outcome: "done", Data: map[string]any{"identity": identity, "was": was},
	})
}

// JoinRows gives all that is a person's to another one.
func JoinRows(t *database.Tx, maker, former string) error {
	ids, err := t.IDs(joinedSessions, former, former, former)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	for _, id := range ids {
		if _, found, err := sessions.Lock(t, id); err != nil {
			return err
		} else if !found {
			continue
		}
		if err := t.Run(
			database.Do(joinTurns, maker, id, former),
			database.Do(joinMessages, maker, maker, id, former),
			database.Do(joinActions, maker, id, former),
		); err != nil {
			return err
		}
	}
	if _, err := t.Each(joinPerson, []any{maker, former}); err != nil {
		return err
	}
	if err := memory.Join(t, maker, former); err != nil {
		return err
	}
	if err := t.Do(dropPerson, former); err != nil {
		return err
	}
	return money.JoinSpending(t, routermoney.SpentByPerson, maker, former)
}

const (
	identityLinked = `SELECT linked FROM identities WHERE identity = ? AND person = ?`
	dropOwn        = `DELETE FROM identities WHERE identity = ? AND person = ?`
	ownChats       = `
		SELECT s.id, c.channel, coalesce((SELECT m.identity` + outbox.TheirLast + `), '') AS identity
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id
		WHERE s.person = ? AND s.person <> '' AND c.kind = 'direct' ORDER BY s.id`
	leaveChat = `
		UPDATE sessions SET person = '', summary = '', summary_taint = '', instructions = '',
			reset_message = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0)
		WHERE id = ?`
)

// unlink takes identities off a person, who keeps one. Their direct chats are nobody's then, and
// forgotten: somebody else may speak there next.
func unlink(t *database.Tx, p *core.Person, c *people.Change) error {
	if len(p.Identities) <= len(c.Person.Identities) {
		return &core.StateError{Sentence: "That is your last account: without it nobody could be you any more. /link adds another."}
	}
	type chat struct {
		ID                int64
		Channel, Identity string
	}
	chats, err := database.Select[chat](t, ownChats, p.Name)
	if err != nil {
		return err
	}
	for _, id := range c.Person.Identities {
		var linked bool
		own, err := t.Row(identityLinked, []any{id, p.Name}, &linked)
		switch {
		case err != nil:
			return err
		case !own:
			return &core.StateError{Sentence: id + " is no account of yours. /unlink lists them."}
		case p.Source == core.FromSettings && !linked:
			return &core.StateError{Sentence: "My settings name " + id + " as yours, and decide: take it out there."}
		}
		if err := t.Do(dropOwn, id, p.Name); err != nil {
			return err
		}
		of, _, _ := strings.Cut(id, ":")
		for _, chat := range chats {
			kind, _, _ := strings.Cut(chat.Identity, ":")
			if (of != kind && of != chat.Channel) || core.PlainID(id) != core.PlainID(chat.Identity) {
				continue
			}
			if err := t.Run(database.Do(leaveChat, chat.ID), database.Do(approvals.RevokeSession, t.Now, chat.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}
