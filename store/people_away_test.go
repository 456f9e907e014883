package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/scheduler"
)

// settled are the people of some settings.
func (h *house) named(people ...core.Person) (back []string) {
	h.Helper()
	set, err := h.Router.SetPeople(h.Ctx, people)
	if err != nil {
		h.Fatal(err)
	}
	return set.Back
}

func (h *house) jobOf(owner string) int64 {
	h.Helper()
	job := scheduler.Job{Owner: owner, Payload: scheduler.PayloadNotify, Text: "private", Spec: hourly}
	return h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &marcosChat}).Done.ID
}

// remains is what the database has of jobs, runs and notifications, and the state of the first job.
func (h *house) remains() string {
	h.Helper()
	job, err := h.Router.Job(h.Ctx, 1, "")
	if err != nil {
		return h.counts("jobs", "runs", "notifications") + err.Error()
	}
	return h.counts("jobs", "runs", "notifications") + string(job.State) + " of " + job.Owner
}

var (
	ann  = core.Person{Name: "ann", Role: core.RoleUser, Identities: []string{"tg:1"}, Tools: []string{"*"}}
	root = core.Person{Name: "root", Role: core.RoleAdmin, Identities: []string{"tg:0"}, Tools: []string{"*"}}
)

// Whom the settings name no more is away: nobody for all rights, and all that is theirs waits, over
// clearing away too. Named again with one identity they go on where they were.
func TestWhoIsAwayWaitsAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.named(ann, root)
		h.jobOf("ann")
		paused := h.jobOf("ann")
		h.changed(jobs.Change{Kind: jobs.PauseJob, ID: paused})
		h.write("INSERT INTO notifications (person, text, created_at) VALUES ('ann', 'private', 1)",
			"INSERT INTO identities (identity, person, linked, created_at) VALUES ('sl:1', 'ann', TRUE, 1)")
		h.changed(jobs.Change{Kind: jobs.RunJob, ID: 1})
		h.due(0)
		whole := h.remains()
		for range 3 {
			if back := h.named(root); len(back) != 0 {
				t.Errorf("back: %q", back)
			}
			if _, err := h.Router.Person(h.Ctx, "ann"); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("she is somebody: %v", err)
			}
			if people, away, err := h.Router.Everyone(h.Ctx); err != nil || len(people) != 1 || len(away) != 1 || away[0].Name != "ann" ||
				away[0].Away.IsZero() || !slices.Equal(away[0].Identities, []string{"sl:1", "tg:1"}) {
				t.Errorf("%+v, %+v, %v", people, away, err)
			}
			if jobs, _, _, err := h.work().DueJobs(h.Ctx, 9, ofTG); err != nil || len(jobs) != 0 {
				t.Errorf("due: %+v, %v", jobs, err)
			}
			if runs, _, err := h.work().DueRuns(h.Ctx, 9, ofTG); err != nil || len(runs) != 0 {
				t.Errorf("runs: %+v, %v", runs, err)
			}
			if err := h.Router.Change(h.Ctx, change(people.ChangeAdd, "ann", "user", "tg:5"), byMarco); err == nil || !strings.Contains(err.Error(), "is away") {
				t.Errorf("another by her name: %v", err)
			}
			for _, untold := range []int{1, 0} {
				h.named(root) // another start
				away, err := h.Router.UntoldAway(h.Ctx)
				if err == nil {
					err = h.Router.ToldAway(h.Ctx, away)
				}
				if err != nil || len(away) != untold {
					t.Errorf("to be told: %+v, %v", away, err)
				}
			}
			if back := h.named(ann, root); !slices.Equal(back, []string{"ann"}) {
				t.Errorf("back: %q", back)
			}
			if p, err := h.Router.Person(h.Ctx, "ann"); err != nil || !slices.Equal(p.Identities, []string{"sl:1", "tg:1"}) {
				t.Errorf("%+v, %v", p, err)
			}
			if got := h.remains(); got != whole {
				t.Errorf("%s, not %s", got, whole)
			}
			if jobs, _, _, err := h.work().DueJobs(h.Ctx, 9, ofTG); err != nil || len(jobs) != 1 {
				t.Errorf("due: %+v, %v", jobs, err)
			}
			if job, err := h.Router.Job(h.Ctx, paused, "ann"); err != nil || job.State != scheduler.JobPaused {
				t.Errorf("the paused one: %+v, %v", job, err)
			}
		}
		h.named(root)
		keep := keepADay
		keep.Runs = day
		h.later(40 * day)
		h.sweep(keep)
		if got := h.counts("jobs"); got != "jobs 2\n" {
			t.Errorf("swept: %s", got)
		}
		h.wantCount(4, "SELECT count(*) FROM audit WHERE action = 'person.away' AND target = 'person ann'")
		h.wantCount(3, "SELECT count(*) FROM audit WHERE action = 'person.back' AND target = 'person ann'")
	})
}

