package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/storetest"
)

// BenchmarkMessage is the whole way of one message through the store: Accept
// with the claim that reads the turn along, Commit of a plan with a ready answer that is begun with it, Settle. On
// SQLite the fsyncs are the disk's own; PostgreSQL's are off here.
func BenchmarkMessage(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		for _, users := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/users=%d", kind, users), func(b *testing.B) {
				db := open(b)
				h := newHouse(b, db)
				hold := h.Hold()
				var n atomic.Int64
				run := func() error {
					i := n.Add(1)
					return h.message(hold, fmt.Sprint("c", i), i)
				}
				b.ResetTimer()
				if users == 1 {
					for b.Loop() {
						if err := run(); err != nil {
							b.Fatal(err)
						}
					}
				} else {
					b.SetParallelism(users / 2)
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := run(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				if commits := db.Commits(); commits.All > 0 {
					b.ReportMetric(float64(commits.Synced)/float64(commits.All), "full/batch")
				}
			})
		}
	}
}

var prompt = make([]byte, 8<<10)

func (h *house) message(hold outbox.Lease, conv string, i int64) error {
	out, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{claiming(entry(conv, fmt.Sprint(i), "what time is it in Tokyo?"))})
	if err != nil {
		return err
	}
	ref := out[0].Claimed.TurnRef
	if out[0].Claimed.Data == nil {
		if _, err := h.Router.Load(h.Ctx, ref); err != nil {
			return err
		}
	}
	answer := "It is late."
	step := agent.Step{
		Calls: []agent.Call{{Step: "plan.0.0", Role: "planner", Answer: answer, Exchange: llm.Exchange{Request: prompt, Response: prompt[:1024]}}},
		Plan:  &agent.PlanRow{Goal: "answer", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg, Detail: "answer", Answer: &answer}}}},
		Tasks: []agent.TaskChange{{Type: agent.TaskMsg, State: agent.TaskDone}},
		Say:   []agent.Say{{Text: answer, Final: true}}, End: &agent.End{State: "done", Outcome: "answered"},
	}
	open := &outbox.Opening{Lease: hold, Conversation: channels.Conversation{ID: channels.ConversationID(conv)}}
	reply := outbox.Reply{Text: answer, Final: true, Parts: []channels.Body{{Text: answer}}, Open: open}
	if _, err := h.Router.Commit(h.Ctx, ref, step, []outbox.Reply{reply}); err != nil {
		return err
	}
	_, err = h.Router.Settle(h.Ctx, hold, open.Begun, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "p"})
	return err
}
