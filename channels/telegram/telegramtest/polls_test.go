package telegramtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/platformtest"
	"switchboard/channels/telegram/telegramtest"
)

type told struct {
	ID      int64                 `json:"update_id"`
	Message *telegramtest.Message `json:"message"`
}

// poll calls getUpdates once.
func poll(t *testing.T, s *telegramtest.Server, query string) (updates []told) {
	t.Helper()
	code, answer := call(t, s, s.Token(), "getUpdates?"+query, "", "")
	var decoded struct{ Result []told }
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, answer, err)
	}
	return decoded.Result
}

func TestUpdatesWaitUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	for _, text := range []string{"one", "two", "three"} {
		s.Say(ada.ID, text)
	}
	first := poll(t, s, "limit=2")
	if len(first) != 2 || first[0].Message.Text != "one" || first[1].ID != first[0].ID+1 {
		t.Fatalf("%+v", first)
	}
	if again := poll(t, s, ""); len(again) != 3 {
		t.Errorf("without an offset %d are told again, want 3", len(again))
	}
	if rest := poll(t, s, fmt.Sprintf("offset=%d", first[1].ID+1)); len(rest) != 1 || rest[0].Message.Text != "three" {
		t.Errorf("after two: %+v", rest)
	}
	if back := poll(t, s, fmt.Sprintf("offset=%d", first[0].ID)); len(back) != 1 {
		t.Error("what was confirmed came back")
	}
	s.Say(ada.ID, "four")
	if last := poll(t, s, "offset=-1"); len(last) != 1 || last[0].Message.Text != "four" {
		t.Errorf("a negative offset: %+v", last)
	}
	s.Say(ada.ID, "old")
	s.Age(24*time.Hour + time.Second)
	s.Say(ada.ID, "new")
	if left := poll(t, s, ""); len(left) != 1 || left[0].Message.Text != "new" {
		t.Errorf("after a day: %+v", left)
	}
}

func TestPollWaitsForAnUpdate(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_ = s.Await(soon(t), func() bool { return len(s.Calls("getUpdates")) == 1 })
		s.Say(ada.ID, "hi")
	})
	if got := poll(t, s, "timeout=9"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	began := time.Now()
	if got := poll(t, s, "timeout=1&offset=9999999999"); len(got) != 0 || time.Since(began) < time.Second {
		t.Errorf("an empty poll: %+v after %v", got, time.Since(began))
	}
}

func TestSecondPollerEndsTheFirst(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	first := make(chan string, 1)
	go func() {
		code, answer := call(t, s, s.Token(), "getUpdates?timeout=9", "", "")
		first <- fmt.Sprint(code, answer)
	}()
	for end := time.Now().Add(time.Minute); len(first) == 0 && time.Now().Before(end); { // until it is there to be ended
		call(t, s, s.Token(), "getUpdates?timeout=0", "", "")
		time.Sleep(5 * time.Millisecond)
	}
	poll(t, s, "timeout=0")
	if got := <-first; !strings.HasPrefix(got, "409") || !strings.Contains(got, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running") {
		t.Errorf("the first poller got %s", got)
	}
}

