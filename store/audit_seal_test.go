package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	routeraudit "switchboard/router/audit"
	"switchboard/router/intake"
	"switchboard/router/people"
	"switchboard/store/audit"
	"switchboard/store/storetest"
)

// seal is one round of the sealer.
func (h *house) seal() {
	h.Helper()
	h.Renew()
	if _, err := h.DB.SealAudit(h.Ctx, h.Owner()); err != nil {
		h.Fatal(err)
	}
}

// verified wants the audit log to be as it was sealed.
func (h *house) verified() audit.Verified {
	h.Helper()
	v, err := h.DB.VerifyAudit(h.Ctx, nil)
	if err != nil {
		h.Fatal(err)
	}
	return v
}

func (h *house) exported(f routeraudit.Filter) (list []*routeraudit.Record) {
	h.Helper()
	if err := h.DB.ExportAudit(h.Ctx, f, func(r *routeraudit.Record) error {
		list = append(list, r)
		return nil
	}); err != nil {
		h.Fatal(err)
	}
	return list
}

// changes writes n rows at once.
func (h *house) changes(n int) {
	h.Helper()
	for range n {
		if err := h.Router.ProposeClaim(h.Ctx, []byte(rand.N[time.Duration](1<<60).String()), "", time.Now().Add(time.Hour), people.LocalActor("owner")); err != nil {
			h.Fatal(err)
		}
	}
}

func TestEndedTurnsAndStrangersAreTakenIntoTheAuditOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.WholeTurn("c1", "1")
		open := h.Begun("c2", "2")
		h.Accept(storetest.Stranger("c9", "eve"))
		for range 3 {
			h.seal()
		}
		turns := h.exported(routeraudit.Filter{Kind: "turn"})
		if len(turns) != 1 || turns[0].Turn != ref.TurnID || turns[0].Person != "marco" || turns[0].Outcome != "done" || turns[0].Why != "answered" ||
			!strings.Contains(string(turns[0].Data), `"tools":[{"tool":"exec","outcome":"ok","n":1}]`) {
			t.Fatalf("%+v", turns)
		}
		if list := h.exported(routeraudit.Filter{Kind: "message.refused"}); len(list) != 1 || list[0].Person != "" || list[0].Target == "" {
			t.Errorf("%+v", list)
		}
		h.Commit(open, storetest.End("failed", "model"))
		h.Later(2 * storetest.Day) // a sweep takes what the sealer did not
		h.Sweep(storetest.KeepADay)
		if list := h.exported(routeraudit.Filter{Kind: "turn", Turn: open.TurnID}); len(list) != 1 || list[0].Outcome != "failed" {
			t.Errorf("%+v", list)
		}
		if got := h.Counts("turns"); got != "turns 0\n" {
			t.Error(got)
		}
		h.seal()
		if n := len(h.exported(routeraudit.Filter{})); n != 3 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestEveryChangeByHandIsFound(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.WholeTurn("c1", "1")
		for i := range 3 {
			h.changes(2)
			h.Later(time.Duration(i+1) * time.Hour)
			h.seal()
		}
		if v := h.verified(); v.Segments != 3 || v.Rows != 7 || v.To.Sub(v.From) != 3*time.Hour || v.Open != 0 {
			t.Fatalf("%+v", v)
		}
		fails := func(what, segment string) {
			t.Helper()
			_, err := h.DB.VerifyAudit(h.Ctx, nil)
			if tampered, ok := errors.AsType[*audit.TamperedError](err); !ok || !strings.Contains(err.Error(), "segment "+segment) {
				t.Errorf("%s: %v, %+v", what, err, tampered)
			}
		}
		change := func(what, segment, do, undo string) {
			t.Helper()
			h.Exec(do)
			fails(what, segment)
			h.Exec(undo)
			if _, err := h.DB.VerifyAudit(h.Ctx, nil); err != nil {
				t.Fatalf("%s, put back: %v", what, err)
			}
		}
		for _, column := range []string{"person", "action", "target", "rule", "outcome", "why", "data"} {
			change(column, "2", "UPDATE audit SET "+column+" = "+column+" || 'x' WHERE id = 4",
				"UPDATE audit SET "+column+" = substr("+column+", 1, length("+column+") - 1) WHERE id = 4")
		}
		for _, column := range []string{"cost", "created_at"} {
			change(column, "2", "UPDATE audit SET "+column+" = "+column+" + 1 WHERE id = 4", "UPDATE audit SET "+column+" = "+column+" - 1 WHERE id = 4")
		}
		for _, column := range []string{"session_id", "turn_id"} {
			change(column, "2", "UPDATE audit SET "+column+" = 9 WHERE id = 4", "UPDATE audit SET "+column+" = NULL WHERE id = 4")
		}
		change("a row elsewhere", "2", "UPDATE audit SET id = 100 WHERE id = 4", "UPDATE audit SET id = 4 WHERE id = 100")
		change("a row before all", "1", "UPDATE audit SET id = -1 WHERE id = 1", "UPDATE audit SET id = 1 WHERE id = -1")
		change("a row more before all", "1", "INSERT INTO audit (id, action, created_at) VALUES (0, 'x', 1)", "DELETE FROM audit WHERE id = 0")
		for _, column := range []string{"hour", "first_id", "last_id", "row_count", "sealed_at"} {
			change("segments."+column, "2", "UPDATE audit_segments SET "+column+" = "+column+" + 1 WHERE id = 2", "UPDATE audit_segments SET "+column+" = "+column+" - 1 WHERE id = 2")
		}
		for _, column := range []string{"digest", "previous", "hash"} {
			change("segments."+column, "2", "UPDATE audit_segments SET "+column+" = (SELECT s.hash FROM audit_segments s WHERE s.id = 3) WHERE id = 2",
				"UPDATE audit_segments SET "+column+" = "+h.column(column)+" WHERE id = 2")
		}
		change("cleared away by hand", "2", "UPDATE audit_segments SET pruned = TRUE WHERE id = 2", "UPDATE audit_segments SET pruned = FALSE WHERE id = 2")
		h.Exec("UPDATE audit_segments SET id = 9 WHERE id = 2")
		fails("a segment removed", "2")
		h.Exec("UPDATE audit_segments SET id = 2 WHERE id = 9")
		h.Exec("DELETE FROM audit WHERE id = 4")
		fails("a row removed", "2")
	})
}

