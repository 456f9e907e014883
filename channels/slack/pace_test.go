package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/testkit"
)

// paced is a rig whose platform and client keep to the platform's limits.
func paced(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.Limit(true)
	r.c.paces.span = time.Minute
	return r
}

// Answers that grow share what is left of the changes that a minute has room for: each can be ended at
// once, and the platform refuses nothing.
func TestGrowingAnswersLeaveTheirEndsRoom(t *testing.T) {
	t.Parallel()
	r := paced(t)
	var convs []channels.Conversation
	var ids []channels.MessageID
	for i := range 12 {
		c := conv(r.Direct(r.AddUser(fmt.Sprint("User", i)).ID), "", channels.Direct)
		id, err := r.c.Draft(t.Context(), "", outbound(c, "begins", "n"))
		if err != nil {
			t.Fatal(err)
		}
		convs, ids = append(convs, c), append(ids, id)
	}
	if every := r.c.Features(convs[0]).DraftEvery; every < 12*time.Minute/50 {
		t.Errorf("each of 12 drafts is changed every %s", every)
	}
	grown := 0
	for n := range 100 {
		i := n % len(ids)
		_, err := r.c.Draft(t.Context(), ids[i], outbound(convs[i], fmt.Sprint("grows ", n), "n"))
		if refused, ok := errors.AsType[*channels.RefusedError](err); err != nil && (!ok || !refused.Temporary) {
			t.Fatal(err)
		} else if err == nil {
			grown++
		}
	}
	for i, id := range ids {
		if err := r.c.Edit(t.Context(), convs[i], id, channels.Body{Text: "the end"}); err != nil {
			t.Errorf("the end of answer %d: %v", i, err)
		}
	}
	if n := r.Refused(); n > 0 || grown < 20 {
		t.Errorf("%d calls were refused; drafts grew %d times", n, grown)
	}
	if every := r.c.Features(convs[0]).DraftEvery; every != draftEvery {
		t.Errorf("with none growing a draft is changed every %s", every)
	}
}

// No method is called more often than its tier allows, nor before the platform wants it again.
func TestMethodsAreCalledAsOftenAsTheyMayBe(t *testing.T) {
	t.Parallel()
	r := paced(t)
	m := r.Say(r.ada.ID, "x")
	var last error
	for n := range 60 {
		last = r.c.ShowTurn(t.Context(), r.direct(), channels.MessageID(m.TS), map[bool]channels.TurnState{true: channels.TurnWorking, false: channels.TurnDone}[n%2 == 0])
	}
	if limited, ok := errors.AsType[*channels.RateLimitError](last); !ok || limited.RetryAfter <= 0 || r.Refused() > 0 || len(r.Calls("reactions.add")) < 10 {
		t.Errorf("%v; %d refused of %d calls", last, r.Refused(), len(r.Calls("reactions.add")))
	}
	r.Break(slacktest.Fault{Method: "chat.delete", Rejected: slacktest.TooMany(time.Minute)})
	for range 3 {
		err := r.c.Delete(t.Context(), r.direct(), "1700000000.000001")
		if limited, ok := errors.AsType[*channels.RateLimitError](err); !ok || limited.RetryAfter < time.Minute/2 {
			t.Error(err)
		}
	}
	if n := len(r.Calls("chat.delete")); n != 1 {
		t.Errorf("it was called %d times in the minute that the platform wanted none", n)
	}
}

// History that is refused holds its place for a while at most: what comes is taken then, and what was
// missed is read later. One refusal, however long, says nothing of the app.
func TestRefusedHistoryHoldsItsPlaceForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	r.Say(r.ada.ID, "first")
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "in the channel"})
	r.Took(t, 2)
	r.halt(t)
	direct := r.Direct(r.ada.ID)
	r.AddSilent(direct, r.ada.ID, "missed")
	r.c.pace.mostWait = 200 * time.Millisecond
	r.Break(slacktest.Fault{
		Method: "conversations.history", Rejected: slacktest.TooMany(5 * time.Second), // what comes is taken by then
		When: func(c platformtest.Call) bool { return c.Values["channel"] == direct },
	})
	r.run(t)
	r.Say(r.ada.ID, "second")
	root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard a thread"})
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "and more"})
	r.Took(t, 6)
	var chat, thread []string
	for _, e := range r.Sink.Events() {
		switch {
		case e.Conversation.Kind == channels.Direct:
			chat = append(chat, e.Message.Text)
		case e.Message.Mentioned:
			thread = append(thread, e.Message.Text)
		}
	}
	if diff := cmp.Diff([]string{"first", "second", "missed"}, chat); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a thread", "and more"}, thread); diff != "" {
		t.Error(diff)
	}
}

