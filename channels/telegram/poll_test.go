package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
)

func (r *rig) texts() []string { return r.Sink.Texts() }

// What a poll asks for: the first answers at once, so that the channel is known to be
// up; each later one confirms what was committed.
func TestFirstPollAnswersAtOnceAndLaterOnesConfirm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	testkit.Await(t, "the platform is heard", patience, func() bool { return r.Sink.Frames() > 0 })
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.settled(t)
	calls := r.Calls("getUpdates")
	if first := calls[0].Values; first["timeout"] != "0" || first["offset"] != "1" {
		t.Errorf("the first poll is %v", first)
	}
	second := calls[1].Values
	if second["timeout"] != "2" || second["allowed_updates"] != `["message","edited_message","callback_query","my_chat_member","message_reaction"]` {
		t.Errorf("the second poll is %v", second)
	}
	if me := r.c.me(); me.username != r.Bot().User.Username || me.id != r.Bot().User.ID {
		t.Errorf("the bot takes itself for %+v", me)
	}
}

func TestNothingIsConfirmedBeforeItIsCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := r.Sink.Hold()
	defer release()
	r.Sink.Fail(3)
	for i := range 5 {
		r.Say(r.ada.ID, fmt.Sprint(i))
	}
	r.run(t)
	testkit.Await(t, "the sink is asked", patience, func() bool { return r.Sink.Held() > 0 })
	time.Sleep(20 * time.Millisecond) // an early confirmation needs time to show
	if n := len(r.Pending()); n != 5 {
		t.Errorf("%d updates wait while nothing is committed", n)
	}
	if n := len(r.Calls("getUpdates")); n != 1 {
		t.Errorf("%d polls while the first batch is not committed", n)
	}
	release()
	r.Took(t, 5)
	r.settled(t)
	if handed := len(r.Sink.Handed()); handed != 20 {
		t.Errorf("%d events handed in, want the whole batch four times", handed)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, r.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestOneBadUpdateStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"another type":       `{"update_id":UPDATE_ID,"message":{"message_id":{"number":7}}}`,
		"escaped NUL":        `{"update_id":UPDATE_ID,"message":{"message_id":7,"text":"a\u0000b"}}`,
		"a NUL as such":      "{\"update_id\":UPDATE_ID,\"message\":{\"message_id\":7,\"text\":\"a\x00b\"}}",
		"no JSON":            `{"update_id":UPDATE_ID,"message":oops}`,
		"brackets open":      `{"update_id":UPDATE_ID,"message":{"text":"x"`,
		"too many brackets":  `{"update_id":UPDATE_ID,"message":{"text":"x"}}}}]`,
		"a quote that opens": `{"update_id":UPDATE_ID,"message":{"text":"x}}`,
		"an array":           `[{"update_id":UPDATE_ID}]`,
		"a huge number":      `{"update_id":UPDATE_ID,"message":{"message_id":99999999999999999999999}}`,
		"no chat":            `{"update_id":UPDATE_ID,"message":{"message_id":7,"text":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Say(r.ada.ID, "before")
			id := r.Inject(raw)
			r.Say(r.ada.ID, "after")
			r.Say(r.ada.ID, "much later")
			r.run(t)
			events := r.Took(t, 4)
			bad := events[1]
			if bad.Kind != channels.EventUndecodable || bad.Reason == "" || !bytes.Contains(bad.Raw, fmt.Append(nil, id)) || bad.Conversation.Channel != "tg" {
				t.Errorf("%+v with %q", bad, bad.Raw)
			}
			if diff := cmp.Diff([]string{"before", "", "after", "much later"}, r.texts()); diff != "" {
				t.Error(diff)
			}
			r.settled(t)
		})
	}
}

// Alone in its answer, what no bracket ends is believed when it comes again.
func TestBadUpdateAloneIsTakenWhenItComesAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Inject(`{"update_id":UPDATE_ID,"message":{"text":"x"`)
	r.run(t)
	if e := r.Took(t, 1)[0]; e.Kind != channels.EventUndecodable {
		t.Errorf("%+v", e)
	}
	r.settled(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 2)
}

// An answer that breaks off is no list of bad updates: what it may hold is asked for
// again.
func TestHalfAnAnswerIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]telegramtest.Fault{
		"half":     {Method: "getUpdates", Half: true},
		"cut":      {Method: "getUpdates", Cut: true},
		"page":     platformtest.BadGateway(1),
		"5xx":      {Method: "getUpdates", Rejected: &telegramtest.Rejection{Code: 500, Description: "Internal Server Error"}},
		"empty":    {Method: "getUpdates", Status: 200, Body: ""},
		"not ours": {Method: "getUpdates", Status: 200, Body: `{"hello":"world"}`},
		"no list":  {Method: "getUpdates", Status: 200, Body: `{"ok":true,"result":{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Say(r.ada.ID, "one")
			fault.Method = "getUpdates"
			r.Break(fault)
			if err := r.c.Run(t.Context(), r.Sink); err == nil || errors.Is(err, channels.ErrUnauthorized) || errors.Is(err, channels.ErrElsewhere) {
				t.Fatalf("Run returned %v", err)
			}
			if len(r.Sink.Handed()) != 0 || len(r.Pending()) != 1 {
				t.Errorf("%d events came, %d wait", len(r.Sink.Handed()), len(r.Pending()))
			}
			r.run(t)
			r.Took(t, 1)
		})
	}
}

// A cut answer may look like a bad update at its end.
func TestAnswerThatLooksCutOffIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.Say(r.ada.ID, "one")
	r.Break(telegramtest.Fault{Method: "getUpdates", Status: 200, Body: fmt.Sprintf(`{"ok":true,"result":[{"update_id":%d,"message":{"message_id":%d,"entities":[]}`, time.Now().Unix()+100, m.ID)})
	r.run(t)
	if events := r.Took(t, 1); events[0].Message.Text != "one" {
		t.Errorf("%+v", events)
	}
	r.settled(t)
}

func TestPollsWaitAsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Break(telegramtest.Fault{Method: "getUpdates", Rejected: telegramtest.TooMany(1)})
	r.Say(r.ada.ID, "one")
	began := time.Now()
	r.run(t)
	r.Took(t, 1)
	if took := time.Since(began); took < time.Second {
		t.Errorf("asked again after %s", took)
	}
}

func TestRefusedTokenIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := new(atomic.Value)
	token.Store(r.Token())
	r.c.cfg.Token = channels.NewCredential(func() (secrets.Secret, error) {
		if token.Load() == "" {
			return "", channels.ErrNoCredentials
		}
		return secrets.Secret(token.Load().(string)), nil
	})
	other := r.AddBot("other_bot")
	r.Revoke(r.Bot(), true)
	if err := r.c.Run(t.Context(), r.Sink); !errors.Is(err, channels.ErrUnauthorized) {
		t.Fatalf("Run returned %v", err)
	}
	calls := len(r.Calls())
	for value, want := range map[string]error{
		token.Load().(string): channels.ErrUnauthorized, "": channels.ErrNoCredentials,
		"no token at all": channels.ErrUnauthorized, "1/../../x": channels.ErrUnauthorized, "99999999999999999999:abc": channels.ErrUnauthorized,
	} {
		token.Store(value)
		if err := r.c.Run(t.Context(), r.Sink); !errors.Is(err, want) || value != "" && strings.Contains(err.Error(), value) {
			t.Errorf("with %q Run returned %v", value, err)
		}
	}
	if n := len(r.Calls()); n != calls {
		t.Errorf("the platform was asked %d times more", n-calls)
	}
	token.Store(other.Token)
	r.run(t)
	testkit.Await(t, "it connects with the new one", patience, func() bool { return r.Sink.Frames() > 0 })
}

