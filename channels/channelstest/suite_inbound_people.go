package channelstest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

// People is what the person of a harness can do besides Say, in the harness's
// Conversation unless it says otherwise. Each func does one thing and does not wait
// until the channel has it; nil: the platform cannot.
type People struct {
	// Edit changes the text of the newest message of the person.
	Edit func(text string)
	// Touch makes the platform tell an edit that changes neither text nor files (a
	// preview was loaded, say).
	Touch func()
	// Delete takes the newest message of the person back.
	Delete func()
	// Attach sends one message with these files and text, which may be empty.
	Attach func(text string, files ...Upload)
	// SayInGroup writes in a group, the same at every call; mention names the bot as
	// people do there. The text told may differ from text by that name.
	SayInGroup func(text string, mention bool)
	// SayElsewhere writes a command for another bot in that group.
	SayElsewhere func()
	// SayInTopic writes in a topic (thread) of that group; the same name is the same
	// topic.
	SayInTopic func(topic, text string)
	// Press presses the button of that label under the newest message of ours.
	Press func(label string)
	// Toasts lists what the person was shown for presses, in order; presses answered
	// with nothing to show count as "".
	Toasts func() []string
	// React puts emoji on the newest message of ours or takes it off, and returns
	// that message's ID.
	React func(emoji string, off bool) channels.MessageID
	// Member lets the bot into the group, or puts it out.
	Member func(what channels.Membership)
	// Move gives that group a new ID and returns both as the channel's Event says them.
	Move func() (former, now channels.ConversationID)
}

// An Upload is a file that the person sends.
type Upload struct {
	Kind channels.AttachmentKind
	Name string
	Data []byte
}

var peopleCases = []conformanceCase{
	{"delete", func(h Harness) bool { return h.Delete != nil }, testDelete},
	{"attachments", func(h Harness) bool { return h.Attach != nil }, testAttachments},
	{"bytes of attachments", func(h Harness) bool { return h.Attach != nil && is[channels.Fetcher](h) }, testFetch},
	{"mentions in a group", func(h Harness) bool { return h.SayInGroup != nil }, testMention},
	{"commands for another bot", func(h Harness) bool { return h.SayElsewhere != nil }, testElsewhere},
	{"topics", func(h Harness) bool { return h.SayInTopic != nil }, testTopics},
	{"buttons", presses, testPress},
	{"presses are answered", presses, testToast},
	{"reactions", func(h Harness) bool { return sends(h) && h.React != nil }, testReactions},
	{"let in and put out", func(h Harness) bool { return h.Member != nil }, testMember},
	{"a conversation with a new ID", func(h Harness) bool { return h.SayInGroup != nil && h.Move != nil }, testMove},
}

func presses(h Harness) bool {
	return sends(h) && h.Press != nil && h.Toasts != nil && h.Channel.Features(h.Conversation).Buttons
}

func testDelete(t *testing.T, r *rig) {
	r.begin(t, "one")
	r.Delete()
	r.Took(t, 2)
	wrote, took := r.Sink.Events()[0], r.Sink.Events()[1]
	if took.Kind != channels.EventDeleted || took.Key == wrote.Key || took.Message.ID != wrote.Message.ID {
		t.Errorf("%+v was deleted: %+v", wrote, took)
	}
}

var uploads = []Upload{
	{channels.Document, "report.txt", []byte("the report\n")},
	{channels.Document, "größe <&>.txt", bytes.Repeat([]byte("x"), 100_000)},
}

func testAttachments(t *testing.T, r *rig) {
	r.run(t)
	r.Attach("see both", uploads...)
	r.Took(t, 1)
	r.Attach("", uploads[0])
	r.Took(t, 2)
	for i, want := range [][]Upload{uploads, uploads[:1]} {
		m := r.Sink.Events()[i].Message
		if m.Text != [...]string{"see both", ""}[i] || len(m.Attachments) != len(want) {
			t.Fatalf("%+v", m)
		}
		for j, a := range m.Attachments {
			if a.ID == "" || a.Kind != want[j].Kind || a.Name != want[j].Name || a.Size != 0 && a.Size != int64(len(want[j].Data)) {
				t.Errorf("attachment %+v, want %s %s of %d bytes", a, want[j].Kind, want[j].Name, len(want[j].Data))
			}
		}
	}
}

func testFetch(t *testing.T, r *rig) {
	fetcher := r.Channel.(channels.Fetcher) //nolint:errcheck // asked by needs
	r.run(t)
	r.Attach("see both", uploads...)
	r.Took(t, 1)
	for i, a := range r.Sink.Events()[0].Message.Attachments {
		for range 2 { // a reference holds for more than one time
			var got bytes.Buffer
			if err := fetcher.Fetch(t.Context(), a, &got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), uploads[i].Data) {
				t.Errorf("%s: %d bytes, want %d", a.Name, got.Len(), len(uploads[i].Data))
			}
		}
	}
	var none bytes.Buffer
	err := fetcher.Fetch(t.Context(), channels.Attachment{ID: "no-such-file", Kind: channels.Document}, &none)
	if _, ok := errors.AsType[*channels.RefusedError](err); !ok || none.Len() > 0 {
		t.Errorf("a file that is not there: %d bytes, %v", none.Len(), err)
	}
}