// The same name is the same person only with an identity of theirs: nothing of one goes to another, in
// one edit or in two.
func TestTheSameNameIsNotTheSamePerson(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.named(ann, root)
		h.jobOf("ann")
		whole := h.remains()
		other := ann
		other.Identities = []string{"tg:9"}
		refused := func() {
			t.Helper()
			_, err := h.Router.SetPeople(h.Ctx, []core.Person{other, root})
			if _, is := errors.AsType[*people.FaultsError](err); !is || !strings.Contains(err.Error(), "person remove ann") {
				t.Errorf("%v", err)
			}
			if got := h.remains(); got != whole {
				t.Errorf("%s, not %s", got, whole)
			}
			h.wantCount(0, "SELECT count(*) FROM identities WHERE identity = 'tg:9'")
		}
		refused()
		h.named(root)
		refused()
		both := ann
		both.Identities = []string{"tg:9", "tg:1"}
		h.named(both, root)
		h.named(other, root) // one is the same each time
		if got := h.remains(); got != whole {
			t.Errorf("%s, not %s", got, whole)
		}
		h.named(root)
		if err := h.Router.Change(h.Ctx, &people.Change{Kind: people.ChangeRemove, Person: core.Person{Name: "ann"}, NotInFile: true}, byMarco); err != nil {
			t.Fatal(err)
		}
		if job, err := h.Router.Job(h.Ctx, 1, ""); err != nil || job.State != scheduler.JobPaused {
			t.Errorf("removed: %+v, %v", job, err)
		}
		h.named(ann, root)
		if _, err := h.Router.Job(h.Ctx, 1, ""); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("after she was removed: %v", err)
		}
	})
}

// What came under a misspelt name, or as a stranger whom an open policy let in, is theirs whom the
// settings name with that account.
func TestMisspeltForAWhile(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.named(ann, root)
		h.jobOf("ann")
		misspelt := ann
		misspelt.Name = "anm"
		h.named(misspelt, root)
		h.jobOf("anm")
		h.named(ann, root)
		open := entry("c", "1", "hi")
		open.Sender.New, open.Sender.Person, open.Sender.Identity = true, "tg:3", "tg:3"
		h.Accept(open)
		h.jobOf("tg:3")
		both := ann
		both.Identities = []string{"tg:1", "tg:3"}
		h.named(both, root)
		people, away, err := h.Router.Everyone(h.Ctx)
		if err != nil || len(people) != 2 || len(away) != 0 {
			t.Errorf("%+v, %+v, %v", people, away, err)
		}
		h.wantCount(3, "SELECT count(*) FROM jobs WHERE owner = 'ann' AND state = 'active'")
		h.wantCount(1, "SELECT count(*) FROM turns WHERE person = 'ann'")

		carl := core.Person{Name: "carl", Role: core.RoleUser, Identities: []string{"tg:4"}}
		h.named(both, root, carl)
		h.jobOf("carl")
		both.Identities = append(both.Identities, "tg:4") // two who were there are never made one
		h.named(both, root)
		h.wantCount(1, "SELECT count(*) FROM jobs WHERE owner = 'carl'")
		h.wantCount(1, "SELECT count(*) FROM people_away WHERE name = 'carl'")
	})
}

