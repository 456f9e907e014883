package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/storetest"
)

// An engineLife does what the loop, the router and the agent do, step by step, and dies at random between any two
// steps; another goes on.
type engineLife struct {
	*house
	rand  *rand.Rand
	lives int
}

// alive ends this life, now and then. It is asked before and after each commit.
func (l *engineLife) alive(err error) {
	switch {
	case err == nil && l.rand.IntN(6) > 0:
		return
	case err != nil && !errors.Is(err, core.ErrFenced): // the other engine has it
		l.Errorf("%v", err)
	}
	panic(errKilled)
}

// look is what an engine does once: claims, starts, works, settles.
func (l *engineLife) look() {
	defer func() {
		if r := recover(); r == errKilled {
			l.lives++
			l.house = l.died()
		} else if r != nil {
			panic(r)
		}
	}()
	work := l.work()
	jobs, now, _, err := work.DueJobs(l.Ctx, 100, ofTG)
	l.alive(err)
	var claims []scheduler.Claim
	for _, j := range jobs {
		claims = append(claims, scheduler.Decide(j.Job, now, j.Open, scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour}))
	}
	l.alive(work.Claim(l.Ctx, claims))
	due, _, err := work.DueRuns(l.Ctx, 100, ofTG)
	l.alive(err)
	for i := range due {
		l.start(&due[i])
	}
	claimed, err := l.Router.Claim(l.Ctx, l.owner(), []string{"tg"}, nil, 10)
	l.alive(err)
	for i := range claimed {
		l.turn(&claimed[i])
	}
	ended, _, err := work.EndedRuns(l.Ctx, 100)
	l.alive(err)
	for _, e := range ended {
		l.alive(work.Settle(l.Ctx, []scheduler.Settled{scheduler.Settle(e, time.Now())}))
	}
}

// start submits a run, with a worker for it or not.
func (l *engineLife) start(due *scheduler.DueRun) {
	s := jobs.Submission{
		Key: due.Run.Key(), Origin: "job", Person: "marco", Rule: audit.RuleJob, Text: due.Job.Text, Run: due.Run.ID, Try: due.Run.Try,
		To: channels.Conversation{Channel: "tg", ID: channels.ConversationID(due.Job.Target.Conversation)},
	}
	var say *outbox.Reply
	if due.Job.Payload == scheduler.PayloadNotify {
		s.Say, s.Notification, say = true, "x", text(due.Run.Key())
	}
	a, err := l.Router.Submit(l.Ctx, l.owner(), s, intake.TurnIntent{QueueLimit: 50, MayClaim: l.rand.IntN(2) == 0}, say)
	l.alive(err)
	if a.Refusal != "" {
		l.Errorf("refused: %s", a.Refusal)
	}
	if a.Claimed != nil {
		l.turn(a.Claimed)
	}
}

// turn answers a turn, and those that come with it.
func (l *engineLife) turn(c *core.Claimed) {
	for ; c != nil; l.alive(nil) {
		data, err := l.Router.Load(l.Ctx, c.TurnRef)
		l.alive(err)
		step := end("done", "answered")
		step.Say = []agent.Say{{Position: -1, Notice: true, Text: fmt.Sprintf("answer to run %d", data.Turn.Terms.Run)}}
		c, err = l.Router.Commit(l.Ctx, c.TurnRef, step, []outbox.Reply{*text(step.Say[0].Text)})
		if err != nil {
			l.alive(err)
		}
	}
}

// Kills between any two steps of a run, on one engine or two: nothing is missed, nothing is done twice.
func TestRunsOutliveKillsBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const list, rounds = 6, 8
		h := doomed(t, db)
		h.people()
		for i := range list {
			job := scheduler.Job{Owner: "marco", Payload: []scheduler.Payload{scheduler.PayloadNotify, scheduler.PayloadAgent}[i%2], Text: fmt.Sprint("job ", i), Spec: scheduler.Spec{Cron: "@yearly", Zone: "UTC"}}
			conv := channels.Conversation{Channel: "tg", ID: channels.ConversationID(fmt.Sprint("c", i/3)), Kind: channels.Direct}
			h.changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &conv})
		}
		seed := rand.Uint64()
		engines := []*engineLife{{house: h, rand: rand.New(rand.NewPCG(seed, 0))}}
		if db.PG() {
			engines = append(engines, &engineLife{house: doomed(t, db), rand: rand.New(rand.NewPCG(seed, 1))})
		}
		for round := range rounds {
			h.due(time.Second)
			var wg sync.WaitGroup
			for _, l := range engines {
				wg.Go(func() {
					for tries := 0; ; tries++ {
						done, err := storetest.Count(l.Ctx, db, `SELECT count(*) FROM runs WHERE state = 'done'`)
						if err != nil || done == int64(list*(round+1)) {
							return
						}
						if tries > 500 || t.Failed() {
							t.Errorf("seed %d, round %d: %d runs are done", seed, round, done)
							return
						}
						l.look()
					}
				})
			}
			wg.Wait()
		}
		lives := 0
		for _, l := range engines {
			lives += l.lives
		}
		t.Logf("seed %d: %d lives", seed, lives)
		half := list * rounds / 2
		h.wantCount(list*rounds, `SELECT count(*) FROM runs WHERE state = 'done' AND try = 1`)
		h.wantCount(list*rounds, `SELECT count(*) FROM runs`)
		h.wantCount(half, `SELECT count(*) FROM turns WHERE state = 'done'`)
		h.wantCount(half, `SELECT count(*) FROM turns`)
		h.wantCount(half, `SELECT count(*) FROM notifications`)
		h.wantCount(list*rounds, `SELECT count(*) FROM messages WHERE direction = 'out'`)
		h.wantCount(list*rounds, `SELECT count(DISTINCT text) FROM messages WHERE direction = 'out'`)
		if lives == 0 {
			t.Error("nobody died")
		}
	})
}
