package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/storetest"
)

// allowed parks a new turn in conv, which is decided, and returns it running again with its
// approval.
func (h *house) allowed(conv, key string, does outbox.Does) (core.TurnRef, int64) {
	h.Helper()
	h.root()
	ref := h.Begun(conv, key)
	h.park(ref, conv)
	a := h.Accept(decides(ref.TurnID, conv, does))[0]
	if a.Decided != ref.TurnID {
		h.Fatalf("%+v", a)
	}
	return h.Claim(1)[0].TurnRef, a.Approval
}

func starts(use *agent.Use) agent.Step {
	return agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning, AllowedBy: "approval.once", Use: use}}}
}

// An approval is good for an hour, and until its question's deadline; then it is asked again.
func TestApprovalGoesStale(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref, id := h.allowed("c", "1", outbox.DoesOnce)
		for _, c := range []struct {
			set  string
			good bool
		}{
			{"expires_at = 1", true},                                // decided a moment ago
			{"decided_at = 1, expires_at = 9000000000000000", true}, // the deadline is to come
			{"decided_at = 1, expires_at = 1", false},
		} {
			run(t, h.DB, "UPDATE approvals SET "+c.set)
			if got, err := h.Router.Approval(h.Ctx, ref, "marco", *parks().Ask); err != nil || (got.ID == id) != c.good {
				t.Errorf("%s: %+v, %v", c.set, got, err)
			}
		}
	})
}

// Of one person only so many questions are open.
func TestQuestionsOfAPersonAreBounded(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		ask := func(conv string) error {
			ref := h.Begun(conv, conv)
			bounded := asked(ref.TurnID, conv)
			bounded.MostOpen = 2
			_, err := h.Router.Ask(h.Ctx, ref, parks(), bounded)
			return err
		}
		if err := errors.Join(ask("c1"), ask("c2")); err != nil {
			t.Fatal(err)
		}
		if err := ask("c3"); !errors.Is(err, core.ErrTooManyAsked) {
			t.Errorf("the third: %v", err)
		}
		h.wantCount(2, "SELECT count(*) FROM approvals")
		h.wantCount(1, "SELECT count(*) FROM turns WHERE state = 'running'")
		h.Accept(decides(1, "c1", outbox.DoesDeny))
		if err := ask("c4"); err != nil {
			t.Errorf("after one was decided: %v", err)
		}
	})
}

func TestApprovalIsUsedOnceForWhatWasShown(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref, id := h.allowed("c", "1", outbox.DoesOnce)
		other, _ := h.allowed("d", "2", outbox.DoesOnce)
		for name, c := range map[string]struct {
			ref core.TurnRef
			use agent.Use
		}{
			"other arguments":  {ref, agent.Use{Approval: id, Hash: []byte("false")}},
			"another turn":     {other, agent.Use{Approval: id, Hash: []byte("true")}},
			"no such approval": {ref, agent.Use{Approval: 999, Hash: []byte("true")}},
			"as a grant":       {ref, agent.Use{Approval: id, Hash: []byte("true"), Grant: true}},
		} {
			if _, err := h.Router.Commit(h.Ctx, c.ref, starts(&c.use), nil); !errors.Is(err, core.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		h.Commit(ref, starts(&agent.Use{Approval: id, Hash: []byte("true")}))
		if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "root", Role: "user"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Router.Commit(h.Ctx, other, starts(&agent.Use{Approval: id + 1, Hash: []byte("true")}), nil); !errors.Is(err, core.ErrConflict) {
			t.Errorf("who allowed it is no admin any more: %v", err)
		}
		if got, err := h.Router.Approval(h.Ctx, other, "marco", *parks().Ask); err != nil || got.State != "cancelled" {
			t.Errorf("who allowed it is no admin any more: %+v, %v", got, err)
		}
		h.wantCount(1, "SELECT count(*) FROM approvals WHERE used_at > 0")
		h.wantCount(1, "SELECT count(*) FROM tasks WHERE state = 'running'")
		if got, err := h.Router.Approval(h.Ctx, ref, "marco", *parks().Ask); err != nil || got.ID != 0 {
			t.Errorf("an approval that was used up is found: %+v, %v", got, err)
		}
		again := agent.Step{
			Calls: []agent.Call{{Step: "plan.1.0", Role: "planner"}},
			Plan:  &agent.PlanRow{Attempt: 1, Goal: "again", Tasks: parks().Plan.Tasks},
		}
		h.Commit(ref, again)
		use := starts(&agent.Use{Approval: id, Hash: []byte("true")})
		use.Tasks[0].Attempt = 1
		if _, err := h.Router.Commit(h.Ctx, ref, use, nil); !errors.Is(err, core.ErrConflict) {
			t.Errorf("used twice: %v", err)
		}
	})
}