// Under a name that was misspelt and then left out jobs were made: they become theirs as well.
func TestMisspeltThenLeftOut(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		misspelt := ann
		misspelt.Name = "anm"
		h.named(ann, root)
		h.named(misspelt, root)
		h.jobOf("anm")
		h.named(root)
		h.named(ann, root)
		h.wantCount(1, "SELECT count(*) FROM jobs WHERE owner = 'ann'")
		h.wantCount(0, "SELECT count(*) FROM people_away")
	})
}

// A job of somebody who is away does not begin, and is not late.
func TestJobsOfWhoIsAwayAreNotOverdue(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.named(ann, root)
		h.jobOf("ann")
		h.due(0)
		h.named(root)
		h.later(3 * 24 * time.Hour)
		if f, err := h.DB.JobFacts(h.Ctx); err != nil || len(f.Overdue) != 0 {
			t.Errorf("overdue %v, %v", f.Overdue, err)
		}
	})
}

// The person who runs the program is never away, and keeps no account that no settings name.
func TestOwnerIsKnownByNoAccountThatIsLeftOut(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		owner := core.Person{Name: "owner", Role: core.RoleAdmin, Tools: []string{"*"}, Machine: true}
		named, local := owner, owner
		named.Identities, local.Identities, local.Source = []string{"tg:7"}, []string{"console:local"}, core.FromLocal
		h.named(named, ann)
		h.named(local, ann)
		if p, err := h.Router.Person(h.Ctx, "owner"); err != nil || !slices.Equal(p.Identities, local.Identities) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// A turn waits for its person, holds up nobody, and comes before newer ones when they are back, or ends
// when they are removed.
func TestTurnsWaitForWhoIsAway(t *testing.T) {
	for _, removed := range []bool{false, true} {
		t.Run(fmt.Sprintf("removed %t", removed), func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				waits := agent.Step{End: &agent.End{State: "waiting", Outcome: agent.OutcomePersonAway}}
				h.named(ann, root)
				from := func(key, person string) intake.Entry {
					e := entry("group", key, "hi")
					e.Sender.Person, e.Event.Conversation.Kind = person, channels.Group
					return e
				}
				var turns []int64
				for _, a := range h.Accept(from("1", "ann"), from("2", "ann"), from("3", "root"), from("4", "root")) {
					turns = append(turns, a.TurnID)
				}
				h.named(root)
				next := &h.Claim(9)[0]
				if _, err := h.Router.Commit(h.Ctx, next.TurnRef, agent.Step{End: &agent.End{State: "waiting", Outcome: "approval"}}, nil); !errors.Is(err, core.ErrConflict) {
					t.Errorf("it waits for nothing: %v", err)
				}
				for range 2 {
					next = h.Commit(next.TurnRef, waits)
				}
				if next == nil || next.TurnID != turns[2] {
					t.Fatalf("the turn behind is %+v", next)
				}
				if removed {
					err := h.Router.Change(h.Ctx, &people.Change{Kind: people.ChangeRemove, Person: core.Person{Name: "ann"}}, byMarco)
					if err != nil {
						t.Fatal(err)
					}
				} else {
					h.named(ann, root)
				}
				if _, err := h.Router.Commit(h.Ctx, next.TurnRef, waits, nil); !errors.Is(err, core.ErrNotAway) {
					t.Errorf("for who is not away: %v", err)
				}
				var order []int64
				for next != nil {
					order = append(order, next.TurnID)
					next = h.Commit(next.TurnRef, end("done", "answered"))
				}
				if want := []int64{turns[2], turns[0], turns[1], turns[3]}; !slices.Equal(order, want) {
					t.Errorf("%v, not %v", order, want)
				}
			})
		})
	}
}
