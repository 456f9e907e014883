package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/testkit"
)

// post calls h as the platform does, at a time and with a secret.
func post(h http.Handler, contentType, body, secret string, at time.Time) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/slack", strings.NewReader(body))
	stamp := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// The example of the platform's page is signed as it says.
//
// Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
func TestDocumentedSignatureIsTaken(t *testing.T) {
	t.Parallel()
	c := New("sl", Config{SigningSecret: "8f742231b10e8888abcd99yyyzzz85a5"}, discard())
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	header := http.Header{}
	header.Set("X-Slack-Request-Timestamp", "1531420618")
	header.Set("X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
	now := time.Unix(1531420618, 0)
	if !c.signed(header, []byte(body), now) || c.signed(header, []byte(body+"x"), now) || c.signed(header, []byte(body), now.Add(6*time.Minute)) {
		t.Error("the signature is judged wrongly")
	}
}

func TestHandlerTakesSignedRequestsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.Mode, r.c.cfg.EventsURL = ModeEvents, "https://bot.example/slack"
	h, now := r.c.Handler(), time.Now()
	const jsonType, formType = "application/json", "application/x-www-form-urlencoded"
	event := `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","channel":"D0FAKE1","channel_type":"im","user":"` + r.ada.ID + `","text":"hello","ts":"1700000000.000001"}}`
	if w := post(h, jsonType, event, r.SigningSecret(), now); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", w.Code)
	}
	runEvents(t, r)
	if w := post(h, jsonType, `{"type":"url_verification","challenge":"abc"}`, r.SigningSecret(), now); w.Body.String() != "abc" {
		t.Errorf("challenge: %d %s", w.Code, w.Body)
	}
	for _, w := range []*httptest.ResponseRecorder{post(h, jsonType, event, "wrong", now), post(h, jsonType, event, r.SigningSecret(), now.Add(-6*time.Minute))} {
		if w.Code != http.StatusUnauthorized {
			t.Errorf("a wrong or old signature: %d", w.Code)
		}
	}
	r.Sink.Fail(1)
	if w := post(h, jsonType, event, r.SigningSecret(), now); w.Code != http.StatusServiceUnavailable {
		t.Errorf("not taken: %d", w.Code)
	}
	for range 2 {
		if w := post(h, jsonType, event, r.SigningSecret(), now); w.Code != http.StatusOK {
			t.Errorf("%d", w.Code)
		}
	}
	if w := post(h, jsonType, `{"event":`, r.SigningSecret(), now); w.Code != http.StatusOK {
		t.Errorf("unreadable: %d", w.Code)
	}
	channel := r.AddForeign("out", r.ada).ID
	form := url.Values{"command": {"/switchboard"}, "text": {"help"}, "channel_id": {channel}, "user_id": {r.ada.ID}, "trigger_id": {"t1"}}
	if w := post(h, formType, form.Encode(), r.SigningSecret(), now); !strings.Contains(w.Body.String(), "Invite me") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	events := r.Took(t, 2)
	if events[0].Message.Text != "hello" || events[1].Kind != channels.EventUndecodable || len(events) != 2 {
		t.Errorf("%+v", events)
	}
}

// Of a post that mentions the bot the first event is taken, and may lack its thread or its files: those
// are read, while the platform waits for an answer. It is taken where they cannot be.
func TestCalledMentionIsReadWhole(t *testing.T) {
	t.Parallel()
	file := []slacktest.File{{Kind: "document", Name: "notes.txt", Type: "text/plain", Data: []byte("x")}}
	for how, first := range map[string]string{"the message": "message", "the mention": "app_mention"} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s first, silent history %v", how, silent), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.c.cfg.Mode, r.c.cfg.EventsURL = ModeEvents, "https://bot.example/slack"
				channel := r.AddChannel("general", r.ada).ID
				runEvents(t, r)
				root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "a root"})
				m := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Thread: root.TS, Text: "@switchboard in it", Files: file})
				told := func(kind, thread string) {
					body := fmt.Sprintf(`{"type":"event_callback","event_id":"Ev%s","event":{"type":%q,"channel":%q,"user":%q,"text":%q,"ts":%q,"thread_ts":%q}}`,
						kind, kind, channel, r.ada.ID, m.Text, m.TS, thread)
					if w := post(r.c.Handler(), "application/json", body, r.SigningSecret(), time.Now()); w.Code != http.StatusOK {
						t.Errorf("%s: %d", kind, w.Code)
					}
				}
				if silent {
					r.Break(slacktest.Fault{Method: "conversations.replies", Times: -1, Silent: true})
				}
				began := time.Now()
				told(first, "")
				testkit.Within(t, time.Since(began), callTimeout/2)
				told(map[string]string{"message": "app_mention", "app_mention": "message"}[first], root.TS)
				e := r.Took(t, 1)[0]
				if !silent && (e.Conversation != conv(channel, root.TS, channels.Thread) || len(e.Message.Attachments) != 1) || !e.Message.Mentioned || len(r.Sink.Events()) != 1 {
					t.Errorf("%+v", r.Sink.Events())
				}
			})
		}
	}
}
