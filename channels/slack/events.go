package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// signedFor is how old a call may be: older ones may be copies.
	//
	// Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
	signedFor = 5 * time.Minute
	// maxCall bounds what a caller may post, in bytes.
	maxCall = 4 << 20
)

// signed says whether the platform made a call.
//
// Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
func (c *Client) signed(header http.Header, body []byte, now time.Time) bool {
	secret := c.cfg.SigningSecret.Reveal()
	stamp := header.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || secret == "" || now.Sub(time.Unix(seconds, 0)).Abs() > signedFor {
		return false
	}
	given, err := hex.DecodeString(strings.TrimPrefix(header.Get("X-Slack-Signature"), "v0="))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// Handler takes the platform's calls in mode events: events, interactions and commands. It
// answers 200 only when what came is committed; until Run runs it answers 503, and the
// platform calls again.
//
// Source: https://docs.slack.dev/apis/events-api/using-http-request-urls.
func (c *Client) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
		switch {
		case err != nil:
			http.Error(w, "the call cannot be read", http.StatusBadRequest)
			return
		case !c.signed(r.Header, body, time.Now()):
			http.Error(w, "the signature is wrong or too old", http.StatusUnauthorized)
			return
		}
		kind, payload := posted(r.Header.Get("Content-Type"), body)
		if challenge, ok := challenged(payload); ok {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, challenge)
			return
		}
		c.mu.Lock()
		s := c.running
		c.mu.Unlock()
		if s == nil {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		answer, err := s.called(r.Context(), kind, payload)
		switch {
		case err != nil:
			c.log.WarnContext(r.Context(), "an event was not accepted; the platform calls again", "error", err)
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case answer != "":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"response_type": "ephemeral", "text": escape(answer)})
		}
	})
}

// posted is what a call brings: events as JSON, interactions and commands as forms.
func posted(contentType string, body []byte) (kind string, payload []byte) {
	media, _, _ := mime.ParseMediaType(contentType)
	if media != "application/x-www-form-urlencoded" {
		return "events_api", body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", body
	}
	if form.Has("payload") {
		return "interactive", []byte(form.Get("payload"))
	}
	fields := map[string]string{}
	for name := range form {
		fields[name] = form.Get(name)
	}
	payload, err = json.Marshal(fields)
	if err != nil {
		return "", body
	}
	return "slash_commands", payload
}

// challenged is what the platform asks to be sent back when the address is set.
//
// Source: https://docs.slack.dev/reference/events/url_verification.
func challenged(payload []byte) (challenge string, ok bool) {
	var w struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	ok = bytes.Contains(payload, []byte("url_verification")) && json.Unmarshal(payload, &w) == nil && w.Type == "url_verification"
	return w.Challenge, ok
}

// called hands in what one call brings; answer is for whoever gave a command.
func (s *session) called(ctx context.Context, kind string, payload []byte) (answer string, err error) {
	s.sink.Received()
	data, err := json.Marshal(frame{Type: kind, Envelope: "call", Payload: payload})
	if err != nil { // the payload is no JSON
		return "", s.accept(ctx, []item{{event: s.undecodable(payload, err)}})
	}
	it := s.decode(data)
	if s.paired(&it) { // the other one comes too late: what this one lacks is read, while the platform waits
		reading, cancel := context.WithTimeout(ctx, nameWithin)
		for _, whole := range s.readOnly(reading, it.said) {
			it = s.together(ctx, it, whole)
		}
		cancel()
	}
	if it.press == nil {
		return "", s.accept(ctx, []item{it})
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.pace.interaction)
	defer cancel()
	toast := s.take(ctx, it).Toast
	if !it.press.command && toast != "" {
		s.c.whisper(ctx, it.press.reply, toast)
		return "", nil
	}
	return toast, nil
}

// beCalled reads what was missed and then stays, until ctx ends.
func (s *session) beCalled(ctx context.Context) error {
	_, order := s.openGaps(time.Now())
	for _, g := range order {
		found, err := s.readSince(ctx, g)
		if err != nil {
			return err
		}
		if err := s.accept(ctx, found); err != nil {
			return err
		}
	}
	check := time.NewTicker(s.c.cfg.PingInterval / 2)
	defer check.Stop()
	for {
		if err := s.c.Probe(ctx); err != nil {
			return err
		}
		s.sink.Received()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-check.C:
		}
	}
}
