package store_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

var inC = channels.Conversation{Channel: "tg", ID: "c"}

// withRun makes marco, the chat c, where he wrote once, and a job with a run 1 that is due.
func (h *house) withRun() {
	h.Helper()
	run(h, h.DB, `INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES ('marco', 'admin', '["*"]', '', 'config', 1, 1)`,
		`INSERT INTO jobs (owner, payload, spec, rules, state, failures, created_at, updated_at) VALUES ('marco', 'agent', '{}', '{}', 'active', 3, 1, 1)`,
		`INSERT INTO runs (job_id, slot, try, state, created_at) VALUES (1, 1000, 1, 'due', 1)`)
	h.Accept(control(entry("c", "first", "/help"), "", "help"))
}

func submission(key string) jobs.Submission {
	return jobs.Submission{
		Key: key, Origin: "job", Person: "marco", Rule: audit.RuleJob, To: inC, Text: "/tool look {}", Run: 1, Try: 1,
		Terms: agent.Terms{NoApprovals: true, NoQuestions: true, Budget: 0.5},
	}
}

func (h *house) submit(s jobs.Submission, turn intake.TurnIntent) intake.Accepted {
	h.Helper()
	var say *outbox.Reply
	if s.Say {
		say = &outbox.Reply{Text: s.Text, Person: s.Person, Parts: []channels.Body{{Text: "one"}, {Text: "two"}}}
	} else if turn.QueueLimit == 0 {
		turn.QueueLimit = 50
	}
	a, err := h.Router.Submit(h.Ctx, h.owner(), s, turn, say)
	if err != nil {
		h.Fatalf("submit %s: %v", s.Key, err)
	}
	return a
}

// written is how many rows there are that a submission writes.
func (h *house) written() (sum int64) {
	h.Helper()
	for _, table := range []string{"messages", "turns", "event_keys", "deliveries", "notifications", "events", "sessions", "conversations"} {
		n, err := storetest.Count(h.Ctx, h.DB, `SELECT count(*) FROM `+table)
		if err != nil {
			h.Fatal(err)
		}
		sum += n
	}
	return sum
}

const (
	runningRun = `SELECT count(*) FROM runs WHERE state = 'running' AND turn_id = 1 AND message_id IS NULL AND started_at > 0 AND finished_at IS NULL`
	dueRuns    = `SELECT count(*) FROM runs WHERE state = 'due' AND turn_id IS NULL AND started_at IS NULL`
)

func TestSubmittedTurnHasItsTermsHoweverItIsClaimed(t *testing.T) {
	for _, now := range []bool{true, false} {
		t.Run(map[bool]string{true: "at once", false: "later"}[now], func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				h.withRun()
				a := h.submit(submission("k"), intake.TurnIntent{MayClaim: now})
				if now != (a.Claimed != nil) || now == a.Waiting || a.TurnID != 1 || a.Duplicate || a.Refusal != "" {
					t.Fatalf("submitted %+v", a)
				}
				c := a.Claimed
				if !now {
					c = &h.Claim(5)[0]
				}
				data := c.Data
				if data == nil {
					var err error
					if data, err = h.Router.Load(h.Ctx, c.TurnRef); err != nil {
						t.Fatal(err)
					}
				}
				want := agent.Terms{NoApprovals: true, NoQuestions: true, Budget: 0.5, Run: 1, Job: 1}
				if data.Turn.Terms != want || !data.Submitted || data.Ordered || data.Turn.Message.Text != "/tool look {}" || data.Turn.Person.Name != "marco" {
					t.Errorf("it is loaded as %+v", data)
				}
				h.wantCount(1, runningRun)
				h.wantCount(1, `SELECT count(*) FROM messages WHERE direction = 'in' AND origin = 'job' AND rule = 'job' AND person = 'marco' AND identity = ''`)
				h.wantCount(1, `SELECT count(*) FROM sessions WHERE person = 'marco'`)
			})
		})
	}
}

func TestSubmittingTwiceDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		saw := submission("k")
		saw.Seen = "what a heartbeat saw"
		h.submit(saw, intake.TurnIntent{})
		h.wantCount(1, `SELECT count(*) FROM turns WHERE terms LIKE '%what a heartbeat saw%'`)
		for _, again := range []jobs.Submission{submission("k"), submission("other key")} {
			again.Seen = "more"
			if a := h.submit(again, intake.TurnIntent{MayClaim: true}); !a.Duplicate || a.Claimed != nil || a.TurnID != 0 {
				t.Errorf("%s: %+v", again.Key, a)
			}
		}
		h.wantCount(0, `SELECT count(*) FROM jobs WHERE seen = 'more'`)
		other := submission("k") // of no run, but with a key that is known
		if other.Run = 0; !h.submit(other, intake.TurnIntent{}).Duplicate {
			t.Error("a known key was taken")
		}
		late := submission("late")
		late.Try = 2
		run(h, h.DB, `UPDATE runs SET state = 'due', try = 3, turn_id = NULL, started_at = NULL`)
		if !h.submit(late, intake.TurnIntent{}).Duplicate {
			t.Error("a former try was taken")
		}
		h.wantCount(1, `SELECT count(*) FROM turns`)
		h.wantCount(1, dueRuns)
	})
}

func TestManySubmitOneRun(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		var fresh atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				s := submission("k")
				s.Say = true
				if a := h.submit(s, intake.TurnIntent{}); !a.Duplicate {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if fresh.Load() != 1 {
			t.Errorf("%d of them were taken", fresh.Load())
		}
		h.wantCount(1, `SELECT count(*) FROM runs WHERE state = 'done' AND message_id IS NOT NULL AND turn_id IS NULL AND started_at > 0 AND finished_at > 0`)
	})
}

func TestSubmittedMessageIsOneCommit(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		s := submission("k")
		s.Say, s.Notification, s.Taint = true, "stretch", "web"
		if a := h.submit(s, intake.TurnIntent{}); a.MessageID == 0 || a.TurnID != 0 || a.Event == 0 {
			t.Fatalf("submitted %+v", a)
		}
		h.wantCount(2, `SELECT count(*) FROM deliveries d JOIN messages m ON m.id = d.message_id WHERE m.text = '/tool look {}' AND d.state = 'pending' AND m.turn_id IS NULL`)
		h.wantCount(1, `SELECT count(*) FROM notifications WHERE person = 'marco' AND job_id = 1 AND run_id = 1 AND text = 'stretch' AND taint = 'web' AND read_at IS NULL`)
		h.wantCount(1, `SELECT count(*) FROM jobs WHERE failures = 0`)
	})
}

func TestWhatIsRefusedLeavesNoTrace(t *testing.T) {
	cases := map[string]func(h *house, s *jobs.Submission, turn *intake.TurnIntent){
		jobs.RefusedBusy: func(h *house, _ *jobs.Submission, turn *intake.TurnIntent) {
			h.Accept(entry("c", "1", "one"), entry("c", "2", "two"))
			turn.QueueLimit = 2
		},
		jobs.RefusedPerson: func(h *house, _ *jobs.Submission, _ *intake.TurnIntent) {
			run(h, h.DB, `DELETE FROM people`)
		},
		jobs.RefusedConversation: func(_ *house, s *jobs.Submission, _ *intake.TurnIntent) { s.To.ID = "unknown" },
		jobs.RefusedConversation + " that we left": func(h *house, _ *jobs.Submission, _ *intake.TurnIntent) {
			run(h, h.DB, `UPDATE conversations SET gone_at = 1`)
		},
	}
	for why, prepare := range cases {
		t.Run(why, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				h.withRun()
				s, turn := submission("k"), intake.TurnIntent{MayClaim: true, QueueLimit: 50}
				prepare(h, &s, &turn)
				before := h.written()
				a := h.submit(s, turn)
				if word, _, _ := strings.Cut(why, " "); !strings.HasPrefix(a.Refusal, word+": ") || a.Claimed != nil || a.TurnID != 0 {
					t.Errorf("it became %+v", a)
				}
				if after := h.written(); after != before {
					t.Errorf("it left %d rows", after-before)
				}
				h.wantCount(1, dueRuns)
			})
		})
	}
}

