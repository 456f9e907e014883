package discordtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
)

// stage is a guild with a channel and a person, and the real library as the bot.
type stage struct {
	*discordtest.Server
	t       *testing.T
	lib     *discordgo.Session
	ada     discordtest.User
	general string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := discordtest.New(t)
	s.Limit(discordtest.Rates{}) // one test sets its own
	st := &stage{Server: s, t: t, lib: library(t, s), ada: s.AddUser("Ada Lovelace")}
	st.general = s.AddChannel(s.AddGuild("Friends", st.ada), "general").ID
	return st
}

func (st *stage) call(method, path string, body, v any) error {
	st.t.Helper()
	return call(st.t, st.Server, st.lib, method, path, body, v)
}

// send posts a text and returns the message.
func (st *stage) send(body map[string]any) (m discordtest.Message, err error) {
	st.t.Helper()
	err = st.call(http.MethodPost, "/channels/"+st.general+"/messages", body, &m)
	return m, err
}

// A nonce is enforced where that is asked for, told to whoever sent it, and never in history.
func TestNonceIsEnforcedWhereAsked(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ids := map[string]bool{}
	for range 2 {
		m, err := st.send(map[string]any{"content": "x", "nonce": "n", "enforce_nonce": true})
		if err != nil {
			t.Fatal(err)
		}
		ids[m.ID] = true
	}
	if _, err := st.send(map[string]any{"content": "x", "nonce": "n"}); err != nil {
		t.Fatal(err)
	}
	if n := len(st.FromBot(st.general)); n != 2 || len(ids) != 1 {
		t.Errorf("%d messages, %v", n, ids)
	}
	var history []discordtest.Message
	if err := st.call(http.MethodGet, "/channels/"+st.general+"/messages", nil, &history); err != nil || len(history) != 2 || history[0].Nonce != nil {
		t.Errorf("%v: %+v", err, history)
	}
	st.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	if m, err := st.send(map[string]any{"content": "x", "nonce": "n", "enforce_nonce": true}); err != nil || ids[m.ID] {
		t.Errorf("%v: after an hour %+v", err, m)
	}
}