func testMention(t *testing.T, r *rig) {
	r.run(t)
	for i, mention := range []bool{false, true} {
		r.SayInGroup("hello", mention)
		r.Took(t, i+1)
		e := r.Sink.Events()[i]
		if e.Message.Mentioned != mention {
			t.Errorf("mentioned %v: %+v", mention, e.Message)
		}
		c := e.Conversation
		if c.Kind == channels.Group && c.Place != string(c.ID) || c.Kind != channels.Group && !(mention && c.Kind == channels.Thread) || c.ID == r.Conversation.ID {
			t.Errorf("the group is %+v", c)
		}
		if first := r.Sink.Events()[0].Conversation; c.Place != first.Place {
			t.Errorf("the group %+v is told as %+v", first, c)
		}
	}
}

// groupOf is the group that a conversation is or stands in: a mention may begin a thread.
func groupOf(c channels.Conversation) channels.ConversationID {
	return channels.ConversationID(c.Place)
}

func testElsewhere(t *testing.T, r *rig) {
	r.run(t)
	r.SayElsewhere()
	r.Took(t, 1)
	if m := r.Sink.Events()[0].Message; !m.Elsewhere || m.Mentioned {
		t.Errorf("%+v", m)
	}
}

func testTopics(t *testing.T, r *rig) {
	r.run(t)
	for i, topic := range []string{"a", "b", "a"} {
		r.SayInTopic(topic, "in "+topic)
		r.Took(t, i+1)
	}
	e := r.Sink.Events()
	a, b, again := e[0].Conversation, e[1].Conversation, e[2].Conversation
	if a.Kind != channels.Thread || a.ID == b.ID || a.ID != again.ID || a.Place != b.Place || string(a.ID) == a.Place {
		t.Errorf("topics %+v, %+v, %+v", a, b, again)
	}
	if r.SayInGroup == nil {
		return
	}
	r.SayInGroup("beside the topics", true)
	r.Took(t, 4)
	if group := r.Sink.Events()[3].Conversation; group.ID == a.ID || group.Place != a.Place {
		t.Errorf("the group around %+v is %+v", a, group)
	}
}

// ask sends a question with two buttons.
func (r *rig) ask(t *testing.T) channels.MessageID {
	t.Helper()
	out := r.outbound("Which one?", "question")
	out.Body.Buttons = []channels.Button{{Label: "Left", Code: "code-left"}, {Label: "Right", Code: "code-right"}}
	id, err := r.Channel.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func testPress(t *testing.T, r *rig) {
	r.run(t)
	id := r.ask(t)
	for i, label := range []string{"Right", "Right", "Left"} {
		r.Press(label)
		r.Took(t, i+1)
	}
	keys := map[channels.EventKey]bool{}
	for i, e := range r.Sink.Events() {
		keys[e.Key] = true
		want := channels.Action{Code: [...]string{"code-right", "code-right", "code-left"}[i], MessageID: id}
		if e.Kind != channels.EventAction || e.Sender.ID == "" || e.Conversation.ID != r.Conversation.ID {
			t.Errorf("a press is %+v", e)
		}
		if diff := cmp.Diff(want, e.Action); diff != "" {
			t.Error(diff)
		}
	}
	if len(keys) != 3 {
		t.Errorf("three presses have %d keys", len(keys))
	}
}

func testToast(t *testing.T, r *rig) {
	r.run(t)
	r.ask(t)
	r.Sink.Toast("Answered already.")
	r.Press("Left")
	testkit.Await(t, "the press is answered", Patience, func() bool { return len(r.Toasts()) == 1 })
	r.Sink.Toast("")
	r.Press("Right")
	testkit.Await(t, "the press is answered", Patience, func() bool { return len(r.Toasts()) == 2 })
	if diff := cmp.Diff([]string{"Answered already.", ""}, r.Toasts()); diff != "" {
		t.Error(diff)
	}
}

func testReactions(t *testing.T, r *rig) {
	r.run(t)
	r.send(t, "done", "n")
	for i, off := range []bool{false, true} {
		id := r.React("👍", off)
		r.Took(t, i+1)
		e := r.Sink.Events()[i]
		want := channels.Reaction{MessageID: id, Added: []string{"👍"}}
		if off {
			want.Added, want.Removed = nil, want.Added
		}
		if e.Kind != channels.EventReaction || e.Sender.ID == "" {
			t.Errorf("a reaction is %+v", e)
		}
		if diff := cmp.Diff(want, e.Reaction); diff != "" {
			t.Error(diff)
		}
	}
	if e := r.Sink.Events(); e[0].Key == e[1].Key {
		t.Errorf("two reactions have the key %q", e[0].Key)
	}
}

func testMember(t *testing.T, r *rig) {
	r.run(t)
	keys := map[channels.EventKey]bool{}
	for i, what := range []channels.Membership{channels.Joined, channels.Left, channels.Joined} {
		r.Member(what)
		r.Took(t, i+1)
		e := r.Sink.Events()[i]
		keys[e.Key] = true
		if e.Kind != channels.EventMember || e.Member != what || e.Conversation.Kind != channels.Group {
			t.Errorf("%s: %+v", what, e)
		}
	}
	if len(keys) != 3 {
		t.Errorf("three changes have %d keys", len(keys))
	}
}

func testMove(t *testing.T, r *rig) {
	r.run(t)
	r.SayInGroup("before", true)
	r.Took(t, 1)
	former, now := r.Move()
	r.Took(t, 2)
	r.SayInGroup("after", true)
	r.Took(t, 3)
	e := r.Sink.Events()
	if e[1].Kind != channels.EventMoved || e[1].Former != former || e[1].Conversation.ID != now || former == now {
		t.Errorf("the move is %+v", e[1])
	}
	if groupOf(e[0].Conversation) != former || groupOf(e[2].Conversation) != now {
		t.Errorf("before it %+v, after it %+v", e[0].Conversation, e[2].Conversation)
	}
}
