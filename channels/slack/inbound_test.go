package slack

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/testkit"
)

// A documented is a payload of testdata/events.json, as a page of the platform shows it, or
// as somebody reports it where no page does, and what it is to a bot that is the user U0LAN0Z89.
type documented struct {
	Page  string             `json:"page"`
	Is    channels.EventKind `json:"is"` // empty: nothing of ours
	Text  string             `json:"text"`
	Event json.RawMessage    `json:"event"`
	Whole bool               `json:"whole"` // it has no event inside
}

// Every kind of message and of event has a payload and becomes what its row in the table says.
func TestDocumentedEventsAreRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []documented
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	s, err := newSession(t.Context(), r.c, r.Sink, &self{Team: "T123ABC456", User: "U0LAN0Z89", Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, d := range all {
		var head struct{ Type, Subtype string }
		if err := json.Unmarshal(d.Event, &head); err != nil || !strings.HasPrefix(d.Page, "https://") {
			t.Errorf("%s: %v", d.Event, err)
		}
		shown["event "+head.Type], shown["message "+head.Subtype] = true, true
		payload := []byte(d.Event)
		if !d.Whole {
			payload = fmt.Appendf(nil, `{"type":"event_callback","team_id":"T123ABC456","event_id":"Ev123ABC456","event":%s}`, d.Event)
		}
		it, err := s.callback(payload)
		if err != nil {
			t.Errorf("%s (%s): %v", d.Event, d.Page, err)
			continue
		}
		var is channels.EventKind
		text := ""
		if it.event != nil {
			is, text = it.event.Kind, it.event.Message.Text
		}
		if is != d.Is || text != d.Text {
			t.Errorf("%s (%s) is %q, %q", d.Event, d.Page, is, text)
		}
	}
	for name := range subtypes {
		if !shown["message "+name] {
			t.Errorf("messages of the kind %q have no payload in testdata", name)
		}
	}
	for name := range kinds {
		if !shown["event "+name] {
			t.Errorf("events of the kind %q have no payload in testdata", name)
		}
	}
}

func TestWhatIsNotKnownIsKeptRaw(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.InjectEvent(map[string]string{"type": "tea_is_ready"})
	r.InjectEvent(map[string]string{"type": "message", "subtype": "of_tomorrow", "channel": "C1", "ts": "1.1"})
	r.Say(r.ada.ID, "after")
	events := r.Took(t, 3)
	for _, e := range events[:2] {
		if e.Kind != channels.EventUndecodable || !strings.Contains(string(e.Raw), "event_callback") || !strings.Contains(e.Reason, "not known here") {
			t.Errorf("%+v", e)
		}
	}
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
}

// An envelope that is no JSON is kept under its ID and acknowledged.
func TestBrokenEnvelopeIsKeptAndAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.InjectFrame(`{"envelope_id":"broken-1","type":"events_api","payload":{"a":` + "\x01" + `}}`)
	r.InjectFrame(`{"type":"nobody_knows"}`)
	r.Inject(`{"event":"\u0000`)
	r.Say(r.ada.ID, "with\x00NUL")
	events := r.Took(t, 3)
	if events[0].Kind != channels.EventUndecodable || events[1].Kind != channels.EventUndecodable || events[2].Message.Text != "with\ufffdNUL" {
		t.Errorf("%+v", events)
	}
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
}

// Own messages, those of other bots, previews and joins are nothing to answer.
func TestMessagesOfBotsAndPreviewsAreNoEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	if _, err := r.c.Send(t.Context(), outbound(conv(channel, "", channels.Group), "mine", "n")); err != nil {
		t.Fatal(err)
	}
	r.InjectEvent(map[string]any{"type": "message", "subtype": "bot_message", "channel": channel, "ts": "1700000000.000001", "bot_id": "B9", "text": "x"})
	r.InjectEvent(map[string]any{"type": "message", "channel": channel, "ts": "1700000000.000002", "user": "U9", "bot_id": "B9", "text": "x"})
	r.InjectEvent(map[string]any{"type": "message", "subtype": "channel_topic", "channel": channel, "ts": "1700000000.000003", "user": r.ada.ID, "text": "x"})
	m := r.Say(r.ada.ID, "https://example.com")
	r.Reannounce(r.Direct(r.ada.ID), m.TS)
	r.Say(r.ada.ID, "last")
	r.Took(t, 2)
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
	if diff := cmp.Diff([]string{"https://example.com", "last"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

// A mention begins a thread that is its own conversation; later messages in it need not
// name the bot, after a restart neither.
func TestMentionBeginsAThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard hello"})
	r.Took(t, 1)
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "and this?"})
	r.Took(t, 2)
	r.halt(t)
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "while away"})
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "not in it"})
	r.Forget()
	r.c = client(t, r.APIURL(), r.Server)
	r.run(t)
	for _, e := range r.Took(t, 4) {
		inThread := e.Message.Text != "not in it"
		want := conv(channel, "", channels.Group)
		if inThread {
			want = conv(channel, root.TS, channels.Thread)
		}
		if diff := cmp.Diff(want, e.Conversation); diff != "" || e.Message.Mentioned != inThread {
			t.Errorf("%q: mentioned %v, %s", e.Message.Text, e.Message.Mentioned, diff)
		}
	}
	if e := r.Sink.Events()[0]; e.Message.Text != "hello" || e.Sender.Label != "Ada Lovelace" {
		t.Errorf("%+v", e)
	}
}

