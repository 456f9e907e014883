package approvals

import (
	"context"
	"fmt"

	"switchboard/router/approvals"
	"switchboard/router/intake"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	listGrants = `
		SELECT a.id, a.person, a.tool, a.shown, a.scope, a.decided_by AS by, a.decided_at AS at, coalesce(s.key, '') AS session
		FROM approvals a LEFT JOIN sessions s ON s.id = a.session_id
		WHERE a.scope IN ('session', 'always') AND a.state = 'accepted' AND a.revoked_at IS NULL AND (? OR a.person = ?) ORDER BY a.id`
	revokeGrant = `
		UPDATE approvals SET revoked_at = ? WHERE id = ? AND scope IN ('session', 'always') AND revoked_at IS NULL AND (? OR person = ?)`
)

// Grants lists what is granted to person, or to anybody, the oldest first.
func (r *Store) Grants(ctx context.Context, person string, any bool) ([]approvals.Grant, error) {
	return database.List[approvals.Grant](ctx, r.DB, "list grants", listGrants, any, person)
}

// Revoke takes a grant back.
func Revoke(t *database.Tx, e *intake.Entry, as *approvals.RevokeIntent, a *intake.Accepted, conversation int64) error {
	n, err := t.Exec(revokeGrant, t.Now, as.Grant, as.AnyPerson, e.Sender.Person)
	if err != nil {
		return err
	}
	outcome := approvals.GrantUnknown
	if n > 0 {
		outcome = approvals.GrantRevoked
		if err := audit.Write(t, audit.ApproverOf(e), audit.Entry{
			Action: "grant.revoke", Target: fmt.Sprintf("grant %d", as.Grant), Outcome: "done",
		}); err != nil {
			return err
		}
	}
	return outbox.Say(t, e, a, conversation, sessions.ClassControl, outcome)
}