// Who can write to the database may cut off the end of the log, and seal it again by the rules: a hash
// that was kept elsewhere shows it.
func TestEndThatIsCutOffIsFoundByAHash(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if seal, err := h.DB.LastSeal(h.Ctx); seal != nil || err != nil {
			t.Errorf("before the first seal: %x, %v", seal, err)
		}
		var seals [][]byte
		for i := range 3 {
			h.changes(2)
			h.Later(time.Duration(i+1) * time.Hour)
			h.seal()
			seal, err := h.DB.LastSeal(h.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			seals = append(seals, seal)
		}
		for _, seal := range seals {
			if _, err := h.DB.VerifyAudit(h.Ctx, seal); err != nil {
				t.Error(err)
			}
		}
		h.Exec("DELETE FROM audit WHERE id > 4", "DELETE FROM audit_segments WHERE id > 2")
		h.verified()
		if _, err := h.DB.VerifyAudit(h.Ctx, seals[1]); err != nil {
			t.Error(err)
		}
		h.changes(2)
		h.Later(4 * time.Hour)
		h.seal()
		_, err := h.DB.VerifyAudit(h.Ctx, seals[2])
		if _, ok := errors.AsType[*audit.TamperedError](err); !ok || !strings.Contains(err.Error(), fmt.Sprintf("%x", seals[2])) {
			t.Errorf("an end that was sealed again: %v", err)
		}
		h.Later(10 * storetest.Day)
		keep := storetest.KeepADay
		keep.Audit = storetest.Day
		h.Sweep(keep)
		if last, err := h.DB.LastSeal(h.Ctx); err != nil || last == nil {
			t.Errorf("once all is cleared away: %x, %v", last, err)
		} else if _, err := h.DB.VerifyAudit(h.Ctx, last); err != nil {
			t.Error(err)
		}
	})
}

