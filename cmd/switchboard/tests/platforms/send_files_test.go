//go:build linux

package platforms_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/channels"
	"switchboard/channels/platformtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// Files that a program uploads and sends arrive once each, also where the bot is killed before it could send them.
func TestSendCarriesUploadsOverAKill(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Append(fmt.Sprintf("[server]\nlisten = %q\n", testkit.FreeAddress(t)) + programtest.Token("ci", []string{"messages", "send"}) + programtest.Token("other", []string{"messages", "send"}))
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Up()
	r.Bot.Say(r.Chief.ID, "hello")
	r.Expect(r.Chief.ID, "heard: hello")

	upload := func(token, name, content string) (f channels.SessionFile) {
		t.Helper()
		w := r.Web(token)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.Address+"/v1/uploads?name="+name, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %v", resp.Status, err)
		}
		return f
	}
	send := func(want int, text string, files ...channels.SessionFile) (answer map[string]any) {
		t.Helper()
		ids := []string{}
		for _, f := range files {
			ids = append(ids, fmt.Sprint(f.ID))
		}
		r.Web("ci").Call(t, http.MethodPost, "/v1/channels/telegram/send", map[string]any{"person": "Chief", "text": text, "attachments": ids}, want, &answer)
		return answer
	}
	// arrived are the names and texts of the files that the chat shows.
	arrived := func() (all []string) {
		for _, m := range r.Bot.FromBot(r.Chief.ID) {
			if m.Document == nil {
				continue
			}
			f, _ := r.Bot.File(m.Document.FileID)
			all = append(all, m.Document.FileName+": "+string(f.Data))
		}
		return all
	}
	expect := func(want ...string) {
		t.Helper()
		r.Await("the files arrive", programtest.Patience, func() bool { return len(arrived()) >= len(want) })
		r.Settle()
		if got := arrived(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the chat has %q, want %q", got, want)
		}
	}

	one := upload("ci", "report.txt", "all is well\n")
	send(http.StatusAccepted, "", one)
	expect("report.txt: all is well\n")

	var away atomic.Bool
	away.Store(true)
	r.Bot.Break(platformtest.Fault{
		When: func(c platformtest.Call) bool { return away.Load() && strings.HasPrefix(c.Method, "send") }, Times: -1,
		Rejected: &telegramtest.Rejection{Code: http.StatusTooManyRequests, Description: "Too Many Requests: retry after 1", RetryAfter: 1},
	})
	two := upload("ci", "log.txt", "one line\n")
	send(http.StatusAccepted, "the night's log", two, one)
	r.Kill()
	away.Store(false)
	r.Up()
	expect("report.txt: all is well\n", "log.txt: one line\n", "report.txt: all is well\n")
	if n := len(r.Bot.FromBot(r.Chief.ID)); n != 5 || !strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "the night's log") {
		t.Errorf("the chat shows %q", r.Answers(r.Chief.ID))
	}

	// What may not go out is refused, and nothing is sent.
	held := upload("ci", "a.txt", "#!/bin/sh\n")
	send(http.StatusForbidden, "", held)
	send(http.StatusNotFound, "", upload("other", "theirs.txt", "theirs"))
	send(http.StatusBadRequest, "")
	r.Settle()
	if n := len(r.Bot.FromBot(r.Chief.ID)); n != 5 {
		t.Errorf("the chat has %d messages", n)
	}
}