// What a person writes meanwhile is neither merged with a turn that nobody typed, nor breaks it off.
func TestSubmittedTurnIsMergedWithNothing(t *testing.T) {
	for _, mode := range []string{"steer", "interrupt", "collect"} {
		t.Run(mode, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				h.withRun()
				job := h.submit(submission("k"), intake.TurnIntent{MayClaim: true}).Claimed
				waits := submission("waits")
				waits.Run = 0
				h.submit(waits, intake.TurnIntent{})
				e := entry("c", "1", "hello")
				e.Turn().Mode, e.Turn().CollectWindow = mode, time.Minute
				if a := h.Accept(e)[0]; a.Merged || a.CancelTurn != 0 || a.Steers != 0 || a.TurnID == 0 {
					t.Errorf("the message became %+v", a)
				}
				if list, err := h.Router.Absorb(h.Ctx, job.TurnRef, 1); err != nil || len(list) != 0 {
					t.Errorf("it absorbed %+v, %v", list, err)
				}
				run(h, h.DB, `UPDATE turns SET created_at = 1, started_at = CASE WHEN started_at > 0 THEN 3600000000 END`, `UPDATE turns SET asked_at = 1`)
				list, err := h.Router.Backlog(h.Ctx, job.TurnRef, time.Minute)
				if err != nil || len(list) == 0 {
					t.Fatalf("backlog %+v, %v", list, err)
				}
				for _, w := range list[1:] {
					if strings.HasPrefix(w.Text, "/tool") {
						t.Error("one that nobody typed is offered with others")
					}
				}
			})
		})
	}
}

// "Again" is not what a job had done since.
func TestRetryPassesOverWhatNobodyTyped(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		mine := h.Begun("c", "1")
		h.Commit(mine, end("done", "answered"))
		job := h.submit(submission("k"), intake.TurnIntent{MayClaim: true}).Claimed
		h.Commit(job.TurnRef, end("failed", "model_error"))
		again := claiming(entry("c", "2", "/retry"))
		again.Turn().Retry = &intake.Retry{}
		a := h.Accept(again)[0]
		if a.Claimed == nil || len(a.Claimed.Data.State.Former) != 1 || a.Claimed.Data.Turn.Message.Text != "hello 1" {
			t.Errorf("again is %+v", a)
		}
	})
}

func TestJobsDoNotSayWhereSomebodyIs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		h.Accept(control(entry("d", "second", "/help"), "", "help"))
		h.submit(submission("k"), intake.TurnIntent{})
		list, err := h.Router.PersonChats(h.Ctx, "marco")
		if err != nil || len(list) != 2 || list[0].ID != "d" || list[1].Identity != "tg:1" {
			t.Errorf("his chats are %+v, %v", list, err)
		}
		c, err := h.Router.Chat(h.Ctx, inC)
		if err != nil || c.Person != "marco" || c.Identity != "tg:1" || c.Kind != channels.Direct {
			t.Errorf("the chat is %+v, %v", c, err)
		}
	})
}

func TestTurnSaysWhoseJobItIs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		ref := h.submit(submission("k"), intake.TurnIntent{MayClaim: true}).Claimed.TurnRef
		h.Commit(ref, end("done", "quiet"))
		v, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || v.Job != 1 || len(v.Messages) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		for what, text := range map[string]string{
			"turn show": v.Show("USD", time.UTC), "explain turn": v.Explanation().Show("USD", time.UTC), "/why": v.Brief(false),
		} {
			if !strings.Contains(strings.ToLower(text), "job 1 of marco") && !strings.Contains(text, `job      1, under the terms {"no_questions":true,`) {
				t.Errorf("%s says\n%s", what, text)
			}
		}
		if text := v.Brief(false); !strings.Contains(text, "marco was served, because a job of theirs was due") {
			t.Errorf("/why says\n%s", text)
		}
		if _, err := h.DB.SealAudit(h.Ctx, h.owner()); err != nil {
			t.Fatal(err)
		}
		h.wantCount(1, `SELECT count(*) FROM audit WHERE action = 'turn' AND rule = 'job' AND data LIKE '%"job":"1"%' AND data LIKE '%"origin":"job"%'`)
	})
}

func TestMissedRunsAreToldOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		run(h, h.DB, `UPDATE runs SET state = 'missed'`)
		for range 2 {
			if err := h.Router.Tell(h.Ctx, []byte("key"), inC, *text("missed"), []int64{1}); err != nil {
				t.Fatal(err)
			}
		}
		h.wantCount(1, `SELECT count(*) FROM messages WHERE text = 'missed'`)
		h.wantCount(1, `SELECT count(*) FROM runs WHERE told = TRUE`)
	})
}
