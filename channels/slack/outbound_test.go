package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/slack/slacktest"
)

// No text can mention anybody: not in a send, a change, a draft, a button's label.
func TestNobodyIsMentioned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	evil := "<!channel> <!here> @everyone @here <!subteam^S012|team> <@" + r.ada.ID + "> <#C1>"
	body := r.c.Format(render.Parse(strings.ReplaceAll(evil, "<", `\<`)), r.c.Features(r.direct()))[0]
	body.Buttons = []channels.Button{{Label: evil, Code: "x"}}
	out := outbound(r.direct(), "", "n")
	out.Body = body
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for _, m := range r.FromBot(r.Direct(r.ada.ID)) {
			if m.Seen != evil || strings.ContainsAny(m.Text, "<>") || strings.Contains(string(m.Blocks), `"user"`) || strings.Contains(string(m.Blocks), `"broadcast"`) {
				t.Errorf("%q, %q, %s", m.Seen, m.Text, m.Blocks)
			}
		}
	}
	check()
	if err := r.c.Edit(t.Context(), r.direct(), id, channels.Body{Text: evil}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.Draft(t.Context(), "", outbound(r.direct(), evil, "d")); err != nil {
		t.Fatal(err)
	}
	check()
	// What a model makes of it: entities that come back, two nodes, code, the text of a link, a table.
	for _, markdown := range []string{
		"&lt;!channel&gt; &lt;@" + r.ada.ID + "&gt; &amp;lt;!here&amp;gt;", "<**!channel**> @**everyone** *@*here", "`<!here>` ```\n<!channel>\n```",
		"[<!here>](https://x.example/?a=<!channel>) <https://x.example/|<!here>>", "| <!channel> |\n|---|\n| @here |", "<\u200b!channel>\u2060<!here>",
		strings.Repeat("a <!channel> ", 1000),
	} {
		for _, body := range r.c.Format(render.Parse(markdown), r.c.Features(r.direct())) {
			out.Body, out.Nonce = body, ""
			if _, err := r.c.Send(t.Context(), out); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range r.FromBot(r.Direct(r.ada.ID)) {
		for _, kind := range []string{"user", "usergroup", "broadcast", "channel", "mrkdwn"} {
			if strings.ContainsAny(m.Text, "<>") || strings.Contains(string(m.Blocks), `"type":"`+kind+`"`) {
				t.Errorf("%q, %s", m.Text, m.Blocks)
			}
		}
	}
	for _, call := range append(r.Calls("chat.postMessage"), r.Calls("chat.update")...) {
		if call.Values["unfurl_links"] != "false" || call.Values["unfurl_media"] != "false" {
			t.Errorf("%v", call.Values)
		}
	}
}

func withFiles(c channels.Conversation, nonce string, names ...string) channels.Outbound {
	out := channels.Outbound{Conversation: c, Nonce: nonce, Last: true}
	for _, name := range names {
		out.Body.Files = append(out.Body.Files, channels.File{Blob: name, Name: name, Size: int64(len(name))})
	}
	out.Open = func(f channels.File) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(f.Blob)), nil }
	return out
}