func TestTokenIsInNoErrorAndNoLog(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	s := telegramtest.New(t)
	p := platformtest.NewProxy(t, s.URL(), "/getUpdates ")
	c := New("tg", Config{Token: channelstest.Literal(s.Token()), Mode: ModePolling, APIURL: p.URL()}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	c.pace = quick
	t.Cleanup(c.Wire.Close)
	_, key, _ := strings.Cut(s.Token(), ":")
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	ada := s.AddUser("Ada")
	try := func() {
		_, err := c.Send(t.Context(), outbound(conv(ada.ID, channels.Direct), "x"))
		note(err)
		note(c.Probe(t.Context()))
		note(c.Fetch(t.Context(), channels.Attachment{ID: "x"}, new(bytes.Buffer)))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		note(c.Run(ctx, newRig(t).Sink))
	}
	for _, fault := range []telegramtest.Fault{
		{Cut: true},
		{Half: true},
		{Lost: true},
		{Rejected: &telegramtest.Rejection{Code: 400, Description: "Bad Request: the token " + s.Token() + " is " + key}},
		{Status: 502, Body: "<html>" + s.Token() + "</html>"},
		{Status: 302, Body: "<html>elsewhere</html>"},
	} {
		fault.Times = -1
		s.Break(fault)
		try()
		s.Mend()
	}
	p.Down()
	try()
	p.Up(t)
	for _, err := range errs {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, err); verb != "%#v" && strings.Contains(text, key) {
				t.Errorf("%s shows the token: %s", verb, text)
			}
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), key) {
				t.Errorf("%T shows the token: %v", e, e)
			}
		}
	}
	if strings.Contains(log.String(), key) {
		t.Errorf("the log shows the token: %s", log.String())
	}
	if len(errs) < 20 || slices.ContainsFunc(errs[:3], func(err error) bool { return err == nil }) {
		t.Errorf("the faults made no errors: %v", errs)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A channel that polls takes a webhook away, and what waited for it comes.
func TestPollingDropsAWebhook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hook(t, "http://127.0.0.1:1/hook")
	r.Say(r.ada.ID, "while nobody could be called")
	r.run(t)
	r.Took(t, 1)
	if drops := r.Calls("deleteWebhook"); len(drops) != 1 || drops[0].Values["drop_pending_updates"] == "true" {
		t.Errorf("the webhook was deleted by %+v", drops)
	}
}

func TestAnotherPollerIsNamed(t *testing.T) {
	t.Parallel()
	conflict := &telegramtest.Rejection{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
	r := newRig(t)
	r.c.pace.conflict = patience // a busy machine may be slow to ask again
	r.Break(telegramtest.Fault{Method: "getUpdates", Times: 2, Rejected: conflict})
	r.Say(r.ada.ID, "our former poll is still dying")
	r.run(t)
	r.Took(t, 1)
	other := newRig(t)
	other.Break(telegramtest.Fault{Method: "getUpdates", Times: -1, Rejected: conflict})
	if err := other.c.Run(t.Context(), other.Sink); !errors.Is(err, channels.ErrElsewhere) {
		t.Errorf("Run returned %v", err)
	}
	if other.Sink.Frames() != 0 {
		t.Error("a platform that refuses to tell anything counts as heard")
	}
	// The next Run waits for no former poll of ours: there is none.
	other.c.pace.conflict = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := other.c.Run(ctx, other.Sink); !errors.Is(err, channels.ErrElsewhere) {
		t.Errorf("run again, it returned %v", err)
	}
	other.Mend()
	other.run(t)
	testkit.Await(t, "a long poll was well", patience, func() bool { return other.Sink.Frames() > 1 })
	other.Break(telegramtest.Fault{Method: "getUpdates", Times: 2, Rejected: conflict})
	other.Say(other.ada.ID, "nobody else is there any more")
	other.Took(t, 1)
}

func TestADeafConnectionIsSilentAndClosed(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	p := platformtest.NewProxy(t, s.URL(), "/getUpdates ")
	r := newRig(t)
	r.c = client(p.URL(), s.Token())
	t.Cleanup(r.c.Wire.Close)
	r.run(t)
	testkit.Await(t, "the second poll hangs", patience, func() bool { return len(s.Calls("getUpdates")) >= 2 })
	s.Deaf(true)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "do you hear me?")
	heard := r.Sink.Frames()
	if err := r.c.Probe(t.Context()); err != nil {
		t.Errorf("the probe says %v", err)
	}
	if r.Sink.Frames() != heard || len(r.Sink.Handed()) != 0 {
		t.Error("something came over a deaf connection")
	}
	if silence := r.c.Silence(); silence != 3*time.Second || New("x", Config{}, slog.New(slog.DiscardHandler)).Silence() != 40*time.Second {
		t.Errorf("a poll may be silent for %s", silence)
	}
	if err := r.Halt(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	testkit.Await(t, "its connections are closed", patience, func() bool { return p.Open() == 0 })
	s.Deaf(false)
	again := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { again <- r.c.Run(ctx, r.Sink) }()
	r.Took(t, 1)
	calls := s.Calls("getUpdates")
	if len(calls) < 3 {
		t.Errorf("%d polls in two runs", len(calls))
	}
	for i, call := range calls {
		if call.Rejected != nil {
			t.Errorf("poll %d met our own: %v", i, call.Rejected)
		}
	}
	stop()
	<-again
}