// What the platform forgot to tell is read from history: messages, and changes of those
// that are near.
func TestHistoryFillsTheGap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	first := r.Say(r.ada.ID, "first")
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "in the channel"})
	r.Took(t, 2)
	r.halt(t)
	r.Edit(r.Direct(r.ada.ID), first.TS, "first, changed")
	r.Say(r.ada.ID, "second")
	missed := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard are you there?"})
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: missed.TS, Text: "please"})
	r.Forget()
	r.run(t)
	r.Say(r.ada.ID, "third")
	events := r.Took(t, 7)
	var direct []string
	for _, e := range events {
		if e.Conversation.Kind == channels.Direct {
			direct = append(direct, string(e.Kind)+" "+e.Message.Text)
		}
	}
	want := []string{"message first", "edited first, changed", "message second", "message third"}
	if diff := cmp.Diff(want, direct); diff != "" {
		t.Error(diff)
	}
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
}

// A message that was lost with an earlier connection comes before the one that follows it,
// in a chat that nothing is known of, too.
func TestLostFirstMessageComesBeforeTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	channel := r.AddChannel("general", r.ada).ID
	r.AddSilent(r.Direct(r.ada.ID), r.ada.ID, "first")
	r.AddSilent(channel, r.ada.ID, "not for the bot")
	r.run(t)
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "still not"})
	r.Say(r.ada.ID, "second")
	r.Say(r.ada.ID, "third")
	r.Took(t, 4)
	if diff := cmp.Diff([]string{"still not", "first", "second", "third"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
}

func TestGuestsAreOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	eve := r.AddGuest("Eve", "T0OTHER")
	channel := r.AddChannel("shared", r.ada, eve).ID
	r.Post(slacktest.Post{Channel: channel, User: eve.ID, Text: "@switchboard hi"})
	r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard hi"})
	events := r.Took(t, 2)
	if s := events[0].Sender; !s.Guest || s.Team != "T0OTHER" {
		t.Errorf("%+v", s)
	}
	if s := events[1].Sender; s.Guest || s.Team != r.Team() {
		t.Errorf("%+v", s)
	}
}

// On Enterprise Grid the team of an identity is the enterprise, whichever of its workspaces
// the app is installed in.
func TestTeamOfAnEnterpriseIsTheEnterprise(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Break(slacktest.Fault{Method: "auth.test", Times: -1, Status: 200, Body: fmt.Sprintf(
		`{"ok":true,"team":"Fake","user":"switchboard","team_id":%q,"user_id":%q,"enterprise_id":"E0ORG","is_enterprise_install":false}`, r.Team(), r.Bot().ID)})
	r.run(t)
	eve, chief := r.AddGuest("Eve", "T0OTHER"), r.AddGuest("Chief", "E0ORG")
	channel := r.AddChannel("shared", r.ada, eve, chief).ID
	for _, user := range []slacktest.User{r.ada, chief, eve} {
		r.Post(slacktest.Post{Channel: channel, User: user.ID, Text: "@switchboard hi"})
	}
	var got []channels.Sender
	for _, e := range r.Took(t, 3) {
		got = append(got, channels.Sender{Team: e.Sender.Team, Guest: e.Sender.Guest})
		if !strings.HasPrefix(string(e.Key), "E0ORG/") {
			t.Errorf("the key is %q", e.Key)
		}
	}
	if diff := cmp.Diff([]channels.Sender{{Team: "E0ORG"}, {Team: "E0ORG"}, {Team: "T0OTHER", Guest: true}}, got); diff != "" {
		t.Error(diff)
	}
}

// A message that is passed on comes with its files; one that has neither those nor words
// comes in words.
func TestForwardedMessagesComeWithTheirFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	pass := func(ts string, shared map[string]any) {
		shared["is_share"], shared["is_msg_unfurl"], shared["author_name"] = true, true, "Bob"
		r.InjectEvent(map[string]any{
			"type": "message", "channel": r.Direct(r.ada.ID), "channel_type": "im", "user": r.ada.ID, "text": "", "ts": ts, "attachments": []any{shared},
		})
	}
	pass("1700000000.000001", map[string]any{"text": "words", "files": []any{map[string]any{"id": "F1", "name": "memo.mp4", "mimetype": "audio/mp4", "subtype": "slack_audio"}}})
	pass("1700000000.000002", map[string]any{"text": ""})
	both := map[string]any{"text": "the minutes of <@U1|bob>", "is_share": true, "author_name": "Bob", "files": []any{map[string]any{"id": "F2", "name": "minutes.txt"}}}
	r.InjectEvent(map[string]any{
		"type": "message", "channel": r.Direct(r.ada.ID), "channel_type": "im", "user": r.ada.ID, "text": "Summarise this", "ts": "1700000000.000003",
		"attachments": []any{both, map[string]any{"is_share": true, "text": "more", "author_name": "Eve"}},
	})
	events := r.Took(t, 3)
	if m := events[2].Message; m.Forwarded || m.Text != "Summarise this" || m.Quote != "Bob: the minutes of @bob\n\nEve: more" || len(m.Attachments) != 1 {
		t.Errorf("%+v", m)
	}
	if m := events[0].Message; !m.Forwarded || m.Origin != "Bob" || m.Text != "words" || len(m.Attachments) != 1 || m.Attachments[0].Kind != channels.Voice {
		t.Errorf("%+v", m)
	}
	if m := events[1].Message; !m.Forwarded || m.Text != "[a message without words]" {
		t.Errorf("%+v", m)
	}
}