func TestGrantIsExact(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		_, session := h.allowed("c", "1", outbox.DoesSession)
		later := h.Begun("d", "2")
		ask := *parks().Ask
		look := func(ref core.TurnRef, person string, ask agent.Ask) int64 {
			t.Helper()
			ask.Position = 7 // of another task
			got, err := h.Router.Approval(h.Ctx, ref, person, ask)
			if err != nil || got.ID != 0 && (!got.Grant || got.State != agent.Accepted) {
				t.Errorf("%+v, %v", got, err)
			}
			return got.ID
		}
		here := core.TurnRef{TurnID: later.TurnID, SessionID: 1}
		if got := look(here, "marco", ask); got != session {
			t.Errorf("in its session: %d", got)
		}
		if got := look(later, "marco", ask); got != 0 {
			t.Errorf("in another session: %d", got)
		}
		_, always := h.allowed("e", "3", outbox.DoesAlways)
		if got := look(later, "marco", ask); got != always {
			t.Errorf("everywhere: %d", got)
		}
		changed, tainted := ask, ask
		changed.Hash, tainted.Taint = []byte("false"), "web"
		for name, got := range map[string]int64{
			"of another person": look(later, "anna", ask), "for other arguments": look(later, "marco", changed), "in a tainted turn": look(later, "marco", tainted),
		} {
			if got != 0 {
				t.Errorf("%s: %d", name, got)
			}
		}
		plan := parks()
		h.Commit(later, agent.Step{Calls: plan.Calls, Plan: plan.Plan})
		use := starts(&agent.Use{Approval: always, Hash: ask.Hash, Grant: true})
		h.Commit(later, use)
		revoke := entry("c", "9", "/grants remove")
		revoke.Sender.Person, revoke.Intent = "root", &approvals.RevokeIntent{Grant: session, AnyPerson: true}
		revoke.Say = says(map[intake.Outcome]*outbox.Reply{approvals.GrantRevoked: nil})
		if list, err := h.Router.Grants(h.Ctx, "marco", false); err != nil || len(list) != 2 || list[0].ID != session || list[0].Session != "tg:c" {
			t.Errorf("%+v, %v", list, err)
		}
		h.Accept(revoke)
		if list, err := h.Router.Grants(h.Ctx, "marco", false); err != nil || len(list) != 1 || list[0].ID != always {
			t.Errorf("one was taken back: %+v, %v", list, err)
		}
		h.Commit(later, agent.Step{
			Calls: []agent.Call{{Step: "plan.1.0", Role: "planner"}},
			Plan:  &agent.PlanRow{Attempt: 1, Goal: "again", Tasks: plan.Plan.Tasks},
		})
		use.Tasks[0].Attempt = 1
		if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "root", Role: "user"}}); err != nil {
			t.Fatal(err)
		}
		for _, now := range []string{"is no admin any more", "was made an admin again"} {
			if _, err := h.Router.Commit(h.Ctx, later, use, nil); !errors.Is(err, core.ErrConflict) {
				t.Errorf("who gave it %s: %v", now, err)
			}
			h.root()
		}
		if got := look(later, "marco", ask); got != 0 {
			t.Errorf("it came back with the role: %d", got)
		}
		h.allowed("f", "4", outbox.DoesAlways)
		run(t, h.DB, "UPDATE people SET source = 'local' WHERE name = 'root'")
		for _, role := range []string{"user", "admin"} {
			if err := h.Router.Change(h.Ctx, change(people.ChangeRole, "root", role), people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
		}
		if got := look(later, "marco", ask); got != 0 {
			t.Errorf("it came back with the role given at run time: %d", got)
		}
	})
}

