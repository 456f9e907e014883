package slacktest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call makes a call with a token and returns the answer.
func call(t *testing.T, s *slacktest.Server, token, method string, values url.Values) (answer map[string]any, header http.Header, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.APIURL()+method, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer, resp.Header, resp.StatusCode
}

func TestBadCallsAreRefused(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	s.Limit(false)
	ada := s.AddUser("Ada")
	dm, channel, foreign := s.Direct(ada.ID), s.AddChannel("general", ada).ID, s.AddForeign("out", ada).ID
	hers := s.Say(ada.ID, "hello").TS
	const rich = `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"x"}]}]}]`
	for _, c := range []struct{ method, values, want string }{
		{"chat.postMessage", "channel=" + dm, "no_text"},
		{"chat.postMessage", "text=x", "channel_not_found"},
		{"chat.postMessage", "text=x&channel=" + foreign, "not_in_channel"},
		{"chat.postMessage", "text=x&thread_ts=1.1&channel=" + channel, "thread_not_found"},
		{"chat.postMessage", "text=" + strings.Repeat("x", 40_001) + "&channel=" + dm, "msg_too_long"},
		{"chat.postMessage", "text=x&blocks=[{}]&channel=" + dm, "invalid_blocks"},
		{"chat.postMessage", "text=x&blocks={&channel=" + dm, "invalid_blocks_format"},
		{"chat.postMessage", "text=x&blocks=" + url.QueryEscape(`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":""}]}]}]`) + "&channel=" + dm, "invalid_blocks"},
		{"chat.postMessage", "text=x&blocks=" + url.QueryEscape(strings.Replace(rich, `"x"`, `"`+strings.Repeat("x", 14_000)+`"`, 1)) + "&channel=" + dm, "msg_blocks_too_long"},
		{"chat.postMessage", "text=x&metadata=" + url.QueryEscape(`{"event_type":""}`) + "&channel=" + dm, "invalid_metadata_format"},
		{"chat.postMessage", "blocks=" + url.QueryEscape(rich) + "&channel=" + dm, ""},
		{"chat.update", "text=x&ts=1.1&channel=" + dm, "message_not_found"},
		{"chat.update", "text=x&ts=" + hers + "&channel=" + dm, "cant_update_message"},
		{"chat.delete", "ts=" + hers + "&channel=" + dm, "cant_delete_message"},
		{"conversations.history", "channel=" + foreign, "not_in_channel"},
		{"conversations.history", "limit=1000&channel=" + dm, "invalid_limit"},
		{"conversations.replies", "ts=1.1&channel=" + dm, "thread_not_found"},
		{"reactions.add", "name=A!&timestamp=" + hers + "&channel=" + dm, "invalid_name"},
		{"reactions.remove", "name=eyes&timestamp=" + hers + "&channel=" + dm, "no_reaction"},
		{"files.getUploadURLExternal", "filename=x&length=0", "invalid_arguments"},
		{"files.completeUploadExternal", "files=" + url.QueryEscape(`[{"id":"F1"}]`) + "&channel_id=" + dm, "file_not_found"},
		{"agents.sessions.setStatus", "status=busy&channel_id=" + dm, "invalid_arguments"},
		{"apps.connections.open", "", "not_allowed_token_type"},
		{"chat.nothing", "", "unknown_method"},
	} {
		values, err := url.ParseQuery(c.values)
		if err != nil {
			t.Fatal(err)
		}
		answer, _, _ := call(t, s, s.BotToken(), c.method, values)
		if got, _ := answer["error"].(string); got != c.want || answer["ok"] != (c.want == "") {
			t.Errorf("%s %.80s: %v, want %q", c.method, c.values, answer, c.want)
		}
	}
}

// Tokens are checked on every call.
func TestWrongTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	for token, want := range map[string]string{"": "not_authed", "xoxb-no": "invalid_auth", s.AppToken(): "not_allowed_token_type"} {
		if answer, _, _ := call(t, s, token, "users.info", url.Values{}); answer["error"] != want {
			t.Errorf("%q: %v", token, answer)
		}
	}
	s.Scopes("im:read")
	if answer, _, _ := call(t, s, s.BotToken(), "users.info", url.Values{}); answer["error"] != "missing_scope" || answer["needed"] != "users:read" {
		t.Errorf("%v", answer)
	}
	s.Revoke(true)
	if answer, _, _ := call(t, s, s.BotToken(), "auth.test", url.Values{}); answer["error"] != "token_revoked" {
		t.Errorf("%v", answer)
	}
}

func TestCallsBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	dm := s.Direct(s.AddUser("Ada").ID)
	for range 3 {
		call(t, s, s.BotToken(), "chat.postMessage", url.Values{"channel": {dm}, "text": {"x"}})
	}
	answer, header, status := call(t, s, s.BotToken(), "chat.postMessage", url.Values{"channel": {dm}, "text": {"x"}})
	if answer["error"] != "ratelimited" || status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || s.Refused() != 1 {
		t.Errorf("%v, %d, %v", answer, status, header)
	}
}

// open opens a socket.
func open(t *testing.T, s *slacktest.Server) *websocket.Conn {
	t.Helper()
	answer, _, _ := call(t, s, s.AppToken(), "apps.connections.open", url.Values{})
	conn, resp, err := websocket.DefaultDialer.Dial(answer["url"].(string), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	return conn
}

func read(t *testing.T, conn *websocket.Conn) (frame map[string]any) {
	t.Helper()
	if err := conn.ReadJSON(&frame); err != nil {
		t.Fatal(err)
	}
	return frame
}

// What is not acknowledged comes again, with its attempt; a ticket is good once.
func TestUnacknowledgedEventComesAgain(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	s.Retry(30 * time.Millisecond)
	conn := open(t, s)
	if f := read(t, conn); f["type"] != "hello" || f["num_connections"] != 1.0 {
		t.Errorf("%v", f)
	}
	s.Say(s.AddUser("Ada").ID, "a <b>")
	first, again := read(t, conn), read(t, conn)
	if first["envelope_id"] != again["envelope_id"] || first["retry_attempt"] != 0.0 || again["retry_attempt"] != 1.0 {
		t.Errorf("%v\n%v", first, again)
	}
	event := first["payload"].(map[string]any)["event"].(map[string]any)
	if event["text"] != "a &lt;b&gt;" || event["channel_type"] != "im" {
		t.Errorf("%v", event)
	}
	if err := conn.WriteJSON(map[string]any{"envelope_id": first["envelope_id"]}); err != nil {
		t.Fatal(err)
	}
	if err := s.Await(t.Context(), func() bool { return s.Pending() == 0 }); err != nil {
		t.Error(err)
	}
	s.Disconnect("refresh_requested")
	f := read(t, conn)
	for f["envelope_id"] == first["envelope_id"] { // copies that were on the way
		f = read(t, conn)
	}
	if f["type"] != "disconnect" || f["reason"] != "refresh_requested" {
		t.Errorf("%v", f)
	}
}

func TestEleventhSocketIsRefused(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	for range 10 {
		read(t, open(t, s))
	}
	if f := read(t, open(t, s)); f["reason"] != "too_many_websockets" {
		t.Errorf("%v", f)
	}
}

// The page shows what everybody sees, and people write there as in the apps.
func TestPageShowsWhatEverybodySees(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	ada := s.Furnish()
	v := s.View(ada.ID, "")
	if len(v.Users) != 2 || len(v.Chats) != 3 {
		t.Fatalf("%+v", v)
	}
	chat := v.Chats[0].ID
	if _, err := s.Do(platformtest.Deed{Name: "send", User: ada.ID, Chat: chat, Text: "hello <b>"}); err != nil {
		t.Fatal(err)
	}
	call(t, s, s.BotToken(), "chat.postMessage", url.Values{"channel": {chat}, "text": {"x"}, "blocks": {
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"bold","style":{"bold":true}}]}]},
		{"type":"actions","elements":[{"type":"button","action_id":"b0","value":"c","text":{"type":"plain_text","text":"Yes"}}]}]`,
	}})
	m := s.View(ada.ID, chat).Messages
	if len(m) != 2 || m[0].Text != "hello <b>" || m[1].Text != "bold" || len(m[1].Marks) != 1 || len(m[1].Buttons) != 1 || !m[1].Bot {
		t.Errorf("%+v", m)
	}
	if _, err := s.Do(platformtest.Deed{Name: "edit", User: ada.ID, Chat: chat, Message: m[1].ID, Text: "x"}); err == nil {
		t.Error("the bot's message is edited by a person")
	}
	for _, d := range []platformtest.Deed{{Text: "/switchboard help", Thread: m[0].ID}, {Text: "/switchboard help", Message: m[0].ID}} {
		d.Name, d.User, d.Chat = "send", ada.ID, chat
		if _, err := s.Do(d); err == nil {
			t.Errorf("a command was taken in a thread: %+v", d)
		}
	}
	if _, err := s.Do(platformtest.Deed{Name: "send", User: ada.ID, Chat: chat, Text: "/unknown"}); err == nil {
		t.Error("there is no such command")
	}
}