func TestOnlyAllowedUpdatesAreDelivered(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	poll(t, s, `allowed_updates=["message"]`)
	m := s.Say(ada.ID, "hi")
	s.Edit(ada.ID, m.ID, "hello")
	if got := poll(t, s, ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	poll(t, s, "allowed_updates=[]")
	s.Edit(ada.ID, m.ID, "hello!")
	if got := poll(t, s, ""); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestPrivacyHidesWhatDoesNotNameTheBot(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	group := s.AddGroup("Friends", ada)
	s.SetPrivacy(s.Bot(), true)
	before := len(s.Pending())
	s.SayIn(group.ID, ada.ID, "nobody in particular")
	s.SayIn(group.ID, ada.ID, "/start@other_bot")
	if n := len(s.Pending()); n != before {
		t.Errorf("told of %d messages", n-before)
	}
	s.SayIn(group.ID, ada.ID, "hello @Switchboard_dev_bot")
	s.SayIn(group.ID, ada.ID, "/help@switchboard_dev_bot me")
	if n := len(s.Pending()); n != before+2 {
		t.Errorf("told of %d messages, want 2", n-before)
	}
	if me := must[*models.User](t)(client(t, s).GetMe(soon(t))); me.CanReadAllGroupMessages {
		t.Error("getMe does not say that privacy is on")
	}
}

func TestWebhookKeepsUpdatesFromPolls(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	const hook = "http://127.0.0.1:9/hook"
	b, ctx := client(t, s), soon(t)
	refused(t, errOf(b.SetWebhook(ctx, &bot.SetWebhookParams{URL: "https://example.org/"})), "reaches only 127.0.0.1")
	refused(t, errOf(b.SetWebhook(ctx, &bot.SetWebhookParams{URL: hook, SecretToken: "not allowed"})), "unallowed characters")
	must[bool](t)(b.SetWebhook(ctx, &bot.SetWebhookParams{URL: hook, SecretToken: "s3cret"}))
	s.Say(ada.ID, "one")
	if code, answer := call(t, s, s.Token(), "getUpdates", "", ""); code != 409 || !strings.Contains(answer, "webhook is active") {
		t.Errorf("getUpdates beside a webhook: %d %s", code, answer)
	}
	if info := must[*models.WebhookInfo](t)(b.GetWebhookInfo(ctx)); info.URL != hook || info.PendingUpdateCount != 1 {
		t.Errorf("info %+v", info)
	}
	must[bool](t)(b.DeleteWebhook(ctx, &bot.DeleteWebhookParams{DropPendingUpdates: true}))
	if len(s.Pending()) != 0 {
		t.Error("drop_pending_updates kept something")
	}
}

func TestFaultsHappenAsAsked(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	b := client(t, s, bot.WithHTTPClient(time.Second, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	send := func(text string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: ada.ID, Text: text})
		return err
	}
	for _, c := range []struct {
		name    string
		fault   telegramtest.Fault
		want    string // part of the error; empty: none
		arrives bool
	}{
		{name: "cut", fault: telegramtest.Fault{Cut: true}, want: "EOF"},
		{name: "lost", fault: telegramtest.Fault{Lost: true}, want: "EOF", arrives: true},
		{name: "half", fault: telegramtest.Fault{Half: true}, want: "EOF", arrives: true},
		{name: "silent", fault: telegramtest.Fault{Silent: true}, want: "deadline"},
		{name: "mute", fault: telegramtest.Fault{Mute: true}, want: "deadline", arrives: true},
		{name: "slow", fault: telegramtest.Fault{Slow: 50 * time.Millisecond}, arrives: true},
		{name: "delay", fault: telegramtest.Fault{Delay: 20 * time.Millisecond}, arrives: true},
		{name: "page", fault: platformtest.BadGateway(1), want: "invalid character '<'"},
		{name: "flood", fault: telegramtest.Fault{Rejected: telegramtest.TooMany(7)}, want: "retry_after 7"},
		{name: "other method", fault: telegramtest.Fault{Method: "getMe", Cut: true}, arrives: true},
		{name: "other text", fault: telegramtest.Fault{When: func(c telegramtest.Call) bool { return c.Values["text"] == "x" }, Cut: true}, arrives: true},
		{name: "skipped", fault: telegramtest.Fault{Skip: 1, Cut: true}, arrives: true},
	} {
		before := len(s.FromBot(ada.ID))
		s.Break(c.fault)
		within := time.Minute
		if c.fault.Silent || c.fault.Mute {
			within = 3 * time.Second
		}
		err := send(c.name, within)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if arrived := len(s.FromBot(ada.ID)) > before; arrived != c.arrives {
			t.Errorf("%s: arrived %v, want %v", c.name, arrived, c.arrives)
		}
		s.Mend()
	}
}

func TestDeafServerAnswersNoPoll(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Deaf(true)
	s.Say(ada.ID, "hi")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req := must[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/bot"+s.Token()+"/getUpdates", nil))
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Error("a deaf server answered")
	}
	client(t, s) // asks getMe
	s.Deaf(false)
	if got := poll(t, s, ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestPollEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*telegramtest.Server){
		"when connections drop":    (*telegramtest.Server).Drop, // new ones are taken
		"when the platform closes": (*telegramtest.Server).Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := telegramtest.New(t)
			ended := make(chan error, 1)
			go func() {
				resp, err := http.Get(s.URL() + "/bot" + s.Token() + "/getUpdates?timeout=9")
				if err == nil {
					resp.Body.Close()
				}
				ended <- err
			}()
			accepted(t, s.Await(soon(t), func() bool { return len(s.Calls("getUpdates")) == 1 }))
			end(s)
			if err := <-ended; err == nil {
				t.Error("the poll was answered")
			}
			if name == "when connections drop" {
				client(t, s)
			}
		})
	}
}

func TestStartRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "nowhere"} {
		if s, err := telegramtest.Start(addr); err == nil {
			s.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
}

func TestInjectedUpdateIsDeliveredAsItIs(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	id := s.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":"no number","text":"a\u0000b"}}`)
	s.Say(ada.ID, "hi")
	s.Repeat(1)
	pending := s.Pending()
	if len(pending) != 3 || !strings.HasPrefix(string(pending[0]), fmt.Sprintf(`{"update_id":%d,"message":{"message_id":"no`, id)) {
		t.Fatalf("%s", pending)
	}
	var first, second told
	if json.Unmarshal(pending[1], &first) != nil || json.Unmarshal(pending[2], &second) != nil || second.ID != first.ID+1 || second.Message.ID != first.Message.ID {
		t.Errorf("not the same thing twice: %s, %s", pending[1], pending[2])
	}
	s.Inject("{\x00")
	if code, answer := call(t, s, s.Token(), "getUpdates", "", ""); code != 200 || !strings.Contains(answer, "},{\x00]}") {
		t.Errorf("%d %q", code, answer)
	}
}

func TestCallsBeyondTheRatesAreRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	now := time.Now()
	s.SetClock(func() time.Time { return now })
	ada, bob := s.AddUser("Ada"), s.AddUser("Bob")
	s.Say(ada.ID, "hi")
	s.Say(bob.ID, "hi")
	group := s.AddGroup("Friends", ada, bob)
	b := client(t, s)
	send := func(chat int64) error {
		return errOf(b.SendMessage(soon(t), &bot.SendMessageParams{ChatID: chat, Text: "x"}))
	}
	s.Limit(telegramtest.Rates{PerChat: 1, GroupMinute: 2, PerSecond: 3})
	accepted(t, send(ada.ID))
	refused(t, send(ada.ID), "retry_after 1")
	accepted(t, send(bob.ID))
	accepted(t, send(group.ID))
	s.SetClock(func() time.Time { return now.Add(time.Second) })
	accepted(t, send(group.ID))
	s.SetClock(func() time.Time { return now.Add(2 * time.Second) })
	refused(t, send(group.ID), "retry_after 58")
	if s.Refused() != 2 {
		t.Errorf("%d were refused", s.Refused())
	}
}
