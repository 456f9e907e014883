package routertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// Settle waits until nothing is left to do.
func (r *Rig) Settle() {
	r.T.Helper()
	r.Until("everything is confirmed, answered and sent", func() bool {
		if r.Platform.Pending() > 0 {
			return false
		}
		for _, turn := range r.Turns() {
			if turn.State == "queued" || turn.State == "running" {
				return false
			}
		}
		return len(r.Deliveries("pending")) == 0 && len(r.Deliveries("sending")) == 0
	})
}

// Within waits until cond holds, and fails when that takes longer than d.
func (r *Rig) Within(d time.Duration, what string, cond func() bool) {
	r.T.Helper()
	for began := time.Now(); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > d {
			all, _ := r.DB.Router().Deliveries(r.T.Context(), storetest.All, "", 100)
			r.T.Fatalf("not within %s: %s; %q of %+v", d, what, Texts(r.Platform.Sent()), all)
		}
	}
}

// SettledAs waits until n deliveries are in that state.
func (r *Rig) SettledAs(state string, n int) {
	r.T.Helper()
	r.Within(14*time.Second, fmt.Sprintf("%d are %s", n, state), func() bool { return len(r.Deliveries(state)) == n }) // at 15 s it is looked for
}

// Asks has somebody write, and returns the answer.
func (r *Rig) Asks(conv, user, text string) string {
	r.T.Helper()
	n := len(r.Platform.SentIn(conv))
	r.Platform.Say(conv, user, text)
	r.Until(user+" is answered", func() bool { return len(r.Platform.SentIn(conv)) > n })
	return r.Platform.SentIn(conv)[n].Text
}

// Notices are where a text was said, once for each time.
func (r *Rig) Notices(text string) (where []string) {
	r.T.Helper()
	for _, d := range r.Deliveries("") {
		if strings.Contains(d.Text, text) {
			where = append(where, d.Conversation)
		}
	}
	slices.Sort(where)
	return where
}

// Count runs a query that gives one number.
func (r *Rig) Count(query string) (int64, error) { return storetest.Count(r.T.Context(), r.DB, query) }

// Settled waits until n parts are sent, and ends the router.
func (r *Rig) Settled(n int) {
	r.T.Helper()
	for tries := 0; len(r.Deliveries("sent")) < n; tries++ {
		if time.Sleep(250 * time.Millisecond); tries == 400 {
			r.T.Fatalf("%d parts are sent, want %d", len(r.Deliveries("sent")), n)
		}
	}
	r.End()
}

// OnChange sets what becomes of the platform's changes of one kind.
func (r *Rig) OnChange(op scripted.Op, do func(scripted.Change) channelstest.Fault) {
	r.Platform.OnChange(func(c scripted.Change) channelstest.Fault {
		if c.Op != op {
			return channelstest.Fault{}
		}
		return do(c)
	})
}

// Await waits until the platform shows n parts.
func (r *Rig) Await(n int) []channelstest.Sent {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	if err := r.Platform.Await(ctx, func() bool { return len(r.Platform.Sent()) >= n }); err != nil {
		r.T.Fatalf("the platform shows %d parts, want %d: %v", len(r.Platform.Sent()), n, Texts(r.Platform.Sent()))
	}
	return r.Platform.Sent()
}

// Shows waits for the nth part that the platform shows, which is to read so.
func (r *Rig) Shows(n int, want string) {
	r.T.Helper()
	if sent := r.Await(n); sent[n-1].Text != want {
		r.T.Errorf("part %d reads %q, want %q; all: %q", n, sent[n-1].Text, want, Texts(sent))
	}
}

// Reads waits for as many parts as there are texts, which are to be all.
func (r *Rig) Reads(want ...string) {
	r.T.Helper()
	r.Same("the platform shows", Texts(r.Await(len(want))), want)
}

// Mentions waits for the nth part that the platform shows, which is to hold each of the words.
func (r *Rig) Mentions(n int, words ...string) {
	r.T.Helper()
	sent := r.Await(n)
	for _, word := range words {
		if !strings.Contains(sent[n-1].Text, word) {
			r.T.Errorf("part %d reads %q, without %q", n, sent[n-1].Text, word)
		}
	}
}

// Begins says text in conv and waits until its turn runs.
func (r *Rig) Begins(conv, user, text string) {
	r.T.Helper()
	r.Platform.Say(conv, user, text)
	r.Until(text+" runs", func() bool { return r.Brain.Ran(text) == 1 })
}

// Accept hands events in as one batch.
func (r *Rig) Accept(batch ...channels.Event) []channels.Receipt {
	r.T.Helper()
	receipts, err := r.Router.Accept(r.T.Context(), batch)
	if err != nil {
		r.T.Fatal(err)
	}
	return receipts
}

// HasTurns wants so many turns in all.
func (r *Rig) HasTurns(n int) {
	r.T.Helper()
	if turns := r.Turns(); len(turns) != n {
		r.T.Errorf("%d turns, want %d: %q", len(turns), n, r.Outcomes())
	}
}

// Until waits until cond holds, asking it now and then.
func (r *Rig) Until(what string, cond func() bool) {
	r.T.Helper()
	testkit.Await(r.T, what, time.Minute, cond)
}

// Turns are all turns, newest first.
func (r *Rig) Turns() []turns.Turn {
	r.T.Helper()
	list, err := r.DB.Router().Turns(r.T.Context(), storetest.All, "", 100_000)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// Deliveries are those in a state; all for an empty one.
func (r *Rig) Deliveries(state string) []outbox.Info {
	r.T.Helper()
	list, err := r.DB.Router().Deliveries(r.T.Context(), storetest.All, state, 100_000)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// Texts are the texts of parts.
func Texts(sent []channelstest.Sent) []string {
	list := make([]string, len(sent))
	for i, s := range sent {
		list[i] = s.Text
	}
	return list
}

// Outcomes are the texts of all turns with what became of them, oldest first.
func (r *Rig) Outcomes() []string {
	list := []string{}
	for _, turn := range slices.Backward(r.Turns()) {
		list = append(list, turn.Text+": "+turn.State+" "+turn.Outcome)
	}
	return list
}

// AllEnded waits until every turn has ended.
func (r *Rig) AllEnded() {
	r.T.Helper()
	r.Until("all turns ended", func() bool {
		return !slices.ContainsFunc(r.Turns(), func(t turns.Turn) bool { return t.FinishedAt == nil })
	})
}

// Same wants two lists to be the same.
func (r *Rig) Same(what string, got, want []string) {
	r.T.Helper()
	if !slices.Equal(got, want) {
		r.T.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// Held says that the engine sends for the channel.
func (r *Rig) Held() bool {
	return r.Router.Connections.Statuses()[0].State == channels.StateConnected
}
