package main_test

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

// A telegramRig is a rig with Telegram's stand-in, where Chief is an admin.
type telegramRig struct {
	*rig
	bot   *telegramtest.Server
	mind  *slowMind
	chief telegramtest.User
}

// newTelegram makes a rig whose table [router] holds more; its channels are still to
// be added.
func newTelegram(t *testing.T, router string) *telegramRig {
	t.Helper()
	r := &telegramRig{mind: newSlowMind(), bot: telegramtest.New(t)}
	r.rig = newRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"+router)
	r.model.Handle(r.mind.think)
	r.chief = r.bot.AddUser("Chief")
	r.admit("admin", r.chief)
	return r
}

// channel adds a table for a bot.
func (r *telegramRig) channel(name string, server *telegramtest.Server, token, more string) {
	r.t.Helper()
	r.append(fmt.Sprintf("[channels.%s]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\ntools_deny = []\nrate = \"off\"\n%s\n", name, token, server.URL(), more))
}

// admit makes users people of that role.
func (r *telegramRig) admit(role string, users ...telegramtest.User) {
	r.t.Helper()
	for _, u := range users {
		r.append(fmt.Sprintf("[[people]]\nname = %q\nrole = %q\nidentities = [\"telegram:%d\"]\n", u.FirstName, role, u.ID))
	}
}

// statuses are the channels as `channel list` tells them.
func (r *telegramRig) statuses() map[string]channels.Status {
	byName := map[string]channels.Status{}
	for _, s := range list[[]channels.Status](r.rig, "channel", "list", "--json") {
		byName[s.Name] = s
	}
	return byName
}

// answers are the texts that a chat shows of the bot.
func (r *telegramRig) answers(chat int64) (texts []string) {
	for _, m := range r.bot.FromBot(chat) {
		texts = append(texts, m.Text)
	}
	return texts
}

// expect waits until a chat shows exactly these texts of the bot and nothing is left
// to do that could add to them.
func (r *telegramRig) expect(chat int64, want ...string) {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !slices.Equal(r.answers(chat), want) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	r.settle()
	if diff := cmp.Diff(want, r.answers(chat)); diff != "" {
		r.t.Errorf("the chat shows (-want +got)\n%s", diff)
	}
}

// taken waits until the program has confirmed whatever was told.
func (r *telegramRig) taken() {
	r.t.Helper()
	r.await("all updates are confirmed", 20*time.Second, func() bool { return len(r.bot.Pending()) == 0 })
}

// settle waits until nothing is left to take, to run or to send.
func (r *telegramRig) settle() {
	r.t.Helper()
	r.taken()
	r.await("all is run and sent", 20*time.Second, func() bool {
		return r.count("SELECT (SELECT count(*) FROM turns WHERE state IN ('queued','running')) + "+
			"(SELECT count(*) FROM deliveries WHERE state IN ('draft','pending','sending','unknown'))") == 0
	})
}

// A slowMind is a model that takes its time where a test wants it to. To "work …" it
// runs a command before it says what was wanted, to "ask …" it puts a question, and
// everything else it repeats.
type slowMind struct {
	mu      sync.Mutex
	held    map[string]chan struct{} // by place, closed to go on
	reached map[string]int
}

// The places where a mind can be held.
const (
	whilePlanning  = "planner"
	whileReviewing = "reviewer"
)

func newSlowMind() *slowMind {
	return &slowMind{held: map[string]chan struct{}{}, reached: map[string]int{}}
}

// hold makes the mind wait where it thinks about a text; release lets it go on.
func (m *slowMind) hold(t *testing.T, role, text string) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	m.mu.Lock()
	m.held[role+" "+text] = gate
	m.mu.Unlock()
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return release
}

// thinks says that the mind is there, or was.
func (m *slowMind) thinks(role, text string) func() bool {
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.reached[role+" "+text] > 0
	}
}

func (m *slowMind) reach(role, text string) {
	m.mu.Lock()
	m.reached[role+" "+text]++
	gate := m.held[role+" "+text]
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (m *slowMind) think(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "reviewer":
		m.reach(whileReviewing, req.Section("The person's request"))
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		return llmtest.Text("did: " + strings.TrimPrefix(req.Section("Task"), "Say that you did "))
	}
	text := said(req)
	m.reach(whilePlanning, text)
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

// in is the rig for a subtest, which leaves the program as it is.
func (r *telegramRig) in(t *testing.T) *telegramRig {
	t.Helper()
	program, inner, outer := *r.server, *r.rig, *r
	program.t = t
	inner.server, outer.rig = &program, &inner
	return &outer
}
