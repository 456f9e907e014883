package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

func TestEqualNoticesOfEnginesAreOneAndGoWhereTheSettingsSay(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	targets := func(kind outbox.NoticeKind) []string {
		return map[outbox.NoticeKind][]string{
			outbox.NoticeBudget: {"bob", "play:ops"}, outbox.NoticeDisk: {"nobody"},
		}[kind]
	}
	a.Targets, b.Targets = targets, targets
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("adas", "ada", "hello")
	a.Platform.Say("bobs", "bob", "hello")
	a.Await(2)
	both := func(kind outbox.NoticeKind, about, text string) {
		var giving sync.WaitGroup
		for _, r := range []*rig{a, b, a, b} {
			giving.Go(func() { r.Router.Connections.Notify(t.Context(), kind, about, text) })
		}
		giving.Wait()
	}
	both(outbox.NoticeBudget, "day", "the day's money is spent")
	both(outbox.NoticeDisk, "disk", "the disk is full")
	both(outbox.NoticeBrokenSettings, "1", "one fault")
	both(outbox.NoticeBrokenSettings, "2", "two faults")
	for text, want := range map[string]string{"money": "bobs ops", "disk": "adas", "one fault": "adas", "two faults": "adas"} {
		if got := strings.Join(a.Notices(text), " "); got != want {
			t.Errorf("%q was said in %q, want %q", text, got, want)
		}
	}
	a.Await(7)
	storetest.Exec(t, a.DB, "UPDATE event_keys SET expires_at = expires_at - 660000000") // eleven minutes later
	both(outbox.NoticeDisk, "disk", "the disk is full")
	if got := a.Notices("disk"); len(got) != 2 {
		t.Errorf("eleven minutes later: %q", got)
	}
}

func TestAdminsAreNotifiedOfDeadAnswersAndNotOfDeadNotices(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			if p.Conversation == "adas" && strings.Contains(p.Text, "given up") || p.Conversation == "bobs" {
				return channelstest.Fault{Refused: "no"}
			}
			return channelstest.Fault{}
		})
		r.Start()
		r.Platform.Say("adas", "ada", "hello")
		r.Await(1)
		r.Platform.Say("bobs", "bob", "hello")
		// The answer, the notice of it in its conversation, and the one to the admin.
		r.Until("all are dead", func() bool { return len(r.Deliveries("dead")) == 3 })
		r.Platform.Say("bobs", "bob", "/whoami")
		r.Until("the command's answer is dead too", func() bool { return len(r.Deliveries("dead")) >= 4 })
		r.End()
		if got := r.Notices("A part of an answer"); !slices.Equal(got, []string{"adas"}) {
			t.Errorf("said in %q", got)
		}
	})
}

// away does not connect until then.
type away struct {
	channels.Channel
	until time.Time
	err   error
}

func (a away) Run(ctx context.Context, sink channels.Sink) error {
	if time.Now().Before(a.until) {
		return a.err
	}
	return a.Channel.Run(ctx, sink)
}

func TestAdminsAreNotifiedOfAChannelThatIsAwayForLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		away time.Duration
		err  error
		want string
	}{
		{"for a minute", time.Minute, errors.New("nobody answers"), ""},
		{"for an hour", time.Hour, errors.New("nobody answers"), "has been away since"},
		{"rejected", time.Minute, channels.ErrUnauthorized, "its credentials are rejected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				r.Start()
				r.Platform.Say("adas", "ada", "hello")
				r.Await(1)
				r.End()
				r.Wrap = func(inner channels.Channel) channels.Channel {
					return away{inner, time.Now().Add(c.away), c.err}
				}
				r.Start()
				time.Sleep(c.away + 2*time.Minute)
				r.End()
				said := ""
				for _, d := range r.Deliveries("") {
					if strings.Contains(d.Text, "The channel play") {
						said += d.Conversation + ": " + d.Text
					}
				}
				if got := strings.Count(said, "The channel"); !strings.Contains(said, c.want) || (c.want == "") != (got == 0) || got > 1 {
					t.Errorf("%q", said)
				}
			})
		})
	}
}

// Where no admin has a chat the log does not say that one was notified.
func TestNoticeThatReachesNobodyIsLoggedSo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		log := &testkit.Log{}
		r.Log = log
		r.Start()
		r.Router.Connections.Notify(t.Context(), outbox.NoticeDisk, "disk", "the disk is full")
		if nobody, told := log.Count("nobody could be notified", "the disk is full"), log.Count("the admins are notified"); nobody != 1 || told != 0 {
			t.Errorf("that nobody could be is said %d times, that the admins are %d times", nobody, told)
		}
		r.Asks("adas", "ada", "hello")
		r.Router.Connections.Notify(t.Context(), outbox.NoticeDisk, "disk", "the disk is full")
		if nobody, told := log.Count("nobody could be notified"), log.Count("the admins are notified"); nobody != 1 || told != 1 {
			t.Errorf("with a chat it is said %d times that nobody could be, %d times that the admins are", nobody, told)
		}
	})
}
