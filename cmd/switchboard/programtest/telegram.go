//go:build linux

package programtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
)

// A TelegramRig is a rig with Telegram's stand-in, where Chief is an admin.
type TelegramRig struct {
	*Rig
	Bot   *telegramtest.Server
	Slow  *SlowModel
	Chief telegramtest.User
}

// NewTelegram makes a rig whose table [router] holds more; its channels are still to
// be added.
func NewTelegram(t *testing.T, router string) *TelegramRig {
	t.Helper()
	r := &TelegramRig{Slow: NewSlowModel(), Bot: telegramtest.New(t)}
	r.Rig = NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"+router)
	r.Model.Handle(r.Slow.Think)
	r.Chief = r.Bot.AddUser("Chief")
	r.Admit("admin", r.Chief)
	return r
}

// Channel adds a table for a bot.
func (r *TelegramRig) Channel(name string, server *telegramtest.Server, token, more string) {
	r.T.Helper()
	r.Append(fmt.Sprintf("[channels.%s]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\ntools_deny = []\nrate = \"off\"\n%s\n", name, token, server.URL(), more))
}

// Admit makes users people of that role.
func (r *TelegramRig) Admit(role string, users ...telegramtest.User) {
	r.T.Helper()
	for _, u := range users {
		r.Append(fmt.Sprintf("[[people]]\nname = %q\nrole = %q\nidentities = [\"telegram:%d\"]\n", u.FirstName, role, u.ID))
	}
}

// Statuses are the channels as `channel list` tells them.
func (r *TelegramRig) Statuses() map[string]channels.Status {
	byName := map[string]channels.Status{}
	for _, s := range List[[]channels.Status](r.Rig, "channel", "list", "--json") {
		byName[s.Name] = s
	}
	return byName
}

// Answers are the texts that a chat shows of the bot.
func (r *TelegramRig) Answers(chat int64) (texts []string) {
	for _, m := range r.Bot.FromBot(chat) {
		texts = append(texts, m.Text)
	}
	return texts
}

// Expect waits until a chat shows exactly these texts of the bot and nothing is left
// to do that could add to them.
func (r *TelegramRig) Expect(chat int64, want ...string) {
	r.T.Helper()
	deadline := time.Now().Add(Patience)
	for !slices.Equal(r.Answers(chat), want) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	r.Settle()
	if diff := cmp.Diff(want, r.Answers(chat)); diff != "" {
		r.T.Errorf("the chat shows (-want +got)\n%s", diff)
	}
}

// Taken waits until the program has confirmed whatever was told.
func (r *TelegramRig) Taken() {
	r.T.Helper()
	r.Await("all updates are confirmed", 20*time.Second, func() bool { return len(r.Bot.Pending()) == 0 })
}

// Settle waits until nothing is left to take, to run, to send or to take back.
func (r *TelegramRig) Settle() {
	r.T.Helper()
	r.Taken()
	r.Await("all is run and sent", 20*time.Second, func() bool {
		return r.Count("SELECT (SELECT count(*) FROM turns WHERE state IN ('queued','running')) + "+
			"(SELECT count(*) FROM deliveries WHERE state IN ('draft','pending','sending','unknown') OR draft = 'leave')") == 0
	})
}

// A SlowModel is a model that takes its time where a test wants it to. To "work …" it
// runs a command before it says what was wanted, to "ask …" it puts a question, and
// everything else it repeats.
type SlowModel struct {
	mu      sync.Mutex
	held    map[string]chan struct{} // by place, closed to go on
	reached map[string]int
}

// The places where a model can be held.
const (
	WhilePlanning  = "planner"
	WhileReviewing = "reviewer"
)

// NewSlowModel is a model that is held nowhere.
func NewSlowModel() *SlowModel {
	return &SlowModel{held: map[string]chan struct{}{}, reached: map[string]int{}}
}

// Hold makes the model wait where it thinks about a text; release lets it go on.
func (m *SlowModel) Hold(t *testing.T, role, text string) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	m.mu.Lock()
	m.held[role+" "+text] = gate
	m.mu.Unlock()
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return release
}

// Thinks says that the model is there, or was.
func (m *SlowModel) Thinks(role, text string) func() bool {
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.reached[role+" "+text] > 0
	}
}

func (m *SlowModel) reach(role, text string) {
	m.mu.Lock()
	m.reached[role+" "+text]++
	gate := m.held[role+" "+text]
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// Think answers a request.
func (m *SlowModel) Think(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "reviewer":
		m.reach(WhileReviewing, req.Section("The person's request"))
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		return llmtest.Text("did: " + strings.TrimPrefix(req.Section("Task"), "Say that you did "))
	}
	text := Said(req)
	m.reach(WhilePlanning, text)
	if more := addedMeanwhile(req); more != "" {
		text += " + " + more
	}
	switch {
	case strings.HasPrefix(text, "work"):
		return llmtest.Text(llmtest.Plan("do it", llmtest.Exec("true", "it ends well"), llmtest.Msg("Say that you did "+text)))
	case strings.HasPrefix(text, "ask"):
		return llmtest.Text(llmtest.Plan("ask", llmtest.Ask("Which one?", "tea", "coffee")))
	}
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+text)))
}

// addedMeanwhile is what the person wrote after the turn began, besides changes of
// its message.
func addedMeanwhile(req llmtest.Request) string {
	_, more, _ := strings.Cut(req.Section("Added meanwhile"), "The person wrote more")
	var texts []string
	for line := range strings.Lines(more) {
		if text, ok := strings.CutPrefix(line, "- "); ok {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return strings.Join(texts, " + ")
}

// In is the rig for a subtest, which leaves the program as it is.
func (r *TelegramRig) In(t *testing.T) *TelegramRig {
	t.Helper()
	program, inner, outer := *r.Server, *r.Rig, *r
	program.T = t
	inner.Server, outer.Rig = &program, &inner
	return &outer
}