func TestHistoryIsReadByItsLimits(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	var ids []string
	now := time.Now()
	st.SetClock(func() time.Time { now = now.Add(time.Millisecond); return now }) // those of one have no order
	for i := range 5 {
		ids = append(ids, st.SayIn(st.general, st.ada.ID, fmt.Sprint(i)).ID)
	}
	for query, want := range map[string]string{
		"":                                       "43210",
		"?limit=2":                               "43",
		"?limit=2&after=" + ids[1]:               "32",
		"?limit=2&before=" + ids[2]:              "10",
		"?after=" + ids[0] + "&before=" + ids[4]: "321",
		"?limit=100&after=" + ids[4]:             "",
		"?limit=3&after=100000000000000000":      "210",
	} {
		var list []discordtest.Message
		if err := st.call(http.MethodGet, "/channels/"+st.general+"/messages"+query, nil, &list); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range list {
			got += m.Content
		}
		if got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	if err := st.call(http.MethodGet, "/channels/"+st.general+"/messages?limit=101", nil, nil); code(err) != 50035 {
		t.Error(err)
	}
}

func TestBadCallsAreRefused(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	theirs := st.SayIn(st.general, st.ada.ID, "hello").ID
	here := "/channels/" + st.general + "/messages"
	button := func(label, id string) []any {
		return []any{map[string]any{"type": 1, "components": []any{map[string]any{"type": 2, "style": 2, "label": label, "custom_id": id}}}}
	}
	for name, c := range map[string]struct {
		method, path string
		body         any
		code         int
	}{
		"an empty message":        {"POST", here, map[string]any{"content": " "}, 50006},
		"a long text":             {"POST", here, map[string]any{"content": strings.Repeat("x", 2001)}, 50035},
		"a long nonce":            {"POST", here, map[string]any{"content": "x", "nonce": strings.Repeat("n", 26)}, 50035},
		"a long label":            {"POST", here, map[string]any{"content": "x", "components": button(strings.Repeat("l", 81), "x")}, 50035},
		"a button without a code": {"POST", here, map[string]any{"content": "x", "components": button("l", "")}, 50035},
		"an answer to nothing":    {"POST", here, map[string]any{"content": "x", "message_reference": map[string]any{"message_id": "5"}}, 50035},
		"a text of another type":  {"POST", here, map[string]any{"content": []int{1}}, 50035},
		"no such channel":         {"POST", "/channels/5/messages", map[string]any{"content": "x"}, 10003},
		"no such message":         {"PATCH", here + "/5", map[string]any{"content": "x"}, 10008},
		"somebody else's message": {"PATCH", here + "/" + theirs, map[string]any{"content": "x"}, 50005},
		"to delete that":          {"DELETE", here + "/" + theirs, nil, 50013},
		"a thread without a name": {"POST", here + "/" + theirs + "/threads", map[string]any{"name": ""}, 50035},
		"no such interaction":     {"POST", "/interactions/5/x/callback", map[string]any{"type": 6}, 10062},
		"a command's name":        {"POST", "/applications/1/commands", map[string]any{"name": "Bad Name", "description": "x"}, 50035},
		"a sign that is none":     {"PUT", here + "/" + theirs + "/reactions/x/@me", nil, 10014},
	} {
		if err := st.call(c.method, c.path, c.body, nil); code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for permissions, want := range map[uint64]int{discordtest.ViewChannel: 50001, discordtest.SendMessages: 50013} {
		st.Deny(st.general, permissions)
		if _, err := st.send(map[string]any{"content": "x"}); code(err) != want {
			t.Errorf("without %d: %v", permissions, err)
		}
	}
	st.Deny(st.general, 0)
	st.Revoke()
	if _, err := st.send(map[string]any{"content": "x"}); err == nil || st.Invalid() == 0 {
		t.Errorf("with a wrong token: %v", err)
	}
}

func TestThreadsHaveTheNumberOfTheirMessage(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	first := st.SayIn(st.general, st.ada.ID, "hello").ID
	var c discordtest.Channel
	path := "/channels/" + st.general + "/messages/" + first + "/threads"
	if err := st.call(http.MethodPost, path, map[string]any{"name": "talk"}, &c); err != nil || c.ID != first || c.ParentID != st.general {
		t.Fatalf("%v: %+v", err, c)
	}
	if err := st.call(http.MethodPost, path, map[string]any{"name": "talk"}, nil); code(err) != 160004 {
		t.Error(err)
	}
}

func TestFilesOfTheBotAreShown(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	data := &discordgo.MessageSend{Content: "see"}
	contentType, body, err := discordgo.MultipartBodyWithJSON(data, []*discordgo.File{{Name: "a b.txt", ContentType: "text/plain", Reader: strings.NewReader("hello")}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := st.lib.RequestRaw(http.MethodPost, st.APIURL()+"/channels/"+st.general+"/messages", contentType, body, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	m := st.FromBot(st.general)[0]
	if len(m.Attachments) != 1 || m.Attachments[0].Filename != "a_b.txt" || m.Attachments[0].Title != "a b" || !bytes.Contains(answer, []byte(m.ID)) {
		t.Fatalf("%+v", m)
	}
	resp, err := http.Get(m.Attachments[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(resp.Body); err != nil || got.String() != "hello" {
		t.Errorf("%v: %q", err, got.String())
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestCallsBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.Limit(discordtest.Rates{Calls: 2, Window: time.Minute, Global: 4})
	post := func() error {
		_, err := st.lib.RequestWithLockedBucket(http.MethodPost, st.APIURL()+"/channels/"+st.general+"/messages", "application/json",
			[]byte(`{"content":"x"}`), discordgo.NewRatelimiter().LockBucket("x"), 0)
		return err
	}
	var kinds []string
	for range 5 {
		err := post()
		limited, ok := errors.AsType[*discordgo.RateLimitError](err)
		switch {
		case ok:
			kinds = append(kinds, limited.Message)
		case err == nil:
			kinds = append(kinds, "sent")
		default:
			t.Fatal(err)
		}
	}
	bucket := "You are being rate limited."
	if diff := cmp.Diff([]string{"sent", "sent", bucket, bucket, bucket}, kinds); diff != "" || st.Refused() != 3 || st.Invalid() != 3 {
		t.Errorf("%s, %d refused, %d invalid", diff, st.Refused(), st.Invalid())
	}
}

// An interaction waits three seconds, for one answer.
func TestInteractionTakesOneAnswerInTime(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	now := time.Now()
	st.SetClock(func() time.Time { return now })
	b := connect(t, st.Server)
	b.identify(st.Server, everything)
	b.until("READY")
	m, err := st.send(map[string]any{"content": "x", "components": []any{map[string]any{"type": 1, "components": []any{map[string]any{"type": 2, "style": 2, "label": "Left", "custom_id": "l"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(id string) error {
		told := string(b.until("INTERACTION_CREATE").Data)
		_, rest, _ := strings.Cut(told, `"token":"`)
		token, _, _ := strings.Cut(rest, `"`)
		err := st.call(http.MethodPost, "/interactions/"+id+"/"+token+"/callback", map[string]any{"type": 6}, nil)
		if err == nil {
			if err := st.call(http.MethodPost, "/interactions/"+id+"/"+token+"/callback", map[string]any{"type": 6}, nil); code(err) != 40060 {
				t.Errorf("answered twice: %v", err)
			}
		}
		return err
	}
	first := st.Press(st.general, st.ada.ID, m.ID, "Left")
	if err := answer(first); err != nil || len(st.Answers(first)) != 1 {
		t.Errorf("%v, %+v", err, st.Answers(first))
	}
	second := st.Give(st.general, st.ada.ID, "help", "")
	st.SetClock(func() time.Time { return now.Add(4 * time.Second) })
	if err := answer(second); code(err) != 10062 {
		t.Errorf("answered late: %v", err)
	}
}

func TestPageShowsAndSendsAsPeopleDo(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	ada := s.Furnish()
	v := s.View(ada.ID, "")
	if len(v.Users) != 2 || len(v.Chats) != 3 || !v.Chats[0].Direct || v.Connected {
		t.Fatalf("%+v", v)
	}
	general := v.Chats[1].ID
	do := func(d platformtest.Deed) any {
		t.Helper()
		d.User = ada.ID
		result, err := s.Do(d)
		if err != nil {
			t.Fatalf("%+v: %v", d, err)
		}
		return result
	}
	do(platformtest.Deed{Name: "send", Chat: general, Text: "@switchboard-dev **hi** `x`", Files: []platformtest.File{{Name: "a.txt", Data: []byte("a")}}})
	m := s.View(ada.ID, general).Messages[0]
	if m.Text != "@switchboard-dev hi x" || len(m.Marks) != 3 || len(m.Files) != 1 {
		t.Errorf("%+v", m)
	}
	do(platformtest.Deed{Name: "edit", Chat: general, Message: m.ID, Text: "changed"})
	do(platformtest.Deed{Name: "react", Chat: general, Message: m.ID, Text: "👍 👀"})
	do(platformtest.Deed{Name: "react", Chat: general, Message: m.ID, Text: "👍"})
	if m := s.View(ada.ID, general).Messages[0]; m.Text != "changed" || len(m.Before) != 1 || len(m.Reactions) != 1 {
		t.Errorf("%+v", m)
	}
	thread := v.Chats[2].Threads[0].ID
	do(platformtest.Deed{Name: "send", Chat: v.Chats[2].ID, Thread: thread, Text: "in the thread"})
	if m := s.View(ada.ID, v.Chats[2].ID).Messages; len(m) != 1 || m[0].Thread != thread {
		t.Errorf("%+v", m)
	}
	do(platformtest.Deed{Name: "delete", Chat: general, Message: m.ID})
	do(platformtest.Deed{Name: "person", Text: "Grace"})
	if v := s.View(ada.ID, general); len(v.Messages) != 0 || len(v.Users) != 3 {
		t.Errorf("%+v", v)
	}
	for _, d := range []platformtest.Deed{
		{Name: "send", User: "5", Chat: general, Text: "x"},
		{Name: "send", User: ada.ID, Chat: "5", Text: "x"},
		{Name: "edit", User: ada.ID, Chat: general, Message: "5", Text: "x"},
		{Name: "send", User: ada.ID, Chat: general},
	} {
		if _, err := s.Do(d); err == nil {
			t.Errorf("%+v was done", d)
		}
	}
}
