package slack

import (
	"fmt"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/testkit"
)

// A thread that begins with a mention is the bot's from there on, however its messages come.
func TestRepliesBelongToTheThreadOfAMention(t *testing.T) {
	t.Parallel()
	say := func(r *rig, channel string) {
		root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard are you there?"})
		r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "please"})
	}
	for how, write := range map[string]func(t *testing.T, r *rig, channel string){
		"while it is away": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			r.halt(t)
			say(r, channel)
			r.Forget()
			r.c = client(t, r.APIURL(), r.Server)
			r.run(t)
		},
		"while it restarts, and told again": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			r.halt(t)
			say(r, channel)
			r.run(t)
		},
		"in one batch": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			release := r.Sink.Hold()
			r.Say(r.ada.ID, "wait")
			testkit.Await(t, "it is handed in", patience, func() bool { return r.Sink.Held() > 0 })
			say(r, channel)
			release()
			r.Took(t, 2)
		},
		"in one batch that is handed in again": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			release := r.Sink.Hold()
			r.Say(r.ada.ID, "wait")
			testkit.Await(t, "it is handed in", patience, func() bool { return r.Sink.Held() > 0 })
			say(r, channel)
			r.Sink.Fail(2)
			release()
		},
		"after the connection is lost": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			r.Hang()
			say(r, channel)
			r.DropSockets()
			if err := r.Ended(t); err == nil {
				t.Error("a lost connection ends Run with nil")
			}
			r.run(t)
		},
		"after the connection is lost, the newest first": func(t *testing.T, r *rig, channel string) {
			t.Helper()
			r.Reorder(true)
			r.Hang()
			say(r, channel)
			r.DropSockets()
			if err := r.Ended(t); err == nil {
				t.Error("a lost connection ends Run with nil")
			}
			r.run(t)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			channel := r.AddChannel("general", r.ada).ID
			r.run(t)
			r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "not for the bot"})
			r.Took(t, 1)
			write(t, r, channel)
			var e *channels.Event
			testkit.Await(t, "the reply comes", patience, func() bool {
				for _, got := range r.Sink.Events() {
					if got.Message.Text == "please" {
						e = &got
					}
				}
				return e != nil
			})
			if !e.Message.Mentioned || e.Conversation.Kind != channels.Thread {
				t.Errorf("%+v", e)
			}
		})
	}
}

// What waited in several places is handed in together: what comes while that is refused stays behind the
// beginning of its thread.
func TestWhatWaitedInSeveralPlacesIsHandedInBeforeWhatComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.twin = time.Nanosecond
	me, err := r.c.meet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSession(t.Context(), r.c, r.Sink, me)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.c.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := newConnection(s, conn)
	frame := func(channel, ts, thread, text string) []byte {
		return fmt.Appendf(nil, `{"type":"events_api","envelope_id":"e%s","payload":{"event":{"type":"message","channel":%q,"user":%q,"text":%q,"ts":%q,"thread_ts":%q}}}`,
			ts, channel, r.ada.ID, text, ts, thread)
	}
	var roots [][]byte
	for i := range 8 {
		channel, root := r.AddChannel(fmt.Sprint("general", i), r.ada).ID, fmt.Sprintf("170000000%d.000001", i)
		s.marks.note(s.marks.known, channels.Mark{Conversation: conversationID(channel, ""), Value: "1600000000.000001"}, time.Now())
		roots = append(roots, frame(channel, root, "", "<@"+me.User+"> a thread"))
		l.frames <- frame(channel, fmt.Sprintf("170000000%d.000002", i), root, "please")
	}
	if now := l.classify(roots); len(now) > 0 {
		t.Fatalf("%d mentions wait for nothing", len(now))
	}
	r.Sink.Fail(2)
	if _, err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := r.Sink.Events()
	for _, e := range events {
		if !e.Message.Mentioned || e.Conversation.Kind != channels.Thread {
			t.Errorf("%+v", e)
		}
	}
	if len(events) != 2*len(roots) {
		t.Errorf("%d events", len(events))
	}
}

// One post that mentions the bot is told twice. Whichever comes first, and whatever it lacks, it is one
// message with the files and the thread that either names, in its place in the order.
func TestMentionIsWhatItsTwoEventsSayTogether(t *testing.T) {
	t.Parallel()
	const later = 100 * time.Millisecond
	for how, pair := range map[string]slacktest.Pair{
		"a mention without files":                {},
		"a mention without files, sooner":        {Apart: later},
		"a mention without files, alone":         {Alone: true},
		"a message":                              {Message: true},
		"a message, sooner":                      {Message: true, Apart: later},
		"a message without a thread":             {Message: true, Lacks: "thread_ts"},
		"a message without a thread, sooner":     {Message: true, Lacks: "thread_ts", Apart: later},
		"a mention without files and a thread":   {Lacks: "thread_ts", Apart: later},
		"neither files nor a thread, told alone": {Lacks: "thread_ts", Alone: true},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.c.pace.twin = patience // the machine may be busy
			if pair.Alone {
				r.c.pace.twin = later
			}
			r.Pairs(pair)
			channel, group := r.AddChannel("general", r.ada).ID, r.AddGroup(r.ada).ID
			post := func(channel, thread, text string) {
				r.Post(slacktest.Post{
					Channel: channel, User: r.ada.ID, Thread: thread, Text: text,
					Files: []slacktest.File{{Kind: "document", Name: "notes.txt", Type: "text/plain", Data: []byte("x")}},
				})
			}
			r.run(t)
			root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "a root"}).TS
			post(group, "", "before")
			r.Took(t, 2)
			post(channel, root, "@switchboard in it")
			post(channel, root, "behind")
			post(group, "", "@switchboard in a group")
			r.Took(t, 5)
			testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
			want := map[string]channels.Conversation{
				"a root": conv(channel, "", channels.Group), "before": conv(group, "", channels.Group),
				"in it": conv(channel, root, channels.Thread), "behind": conv(channel, root, channels.Thread), "in a group": conv(group, "", channels.Group),
			}
			behind := false
			for _, e := range r.Sink.Events() {
				text := e.Message.Text
				if e.Conversation != want[text] || text != "a root" && len(e.Message.Attachments) != 1 || e.Message.Mentioned == (text == "a root" || text == "before") {
					t.Errorf("%+v", e)
				}
				if behind = behind || text == "behind"; behind && text == "in it" {
					t.Error("what is behind it came before")
				}
			}
		})
	}
}
