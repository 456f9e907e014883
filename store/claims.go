package store

import (
	"context"
	"time"

	"switchboard/router/ledger"
)

const (
	insertClaim = `INSERT INTO actions (code, kind, state, created_at, expires_at) VALUES (?, 'claim', 'proposed', ?, ?)`
	// Codes belong to no session, by which few rows are found among many.
	dropClaims   = `DELETE FROM actions WHERE session_id IS NULL AND kind = 'claim' AND expires_at <= ?`
	cancelClaims = `UPDATE actions SET state = 'cancelled', outcome = 'newer' WHERE session_id IS NULL AND kind = 'claim' AND state = 'proposed' AND id < ?`
	claimOf      = `SELECT id, state, expires_at FROM actions WHERE code = ? AND kind = 'claim'`
	insertAdmin  = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES (?, 'admin', '["*"]', '', 'local', ?, ?)
		ON CONFLICT (name) DO NOTHING RETURNING 1`
)

// ProposeClaim implements router.People. Codes that are too old go.
func (r *Router) ProposeClaim(ctx context.Context, code []byte, until time.Time, by ledger.Hand) error {
	return r.db.write(ctx, full, "make a claim code", func(t *tx) error {
		if _, err := t.Exec(dropClaims, t.now); err != nil {
			return err
		}
		if _, err := t.Exec(insertClaim, code, t.now, micros(until)); err != nil {
			return err
		}
		return t.audit(by, audited{action: "claim.make", outcome: "done", data: map[string]any{"until": until.UTC()}})
	})
}

// claimAdmin uses a claim code: its sender becomes an admin, unless the settings name them.
// Codes made before it are good no more, as logs and terminals may show them still.
// It returns the entry with the person that the sender is then; a stranger whom the code
// does not make an admin stays none.
func (t *tx) claimAdmin(e *ledger.Entry, as *ledger.AsClaim, a *ledger.Accepted) (*ledger.Entry, error) {
	claimed := *e
	name := clean(e.Sender.Person)
	if name == "" { // somebody may have named them meanwhile
		var source string
		if _, err := t.Row(ownerOf, []any{clean(as.Identity)}, &name, &source); err != nil {
			return nil, err
		}
	}
	person, err := t.person(name)
	if err != nil {
		return nil, err
	}
	var id, expires int64
	var state ledger.ActionState
	found, err := t.Row(t.Locked(claimOf), []any{as.Code}, &id, &state, &expires)
	if err != nil {
		return nil, err
	}
	switch {
	case person != nil && person.Source == ledger.FromSettings:
		a.Situation = ledger.ClaimByFile
	case !found:
		a.Situation = ledger.ClaimWrong
	case state != ledger.ActionProposed:
		a.Situation = ledger.ClaimUsed
	case expires <= t.now:
		a.Situation = ledger.ClaimExpired
	case person != nil && person.Role == ledger.RoleAdmin:
		a.Situation = ledger.ClaimNeedless
	default:
		if name, err = t.makeAdmin(person, as); err != nil {
			return nil, err
		}
		if _, err := t.Exec(setAction, string(ledger.ActionAccepted), "used", name, t.now, id); err != nil {
			return nil, err
		}
		if _, err := t.Exec(cancelClaims, id); err != nil {
			return nil, err
		}
		a.Situation, a.Admin = ledger.ClaimDone, name
		claimed.Sender.Rule = ledger.RuleClaim
		if err := t.audit(ledger.Hand{Person: name, Rule: ledger.RuleClaim}, audited{
			action: "person.claim", target: "person " + name, outcome: "done", data: map[string]any{"identity": e.Sender.Identity},
		}); err != nil {
			return nil, err
		}
	}
	if person == nil && a.Admin == "" {
		a.Situation = ""
		claimed.Sender.Person = ""
		return &claimed, nil
	}
	claimed.Sender.Person = name
	if reply := e.Replies[a.Situation]; reply != nil {
		reply.Person = name
	}
	return &claimed, nil
}

// makeAdmin makes somebody an admin, whom it makes a person where they are a stranger.
func (t *tx) makeAdmin(person *ledger.Person, as *ledger.AsClaim) (name string, err error) {
	if person != nil {
		_, err = t.Exec(setRole, ledger.RoleAdmin, t.now, person.Name)
		return person.Name, err
	}
	var one int
	made := false
	if name = clean(as.Name); name != "" {
		if made, err = t.Row(insertAdmin, []any{name, t.now, t.now}, &one); err != nil {
			return "", err
		}
	}
	if !made { // nobody else is called by an identity
		name = clean(as.Identity)
		if _, err = t.Exec(upsertPerson, name, ledger.RoleAdmin, `["*"]`, "", ledger.FromLocal, t.now, t.now); err != nil {
			return "", err
		}
	}
	_, err = t.Exec(moveIdentity, clean(as.Identity), name, t.now)
	return name, err
}