// Two who decide at once, a decision and a cancel, a decision and the deadline: one counts.
func TestOneDecisionCounts(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		for i := range 8 {
			conv := fmt.Sprint("c", i)
			ref := h.Begun(conv, conv)
			h.park(ref, conv)
			var all sync.WaitGroup
			var mu sync.Mutex
			counted := 0
			for _, does := range []outbox.Does{outbox.DoesOnce, outbox.DoesDeny, outbox.DoesAlways} {
				all.Go(func() {
					out, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{decides(ref.TurnID, conv, does)})
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					} else if out[0].Decided != 0 {
						counted++
					}
				})
			}
			all.Go(func() {
				_, err := h.Router.Cancel(h.Ctx, ref.TurnID, people.LocalActor("owner"))
				mu.Lock()
				defer mu.Unlock()
				if ended := (*core.StateError)(nil); err != nil && !errors.As(err, &ended) {
					t.Error(err)
				}
			})
			all.Wait()
			if counted > 1 {
				t.Errorf("%d decisions counted", counted)
			}
		}
		h.wantCount(0, "SELECT count(*) FROM approvals WHERE state = 'proposed'")
		h.wantCount(0, "SELECT count(*) FROM actions WHERE state = 'proposed'")
		h.wantCount(0, "SELECT count(*) FROM turns WHERE state = 'waiting'")
	})
}

// A question that is shown after it was answered is told what was decided, but not while what
// it asks is open: the other side of a link has yet to confirm it.
func TestAnswersKnownBeforeTheQuestionIsShown(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		ref := h.Begun("c", "asks")
		h.park(ref, "c")
		message, err := storetest.Count(h.Ctx, h.DB, "SELECT max(message_id) FROM actions WHERE approval_id IS NOT NULL")
		if err != nil {
			t.Fatal(err)
		}
		wantAnswered := func(wantOver bool, wantApproval int64) {
			t.Helper()
			over, approval, err := h.Router.Answered(h.Ctx, message)
			if err != nil || over != wantOver || approval != wantApproval {
				t.Errorf("over %v, approval %d, %v; want %v and %d", over, approval, err, wantOver, wantApproval)
			}
		}
		wantAnswered(false, 0)
		h.write("UPDATE actions SET state = 'accepted' WHERE state = 'proposed'")
		wantAnswered(true, 0)
		h.write("UPDATE actions SET state = 'proposed' WHERE state = 'accepted'")
		wantAnswered(true, h.Accept(decides(ref.TurnID, "c", outbox.DoesOnce))[0].Approval)
	})
}

func TestOverdueApprovalsExpire(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		now := time.Now()
		h.DB.SetNow(func() time.Time { return now })
		ref := h.Begun("c", "1")
		h.park(ref, "c")
		if list, next, err := h.Router.ExpireApprovals(h.Ctx); err != nil || len(list) != 0 || next.Before(now.Add(23*time.Hour)) {
			t.Errorf("%v, %v, %v", list, next, err)
		}
		now = now.Add(25 * time.Hour)
		h.root()
		if a := h.Accept(decides(ref.TurnID, "c", outbox.DoesOnce))[0]; a.Action != outbox.ActionExpired || a.Decided != ref.TurnID || a.Outcome != approvals.Over {
			t.Errorf("too late: %+v", a)
		}
		if list, next, err := h.Router.ExpireApprovals(h.Ctx); err != nil || len(list) != 0 || !next.IsZero() {
			t.Errorf("%v, %v, %v", list, next, err)
		}
		ref = h.Claim(1)[0].TurnRef
		if got, err := h.Router.Approval(h.Ctx, ref, "marco", *parks().Ask); err != nil || got.State != agent.Expired {
			t.Errorf("%+v, %v", got, err)
		}
		step := parks()
		step.Plan, step.Calls = nil, nil
		step.Ask.Taint = tools.Others
		again := asked(ref.TurnID+1000, "c")
		again.ExpiresAt = now.Add(time.Minute)
		if _, err := h.Router.Ask(h.Ctx, ref, step, again); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
		if list, _, err := h.Router.ExpireApprovals(h.Ctx); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if list := h.Claim(9); len(list) != 1 || list[0].TurnID != ref.TurnID {
			t.Errorf("claimed %+v", list)
		}
	})
}