// The platform does not say in which thread the message is that somebody reacted to.
func TestReactionsInThreadsBelongToThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard hello"})
	reply := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "and this?"})
	here := r.Took(t, 2)[1].Conversation
	answer, err := r.c.Send(t.Context(), outbound(here, "yes", "n"))
	if err != nil {
		t.Fatal(err)
	}
	got := 2
	reacts := func(ts string) {
		t.Helper()
		got++
		r.React(channel, r.ada.ID, ts, "tada", got%2 == 0)
		if e := r.Took(t, got)[got-1]; e.Kind != channels.EventReaction || e.Conversation != here || string(e.Reaction.MessageID) != ts {
			t.Errorf("%+v", e)
		}
	}
	reacts(string(answer))
	reacts(string(answer))
	reacts(reply.TS)
	reacts(reply.TS)
	reacts(root.TS)
	reacts(root.TS)
	r.halt(t)
	r.c = client(t, r.APIURL(), r.Server)
	r.run(t)
	reacts(string(answer))
}

func TestFilesAnnouncedBeforeTheyAreKnownAreLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Post(slacktest.Post{
		Channel: r.Direct(r.ada.ID), User: r.ada.ID, Hidden: true,
		Files: []slacktest.File{{Kind: "voice", Name: "memo.mp4", Type: "audio/mp4", Data: []byte("sound")}},
	})
	a := r.Took(t, 1)[0].Message.Attachments
	if len(a) != 1 || a[0].Kind != channels.Voice || a[0].Name != "memo.mp4" || a[0].Size != 5 {
		t.Errorf("%+v", a)
	}
}

func TestTextIsReadWithNamesForIDs(t *testing.T) {
	t.Parallel()
	me := &self{User: "U1", Name: "bot"}
	for _, c := range []struct{ raw, want string }{
		{"<@U1> help", "help"},
		{"<@U1>: help <@U1>", "help @bot"},
		{"a &lt;b&gt; &amp;amp; <@U2|ada> <@U3>", "a <b> &amp; @ada @U3"},
		{"<!channel> <!here|here> <!subteam^S1|@team> <#C1|general>", "@channel @here @team #general"},
		{"<https://a.example/x?y=1&amp;z=2> <https://a.example|a.example> <https://a.example|this> <mailto:a@b.example|a@b.example>", "https://a.example/x?y=1&z=2 a.example this (https://a.example) a@b.example"},
		{"2 < 3 > 1", "2 < 3 > 1"},
	} {
		var m channels.Message
		if got := readText(c.raw, me, &m); got != c.want && c.raw != "2 < 3 > 1" {
			t.Errorf("%q is %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestMarksAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, m := range []mark{{ts: "1.2"}, {ts: "1.2", mentioned: true, root: true}, {ts: "1.2", group: true}} {
		if got, ok := parseMark(m.String()); !ok || got != m {
			t.Errorf("%q is %+v", m, got)
		}
	}
	if _, ok := parseMark("x"); ok {
		t.Error("x is a mark")
	}
}

// What goes to the platform's own addresses goes there unseen by others.
func TestPlainAddressesAreNotTrusted(t *testing.T) {
	t.Parallel()
	c := New("sl", DefaultConfig(), discard())
	for address, want := range map[string]bool{
		"https://slack.com/x": true, "https://files.slack.com/x": true, "wss://wss-primary.slack.com/link": true,
		"http://slack.com/x": false, "http://files.slack.com/x": false, "https://slack.com.example/x": false, "https://slack.com:8443/x": false,
	} {
		if u, err := url.Parse(address); err != nil || c.mayTrust(u) != want {
			t.Errorf("%s: %v, want %v", address, !want, want)
		}
	}
}

// A platform that does not say what people are called holds back what they say once, not each time.
func TestNamesThatAreNotToldAreNotAskedForEachTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Break(slacktest.Fault{Method: "users.info", Times: -1, Cut: true})
	for n := range 4 {
		r.Say(r.ada.ID, strconv.Itoa(n))
	}
	r.Took(t, 4)
	if n := len(r.Calls("users.info")); n > 2 { // the transport tries a cut call once more
		t.Errorf("asked %d times", n)
	}
}
