package people

import (
	"cmp"
	"context"
	"time"

	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	insertClaim = `INSERT INTO actions (code, kind, state, person, created_at, expires_at) VALUES (?, 'claim', 'proposed', ?, ?, ?)`
	openClaim   = `SELECT created_at, expires_at FROM actions WHERE session_id IS NULL AND kind = 'claim' AND state = 'proposed' AND expires_at > ? ORDER BY id DESC LIMIT 1`
	// Codes belong to no session, by which few rows are found among many.
	dropClaims   = `DELETE FROM actions WHERE session_id IS NULL AND kind = 'claim' AND expires_at <= ?`
	cancelClaims = `UPDATE actions SET state = 'cancelled', outcome = 'another' WHERE session_id IS NULL AND kind = 'claim' AND state = 'proposed'`
	// codeOf finds a code of a kind, or of any where that is empty.
	codeOf = `
		SELECT id, kind, state, person, coalesce(session_id, 0) AS session_id, created_at, expires_at FROM actions
		WHERE code = ? AND kind IN ('claim', 'link') AND (? = '' OR kind = ?)`
)

// OpenClaim is when the newest claim code that is still good was made, and until when it is; zero: there is
// none.
func (r *Store) OpenClaim(ctx context.Context) (made, until time.Time, err error) {
	_, err = r.ReadRow(ctx, "look for a claim code", openClaim, []any{r.Now()}, &made, &until)
	return made, until, err
}

// ProposeClaim stores a claim code, by its HashCode, that is good until then, and whose account its sender becomes;
// empty: a new admin's. Codes that are too old go.
func (r *Store) ProposeClaim(ctx context.Context, code []byte, person string, until time.Time, by core.Actor) error {
	return r.Write(ctx, database.Durable, "make a claim code", func(t *database.Tx) error {
		if err := t.Run(database.Do(dropClaims, t.Now), database.Do(insertClaim, code, database.Clean(person), t.Now, until)); err != nil {
			return err
		}
		return audit.Write(t, by, audit.Entry{Action: "claim.make", Outcome: "done", Data: map[string]any{"until": until.UTC()}})
	})
}

// A codeRow is a code that was made; ID 0: there is none.
type codeRow struct {
	ID, SessionID, CreatedAt, ExpiresAt int64
	Kind, Person                        string
	State                               routeroutbox.ActionState
}

// UseCode uses a code. It returns the entry with the person that the sender is then; a
// stranger for whom it does nothing stays none.
func UseCode(t *database.Tx, e *intake.Entry, as *people.CodeIntent, a *intake.Accepted) (*intake.Entry, error) {
	used := *e
	name := database.Clean(e.Sender.Person)
	if name == "" { // somebody may have named them meanwhile
		var source string
		if _, err := t.Row(ownerOf, []any{as.Identity}, &name, &source); err != nil {
			return nil, err
		}
	}
	person, err := sessions.Person(t, name)
	if err != nil {
		return nil, err
	}
	code, err := database.First[codeRow](t, t.Locked(codeOf), as.Code, as.Kind, as.Kind) // none of a question's code
	if err != nil {
		return nil, err
	}
	code = cmp.Or(code, &codeRow{Kind: as.Kind})
	used.Sender.Person = ""
	if person != nil {
		used.Sender.Person = person.Name
	}
	if as.Kind == routeroutbox.ActionApproval {
		return &used, answerLink(t, &used, as, a)
	} else if code.Kind == people.ActionLink {
		err = useLink(t, &used, person, code, as, a)
	} else {
		err = useClaim(t, &used, person, code, as, a)
	}
	if err != nil {
		return nil, err
	}
	if used.Sender.Person == "" && a.Outcome != people.LinkAsked {
		a.Outcome = ""
	}
	return &used, nil
}

// useClaim makes the sender an admin, or the admin who made the code, unless the settings name them. The other
// codes are good no more, as logs and terminals may show them still.
func useClaim(t *database.Tx, used *intake.Entry, person *core.Person, code *codeRow, as *people.CodeIntent, a *intake.Accepted) error {
	switch {
	case person != nil && person.Source == core.FromSettings:
		a.Outcome = people.ClaimByFile
	case code.ID == 0:
		a.Outcome = people.ClaimWrong
	case code.State != routeroutbox.ActionProposed:
		a.Outcome = people.ClaimUsed
	case code.ExpiresAt <= t.Now:
		a.Outcome = people.ClaimExpired
	case person != nil && person.Role == core.RoleAdmin:
		a.Outcome = people.ClaimNeedless
	default:
		name, err := claim(t, person, code, as)
		if err != nil {
			return err
		} else if name == "" {
			a.Outcome = people.ClaimWrong
			return nil
		}
		if err := t.Run(
			database.Do(outbox.SetAction, routeroutbox.ActionAccepted, "used", name, t.Now, code.ID),
			database.Do(cancelClaims),
		); err != nil {
			return err
		}
		a.Outcome, a.Admin, a.People = people.ClaimDone, name, code.Person != ""
		used.Sender.Person, used.Sender.Rule = name, routeraudit.RuleClaim
		return audit.Write(t, core.Actor{Person: name, Rule: routeraudit.RuleClaim}, audit.Entry{
			Action: "person.claim", Target: "person " + name, Outcome: "done", Data: map[string]any{"identity": used.Sender.Identity},
		})
	}
	return nil
}

// claim makes the sender an admin, or the person of the code, who has to be that admin still; empty: they are not.
func claim(t *database.Tx, sender *core.Person, code *codeRow, as *people.CodeIntent) (name string, err error) {
	if code.Person == "" {
		return letIn(t, sender, core.RoleAdmin, as.Identity, as.Name)
	}
	maker, err := sessions.Person(t, code.Person)
	if err != nil || maker == nil || maker.Role != core.RoleAdmin || database.Micros(maker.Since) > code.CreatedAt {
		return "", err
	}
	return maker.Name, join(t, maker, sender, as.Identity, maker.Name)
}

// AcceptStranger keeps what a stranger wrote, and says what the outcome asks for.
func AcceptStranger(t *database.Tx, e *intake.Entry, a *intake.Accepted, conversation int64, key string) (err error) {
	if a.MessageID, err = sessions.Incoming(t, e, string(intake.AuditStranger), conversation, 0); err != nil {
		return err
	}
	reply := e.Said(a)
	if reply == nil {
		return nil
	}
	return outbox.Post(t, conversation, key, reply)
}