// Until the files are shown nothing was sent, whatever was lost.
func TestUploadsThatFailAreNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, f := range []slacktest.Fault{
		{Method: "files.getUploadURLExternal", Lost: true}, {Method: "upload", Cut: true}, {Method: "upload", Status: 503, Body: "ill"},
	} {
		r.Break(f)
		_, err := r.c.Send(t.Context(), withFiles(r.direct(), "n", "a.txt"))
		refused, ok := errors.AsType[*channels.RefusedError](err)
		if !ok || !refused.Temporary {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if shown := r.FromBot(r.Direct(r.ada.ID)); len(shown) != 0 {
		t.Errorf("%+v", shown)
	}
}

// The token goes nowhere but to the platform.
func TestTokenStaysWithThePlatform(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, address := range []string{"http://evil.example/x", "https://slack.com.evil.example/x", "https://evilslack.com/x", "http://files.slack.com/x", "https://slack.com:99/x"} {
		if r.c.mayTrust(parsed(t, address)) {
			t.Errorf("%s is trusted", address)
		}
	}
	for _, address := range []string{r.URL() + "/files-pri/x", "https://files.slack.com/x", "wss://wss-primary.slack.com/link"} {
		if !r.c.mayTrust(parsed(t, address)) {
			t.Errorf("%s is not trusted", address)
		}
	}
}

// A 5xx may have been done: nobody knows, and it is looked up.
func TestServerErrorOfASendIsUncertain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, f := range []slacktest.Fault{
		{Method: "chat.postMessage", Status: 502, Body: "<html>"},
		{Method: "chat.postMessage", Rejected: &slacktest.Rejection{Code: "internal_error"}},
		{Method: "chat.postMessage", Half: true},
	} {
		r.Break(f)
		_, err := r.c.Send(t.Context(), outbound(r.direct(), "x", "n"))
		_, refused := errors.AsType[*channels.RefusedError](err)
		if err == nil || refused || errors.Is(err, channels.ErrNotConnected) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestPartIsFoundInItsThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	channel := r.AddChannel("general", r.ada).ID
	root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard hi"})
	out := outbound(conv(channel, root.TS, channels.Thread), "answer", "n1")
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := r.c.Find(t.Context(), out); err != nil || !ok || got != id {
		t.Errorf("%q, %v, %v", got, ok, err)
	}
}

// A part that is not on the pages that are looked through may be behind them: nobody knows. Apps
// that are limited get 15 messages a page.
func TestPartBehindThePagesIsNotCalledAbsent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.paces.limit(true)
	out := outbound(r.direct(), "answer", "n1")
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	for range maxPages*limitedSize - 1 {
		r.AddSilent(r.Direct(r.ada.ID), r.ada.ID, "x")
	}
	if got, ok, err := r.c.Find(t.Context(), out); err != nil || !ok || got != id {
		t.Errorf("on the last page: %q, %v, %v", got, ok, err)
	}
	r.AddSilent(r.Direct(r.ada.ID), r.ada.ID, "x")
	if _, ok, err := r.c.Find(t.Context(), out); err == nil || ok {
		t.Errorf("behind it: %v, %v", ok, err)
	}
	if _, ok, err := r.c.Find(t.Context(), outbound(r.direct(), "", "never")); err == nil || ok {
		t.Errorf("what was never sent: %v, %v", ok, err)
	}
}

func TestReactionTakesThePlaceOfTheOneBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.Say(r.ada.ID, "x")
	for _, emoji := range []string{"👀", "👀", "✅", "", ""} {
		if err := r.c.React(t.Context(), r.direct(), channels.MessageID(m.TS), emoji); err != nil {
			t.Fatalf("%q: %v", emoji, err)
		}
	}
	if n := len(r.Calls("reactions.add")); n != 2 {
		t.Errorf("%d calls", n)
	}
	if n := len(r.Calls("reactions.remove")); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// History is read as slowly as the platform wants it, and doctor says so.
func TestLimitedHistoryIsReadSlowly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 20 {
		r.AddSilent(r.Direct(r.ada.ID), r.ada.ID, "x")
	}
	r.LimitHistory()
	if _, err := r.c.askHistory(t.Context(), r.Direct(r.ada.ID), "", "", ""); err != nil {
		t.Fatal(err)
	}
	if !r.c.paces.isLimited() {
		t.Error("the limit is not recognised")
	}
	found := ""
	for _, f := range r.c.Examine(t.Context()) {
		found += f.Text
	}
	if !strings.Contains(found, "15 messages a minute") || !strings.Contains(found, "bot token is good") || !strings.Contains(found, "Socket Mode is on") {
		t.Error(found)
	}
}

func TestExamineSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Scopes("chat:write")
	all, _ := json.Marshal(r.c.Examine(t.Context()))
	if !bytes.Contains(all, []byte("im:history")) || !bytes.Contains(all, []byte("install it again")) {
		t.Errorf("%s", all)
	}
	r.Revoke(true)
	all, _ = json.Marshal(r.c.Examine(t.Context()))
	if !bytes.Contains(all, []byte("copy the bot token")) || bytes.Contains(all, []byte(r.BotToken())) {
		t.Errorf("%s", all)
	}
}

// The client keeps to the limits that its features say; then nothing is refused.
func TestRatesFitThePlatform(t *testing.T) {
	t.Parallel()
	f := New("sl", Config{}, discard()).Features(channels.Conversation{})
	if every := time.Duration(float64(time.Second) / f.Rates.PerConversationSecond); every < time.Second || f.Rates.PerSecond*60 > 300 {
		t.Errorf("%+v", f.Rates)
	}
}
