package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/scheduler"
)

// sessionColumns are where a session keeps what it has of its own.
var sessionColumns = map[ledger.SessionSetting]string{
	ledger.SessionMode: "mode", ledger.SessionModel: "model", ledger.SessionLanguage: "language", ledger.SessionTimeZone: "timezone",
}

const (
	sessionHas = `SELECT id, %s FROM sessions WHERE key = ?`
	ownSession = `SELECT mode, model, language, timezone FROM sessions WHERE key = ?`
	setZone    = `UPDATE people SET timezone = ? WHERE name = ?`
	setSession = `UPDATE sessions SET %s = ? WHERE id = ?`
)

// changeSession sets something of a session. ErrNotFound: nobody spoke there yet.
func (t *tx) changeSession(c *ledger.SessionChange) (a audited, err error) {
	column, known := sessionColumns[c.Of]
	if !known {
		return a, fmt.Errorf("a session has no %q of its own", c.Of)
	}
	place, found, err := t.find(cleanConversation(c.Conversation))
	if err == nil && found {
		found, err = t.Row(t.Locked(fmt.Sprintf(sessionHas, column)), []any{place.key}, &a.session, &c.Was)
	}
	if err == nil && !found {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return a, err
	}
	if !c.Aside {
		if _, err := t.Exec(fmt.Sprintf(setSession, column), clean(c.To), a.session); err != nil {
			return a, err
		}
	}
	if c.Of == ledger.SessionTimeZone && c.Person != "" && c.To != "" {
		if err := t.moveTo(c); err != nil {
			return a, err
		}
	}
	a.outcome, a.data = "done", map[string]any{"was": c.Was, "now": c.To}
	return a, nil
}

// moveTo moves the jobs of somebody whose zone nobody said to the one that was told now, which is theirs from then on. One that would be over there is
// due at once.
func (t *tx) moveTo(c *ledger.SessionChange) error {
	ids, err := t.ids(assumedJobs, clean(c.Person))
	if err != nil || len(ids) == 0 {
		return err
	}
	if _, err := t.Exec(setZone, clean(c.To), clean(c.Person)); err != nil {
		return err
	}
	if _, err := t.lockJobs(ids); err != nil {
		return err
	}
	for _, id := range ids {
		job, err := t.job(oneJob, id, "")
		if err == nil {
			err = job.Spec.Move(c.To)
		}
		if err != nil {
			return err
		}
		if job.State == scheduler.JobActive {
			err = t.arm(job)
			if errors.Is(err, noneLeft) && job.Spec.At != "" {
				job.Spec.At = t.at().Add(time.Second).UTC().Format(time.RFC3339)
				err = t.arm(job)
			}
		}
		if err == nil {
			err = t.saved(job, nil)
		}
		if err != nil {
			return err
		}
	}
	c.Moved = ids
	return nil
}

// Session implements router.Views.
func (r *Router) Session(ctx context.Context, conv channels.Conversation) (own ledger.Session, err error) {
	conv = cleanConversation(conv)
	err = r.db.read(ctx, "read a session", func(t *tx) error {
		_, err := t.Row(ownSession, []any{sessionKey(conv.Channel, conv.ID)}, &own.Mode, &own.Model, &own.Language, &own.TimeZone)
		return err
	})
	return own, err
}
