package people

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	pairingsOpen  = 3 // of a channel
	pairingEvery  = time.Minute
	pairingDenied = 24 * time.Hour
	// requestsLive is for how long it is known who asked; it is longer than all of the above.
	requestsLive = 48 * time.Hour

	// lockPairing lets one transaction at a time count what is open.
	lockPairing = `SELECT pg_advisory_xact_lock(CAST(CAST(CAST('approvals' AS regclass) AS oid) AS bigint))`
	pairingsNow = `
		SELECT coalesce(sum(CASE WHEN state = 'proposed' AND expires_at > ? THEN 1 ELSE 0 END), 0), coalesce(max(created_at), 0)
		FROM approvals WHERE kind = 'pairing' AND channel = ? AND channel <> ''`
	pairingOf = `
		SELECT 1 FROM approvals WHERE identity = ? AND identity <> '' AND kind = 'pairing'
		AND (state = 'proposed' AND expires_at > ? OR state = 'rejected' AND decided_at > ?) LIMIT 1`
	openPairings  = `SELECT id, identity, expires_at FROM approvals WHERE kind = 'pairing' AND state = 'proposed' AND expires_at > ? ORDER BY id`
	insertRequest = `
		INSERT INTO approvals (kind, state, person, channel, identity, rule, data, created_at, expires_at)
		VALUES (?, 'proposed', ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	insertPairing = `
		INSERT INTO actions (code, kind, state, approval_id, created_at, expires_at) VALUES (?, 'pairing', 'proposed', ?, ?, ?)`
	oldRequests = `
		SELECT id FROM approvals WHERE kind = ? AND channel = ? AND channel <> '' AND created_at < ? AND state <> 'proposed' LIMIT 100`
	dropRequestActions = `DELETE FROM actions WHERE approval_id = ?`
	dropRequest        = `DELETE FROM approvals WHERE id = ?`
)

// requestData is what is kept of a request besides columns.
type requestData struct {
	At       channels.Conversation // where whoever asks waits for the answer
	Name     string
	Accepted routeroutbox.Reply
	// Of a link: both sides, where its code was made, what is said there, and which side has confirmed
	// it: "maker" or "sender"; empty: none.
	Sender    linkSide
	Maker     linkSide
	MadeAt    channels.Conversation
	Joined    routeroutbox.Reply
	Confirmed string
}

// Pairings lists the strangers of whom admins are asked now, the first first.
func (r *Store) Pairings(ctx context.Context) ([]people.Pairing, error) {
	return database.List[people.Pairing](ctx, r.DB, "list who asks to be let in", openPairings, r.Now())
}

// AskPairing asks the admins to let a stranger in, where that is due.
func AskPairing(t *database.Tx, e *intake.Entry, as *people.PairingIntent, a *intake.Accepted) error {
	if err := t.Shut(lockPairing); err != nil {
		return err
	}
	var open int
	var last int64
	if _, err := t.Row(pairingsNow, []any{t.Now, e.Event.Conversation.Channel}, &open, &last); err != nil {
		return err
	}
	if open >= pairingsOpen || t.Now-last < pairingEvery.Microseconds() {
		a.Full = true
		return nil
	}
	var name, source string
	if found, err := t.Has(pairingOf, as.Identity, t.Now, t.Now-pairingDenied.Microseconds()); err != nil || found {
		return err
	}
	if owned, err := t.Row(ownerOf, []any{as.Identity}, &name, &source); err != nil || owned && source != core.FromOpen {
		return err // named meanwhile
	}
	a.Outcome = people.PairingAsked
	id, err := request(t, routeroutbox.ApprovalPairing, "", e, requestData{Name: as.Name}, as.Identity, as.Request)
	if err == nil {
		err = t.Do(insertPairing, as.Request.Code, id, t.Now, as.Request.ExpiresAt)
	}
	return err
}

// request stores a request and asks its questions. Old ones of its kind go.
func request(t *database.Tx, kind routeroutbox.ApprovalKind, person string, e *intake.Entry, data requestData, identity string, r *people.Request) (id int64, err error) {
	channel := database.Clean(e.Event.Conversation.Channel)
	old, err := t.IDs(oldRequests, kind, channel, t.Now-requestsLive.Microseconds())
	if err != nil {
		return 0, err
	}
	for _, id := range old {
		if _, err := t.Each([]string{dropRequestActions, dropRequest}, []any{id}); err != nil {
			return 0, err
		}
	}
	data.At, data.Accepted = sessions.CleanConversation(e.Event.Conversation), r.Accepted
	if id, err = t.Insert(insertRequest, kind, person, channel, identity, e.Sender.Rule, database.JSONText(data), t.Now, r.ExpiresAt); err != nil {
		return 0, err
	}
	if err := audit.Write(t, core.Actor{Person: database.Clean(person), Rule: e.Sender.Rule}, audit.Entry{
		Action: string(kind) + ".ask", Target: fmt.Sprintf("approval %d", id), Outcome: "asked",
		Data: map[string]any{"identity": database.Clean(identity), "channel": channel},
	}); err != nil {
		return 0, err
	}
	for i := range r.Questions {
		if err := approvals.Ask(t, core.TurnRef{}, 0, id, &r.Questions[i]); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// GrantRequest lets a stranger in, and tells them. The state is cancelled where it cannot be done
// any more. Called is what a stranger is to be called; empty: as they call themselves.
func GrantRequest(t *database.Tx, p *approvals.Row, called string, a *intake.Accepted) (routeroutbox.ActionState, error) {
	var data requestData
	if err := p.Stored(&data); err != nil {
		return "", err
	}
	var name, source string
	if _, err := t.Row(ownerOf, []any{p.Identity}, &name, &source); err != nil {
		return "", err
	}
	person, err := sessions.Person(t, name)
	if err != nil {
		return "", err
	}
	if person != nil && person.Source != core.FromOpen { // they are in by another way
		return routeroutbox.ActionCancelled, nil
	}
	if a.Admitted, err = letIn(t, person, core.RoleUser, p.Identity, cmp.Or(called, data.Name)); err != nil {
		return "", err
	}
	a.People, a.Elsewhere = true, data.At
	return routeroutbox.ActionAccepted, outbox.PostTo(t, data.At, &data.Accepted)
}