// Who is removed takes along what they granted: somebody else may be called so one day. While somebody is
// away it allows nothing.
func TestGrantsEndWithWhoGaveThem(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		h.allowed("c", "1", outbox.DoesAlways)
		later := h.Begun("d", "2")
		good := func(want bool, when string) {
			t.Helper()
			if got, err := h.Router.Approval(h.Ctx, later, "marco", *parks().Ask); err != nil || (got.ID != 0) != want {
				t.Errorf("%s: %+v, %v", when, got, err)
			}
		}
		good(true, "given")
		if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "marco", Role: "user"}}); err != nil {
			t.Fatal(err)
		}
		good(false, "away")
		h.root()
		good(true, "back")
		if err := h.Router.Change(h.Ctx, &people.Change{Kind: people.ChangeRemove, Person: core.Person{Name: "root"}, NotInFile: true}, core.Actor{}); err != nil {
			t.Fatal(err)
		}
		h.root()
		good(false, "removed")
	})
}

// What may load files is allowed once, whatever is typed or pressed, and no grant covers it.
func TestWhatLoadsFilesIsAllowedOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.root()
		h.allowed("c", "1", outbox.DoesAlways)
		ref := h.Begun("d", "2")
		step, question := parks(), asked(ref.TurnID, "d")
		step.Ask.Loads = &tools.Loaded{}
		button := func(does outbox.Does) []byte { return outbox.HashCode("forged " + string(does)) }
		for _, does := range []outbox.Does{outbox.DoesSession, outbox.DoesAlways} { // no question has these
			question.Questions[0].Reply.Actions = append(question.Questions[0].Reply.Actions, outbox.Action{Code: button(does), Kind: outbox.ActionApproval, Does: does})
		}
		if got, err := h.Router.Approval(h.Ctx, ref, "marco", *step.Ask); err != nil || got.ID != 0 {
			t.Errorf("a grant covers it: %+v, %v", got, err)
		}
		if _, err := h.Router.Ask(h.Ctx, ref, step, question); err != nil {
			t.Fatal(err)
		}
		for _, does := range []outbox.Does{outbox.DoesSession, outbox.DoesAlways} {
			if a := h.Accept(decides(ref.TurnID, "d", does))[0]; a.Decided != 0 || a.Outcome != approvals.OnceOnly {
				t.Errorf("typed %s: %+v", does, a)
			}
			press := entry("d", "press "+string(does), "")
			press.Event.Kind, press.Sender.Person, press.Intent = channels.EventAction, "root", &intake.ActionIntent{Code: button(does)}
			if a := h.Accept(press)[0]; a.Decided != 0 || a.Action != "" {
				t.Errorf("pressed %s: %+v", does, a)
			}
		}
		if a := h.Accept(decides(ref.TurnID, "d", outbox.DoesOnce))[0]; a.Decided != ref.TurnID {
			t.Errorf("once: %+v", a)
		}
	})
}

// An approval of what has another hash by now says so, and is not used.
func TestApprovalOfWhatHasChangedSaysSo(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref, id := h.allowed("c", "1", outbox.DoesOnce)
		ask := *parks().Ask
		for hash, want := range map[string]string{"true": agent.Accepted, "false": agent.Changed} {
			ask.Hash = []byte(hash)
			if got, err := h.Router.Approval(h.Ctx, ref, "marco", ask); err != nil || got.ID != id || got.State != want {
				t.Errorf("%s: %+v, %v", hash, got, err)
			}
		}
		other := h.Begun("d", "2")
		h.park(other, "d")
		h.Accept(decides(other.TurnID, "d", outbox.DoesDeny))
		if got, err := h.Router.Approval(h.Ctx, other, "marco", ask); err != nil || got.State != agent.Rejected {
			t.Errorf("denied, and changed: %+v, %v", got, err)
		}
	})
}