// What came in another order than it was written, as on two sockets, and waited for history in vain, is handed in as it was written.
func TestWhatWaitedIsHandedInAsItWasWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Say(r.ada.ID, "first")
	r.Took(t, 1)
	r.halt(t)
	for _, text := range []string{"second", "third", "fourth"} {
		r.Say(r.ada.ID, text)
	}
	r.Reorder(true)
	r.c.pace.mostWait = 5 * time.Second // all three have come by then
	r.Break(slacktest.Fault{Method: "conversations.history", Times: -1, Rejected: slacktest.TooMany(time.Hour)})
	r.run(t)
	r.Took(t, 4)
	if diff := cmp.Diff([]string{"first", "second", "third", "fourth"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

// What comes in a place whose history is refused for long waits for its second event all the same: the
// first one may name no files.
func TestMentionIsWholeWhileHistoryIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	channel := r.AddChannel("general", r.ada).ID
	r.run(t)
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "in the channel"})
	r.Took(t, 1)
	r.halt(t)
	r.AddSilent(channel, r.ada.ID, "missed")
	r.c.pace.mostWait, r.c.pace.twin = 50*time.Millisecond, patience
	r.Break(slacktest.Fault{Method: "conversations.history", Times: -1, Rejected: slacktest.TooMany(time.Hour)})
	r.run(t)
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "too long ago"})
	r.Took(t, 2)
	r.Pairs(slacktest.Pair{Apart: 100 * time.Millisecond})
	r.Post(slacktest.Post{
		Channel: channel, User: r.ada.ID, Text: "@switchboard read this",
		Files: []slacktest.File{{Kind: "document", Name: "notes.txt", Type: "text/plain", Data: []byte("x")}},
	})
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "behind"})
	r.Took(t, 4)
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
	events := r.Sink.Events()
	if e := events[2]; e.Message.Text != "read this" || len(e.Message.Attachments) != 1 || events[3].Message.Text != "behind" {
		t.Errorf("%+v", events)
	}
}

// Whether a part arrived cannot be asked while history is refused: that is said at once, with how long.
func TestPartIsLookedUpLaterWhereHistoryIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out := outbound(r.direct(), "hello", "n1")
	if _, err := r.c.Send(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	r.Break(slacktest.Fault{Method: "conversations.history", Rejected: slacktest.TooMany(time.Hour)})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, _, err := r.c.Find(ctx, out)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); !ok || limited.RetryAfter != time.Hour {
		t.Error(err)
	}
}

// An app is limited where a page shows it, and not because calls were refused, as they are in numbers when a
// start reads many places at once. That is found out again after a while.
func TestLimitIsFoundOutAndForgotten(t *testing.T) {
	t.Parallel()
	long := &channels.RateLimitError{RetryAfter: 45 * time.Second}
	const op = "conversations.history"
	p := &pacer{span: time.Minute}
	for range 20 {
		p.take(op)
	}
	for range 20 {
		p.ended(op, long)
	}
	if p.isLimited() {
		t.Error("refusals of calls side by side say that it is limited")
	}
	p.limit(true)
	p.methods[op].until, p.methods[op].calls = time.Time{}, nil
	first := p.take(op)
	if limited, ok := errors.AsType[*channels.RateLimitError](p.take(op)); first != nil || !ok || limited.RetryAfter < time.Minute/2 {
		t.Errorf("limited history may be read after %v and %v", first, limited)
	}
	p.limited = time.Now()
	if p.isLimited() {
		t.Error("it is limited for good")
	}
}

// doctor asks by itself whether history is limited, of a conversation with little in it, too.
func TestDoctorFindsOutWhetherHistoryIsLimited(t *testing.T) {
	t.Parallel()
	for how, messages := range map[string]int{"much": 20, "little": 1} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for _, limited := range []bool{false, true} {
				r := newRig(t)
				for range messages {
					r.AddSilent(r.Direct(r.ada.ID), r.ada.ID, "x")
				}
				if r.Limit(true); limited {
					r.LimitHistory()
				}
				found := ""
				for _, f := range r.c.Examine(context.Background()) {
					found += f.Text
				}
				if strings.Contains(found, "15 messages a minute") != limited {
					t.Errorf("limited: %v; %s", limited, found)
				}
			}
		})
	}
}