// column is a column of segment 2, as a literal.
func (h *house) column(name string) string {
	h.Helper()
	var value []byte
	if err := storetest.Scan(h.Ctx, h.DB, "SELECT "+name+" FROM audit_segments WHERE id = 2", &value); err != nil {
		h.Fatal(err)
	}
	if h.DB.Kind() == "postgres" {
		return fmt.Sprintf(`decode('%x', 'hex')`, value)
	}
	return fmt.Sprintf("x'%x'", value)
}

// Rows, kills of the sealer at each of its steps, and clearing away, in any order: nothing
// is lost or there twice, and all of it is proven.
func TestSealsHoldThroughKillsAndClearing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		keep := storetest.KeepADay
		keep.Turns, keep.Audit = 400*storetest.Day, 5*time.Hour
		die := func(string) error {
			if rand.N(3) == 0 {
				return storetest.ErrKilled
			}
			return nil
		}
		hours, written, turns := 0, 0, 0
		for range 40 {
			switch n := rand.N(5); n {
			case 0, 1:
				h.changes(n + 1)
				written += n + 1
			case 2:
				turns++
				h.WholeTurn("c", fmt.Sprint(turns))
			case 3:
				hours++
				h.Later(time.Duration(hours) * time.Hour)
				h.Renew()
				h.DB.OnSealStep(die)
				if _, err := h.DB.SealAudit(h.Ctx, h.Owner()); err != nil && !errors.Is(err, storetest.ErrKilled) {
					t.Fatal(err)
				}
			case 4:
				h.Renew()
				h.DB.OnSealStep(die)
				if _, err := h.DB.Retain(h.Ctx, h.Owner(), keep); err != nil && !errors.Is(err, storetest.ErrKilled) {
					t.Fatal(err)
				}
			}
			h.verified()
		}
		h.DB.OnSealStep(nil)
		h.Later(time.Duration(hours+1) * time.Hour)
		h.seal()
		if v := h.verified(); v.Open != 0 && v.Segments == 0 {
			t.Errorf("%+v", v)
		}
		h.WantCount(turns, "SELECT count(*) FROM turns WHERE audited = TRUE")
		h.Later(time.Duration(hours+20) * time.Hour)
		h.Sweep(keep)
		v := h.verified()
		if v.Segments != 0 || v.Pruned == 0 && written+turns > 0 {
			t.Errorf("after all was cleared away: %+v", v)
		}
		h.WantCount(1, "SELECT count(*) FROM audit_segments")
	})
}

// A row whose transaction is slow has a number below others that are sealed: the sealer
// waits for it.
func TestASlowTransactionIsWaitedFor(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	h := newHouse(t, storetest.Opened(t, url, "", quiet))
	h.changes(1)
	slow, err := storetest.OpenTransaction(h.Ctx, h.DB, "INSERT INTO audit (action, created_at) VALUES ('slow', 1)")
	if err != nil {
		t.Fatal(err)
	}
	h.changes(1)
	h.Later(time.Hour)
	h.Renew()
	if _, err := h.DB.SealAudit(h.Ctx, h.Owner()); err == nil {
		t.Error("it was sealed beside a transaction that can still commit")
	}
	if v := h.verified(); v.Segments != 0 {
		t.Errorf("%+v", v)
	}
	if err := slow(); err != nil {
		t.Fatal(err)
	}
	h.seal()
	if v := h.verified(); v.Segments != 1 || v.Rows != 3 {
		t.Errorf("%+v", v)
	}
}

func TestAMergedSessionLeavesTheAuditLogAsItIs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.WholeTurn("young", "1")
		h.WholeTurn("elder", "2")
		h.Later(time.Hour)
		h.seal()
		e := storetest.Entry("young", "moved", "")
		e.Intent, e.Event.Kind, e.Event.Former = &intake.NewsIntent{}, channels.EventMoved, "elder"
		h.Accept(e)
		h.verified()
	})
}
