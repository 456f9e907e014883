package platforms_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// A mindful rig runs on one of the databases, with a model that believes and obeys whatever it reads.
type mindful struct {
	*programtest.Rig
	query func(string) [][]string
}

// newMindful makes a rig whose channel's table goes on with play, and that sums up so many messages.
func newMindful(t *testing.T, database, play, tables string, sums int, think func(llmtest.Request) llmtest.Reply) *mindful {
	t.Helper()
	m := &mindful{}
	store := ""
	if database == "postgres" {
		u := storetest.MigratedURL(t)
		store = fmt.Sprintf("[store]\nurl = %q\n", u)
		m.query = func(query string) [][]string { return programtest.RowsOf(t, "postgres", u, query) }
	}
	m.Rig = programtest.NewRig(t, nil, play+store+fmt.Sprintf("[agent]\nplanner = \"fake/model\"\nsummarize_threshold = %d\nself_evolution = true\n", sums)+
		"[router]\nrate_person = \"off\"\nidle_timeout = \"200ms\"\n[memory]\nrecall_tokens = 4000\nper_day = 1000\n"+
		"[[people]]\nname = \"else\"\nidentities = [\"scripted:else\"]\n"+tables)
	if m.query == nil {
		m.query = func(query string) [][]string { return m.Query(query) }
	}
	m.Model.Handle(think)
	return m
}

// rests waits until all turns are over and nothing is left to be done for memory. A session rests a little after its engine looks, which
// looks again in a minute, or when another session rests: somebody else's is there for that.
func (m *mindful) rests() {
	m.T.Helper()
	n, next := 0, time.Now()
	m.Await("all rests", 90*time.Second, func() bool {
		m.MustLive()
		if time.Now().After(next) {
			n, next = n+1, time.Now().Add(time.Second)
			m.Platform.Say("celse", "else", fmt.Sprint("and ", n))
		}
		return m.query("SELECT (SELECT count(*) FROM turns WHERE state IN ('queued', 'running')) + (SELECT count(*) FROM sessions WHERE restless = TRUE AND key <> 'play:celse')")[0][0] == "0"
	})
}

// asked is the planner's first prompt for a text, which is waited for.
func (m *mindful) asked(text string) (found llmtest.Request) {
	m.T.Helper()
	m.Await("it is asked "+text, time.Minute, func() bool {
		for _, req := range m.Model.Requests() {
			if req.Role == "planner" && programtest.Said(req) == text {
				found = req
				return true
			}
		}
		return false
	})
	return found
}

var (
	ofZebra = regexp.MustCompile(`(?m)^\d+\. \S+ \S+ [^:]+: (.*zebra.*)$`)
	aMark   = regexp.MustCompile(`(?:said|kept)\dx`)
	judged  = regexp.MustCompile(`(?m)^(\d+)\. \([^)]*\) (.*)$`)
)

// believes learns, promotes and sums up all that it reads of zebras, and searches for them when it is asked to.
func believes(req llmtest.Request) llmtest.Reply {
	switch req.Schema {
	case "look", "summary":
		lines := []string{}
		for _, m := range ofZebra.FindAllStringSubmatch(req.User, -1) {
			lines = append(lines, m[1])
		}
		if req.Schema == "summary" {
			return llmtest.JSON(map[string]any{"sentences": append(lines, "They spoke.")})
		}
		return llmtest.JSON(map[string]any{"learnings": lines[:min(len(lines), 10)]})
	case "curate":
		verdicts := []any{}
		for _, m := range judged.FindAllStringSubmatch(req.Section("Learnings"), -1) {
			verdicts = append(verdicts, promoted(m[1], "fact", nil, m[2]))
		}
		return llmtest.JSON(map[string]any{"verdicts": verdicts})
	case "consolidate":
		return llmtest.JSON(map[string]any{"facts": []any{}})
	}
	switch {
	case req.Role == "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case req.Role == "worker":
		return llmtest.Text("It is above.")
	case strings.HasPrefix(programtest.Said(req), "search"):
		return llmtest.Text(llmtest.Plan("search", llmtest.Tool("memory.search", map[string]any{"which": "zebra"}, "memories"), llmtest.Msg("Say what was found.")))
	}
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard")))
}

func promoted(n, kind string, category any, text string) map[string]any {
	return map[string]any{"learning": jsonNumber(n), "verdict": "promote", "kind": kind, "text": text, "category": category, "key": category, "replaces": nil, "reason": nil}
}

func jsonNumber(n string) (number int) {
	_, _ = fmt.Sscan(n, &number)
	return number
}

// A spot is where somebody speaks with the bot; what is said in spots of one family may be known in each of these, and nowhere else.
type spot struct {
	name, family string
	say          func(text string)
}

// Every pair of places: what is told in one stands in prompts of those that it may surface in, and in no other prompt of any model.
func TestWhatIsSaidSurfacesInItsPlacesAlone(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			bot := telegramtest.New(t)
			ada := bot.AddUser("Ada")
			address := testkit.FreeAddress(t)
			m := newMindful(t, database, "allow_conversations = [\"g1\", \"g2\"]\n", fmt.Sprintf(`[server]
listen = %q
[channels.tele]
kind = "telegram"
token = %q
api_url = %q
rate = "off"
[[people]]
name = "ada"
identities = ["scripted:ada", "telegram:%d"]
[[people]]
name = "bob"
identities = ["scripted:bob"]
%s`, address, bot.Token(), bot.URL(), ada.ID, programtest.Token("one", []string{"messages"}, "ada")), 4, believes)
			m.Ready()
			web := programtest.Web{Address: address, Token: "one"}
			at := newChatPage(m, address, "ada")
			in := func(conv, kind, user string) func(string) {
				return func(text string) {
					place := strings.TrimSuffix(conv, "t")
					if kind == "" {
						place = ""
					}
					m.Platform.Write(scripted.Message{Conversation: conv, Kind: kind, Place: place, User: user, Text: text, Mentioned: true})
				}
			}
			spots := []spot{
				{"direct chat", "ada", in("cada", "", "ada")},
				{"direct chat on another platform", "ada", func(text string) { bot.Say(ada.ID, text) }},
				{"terminal", "ada", func(text string) {
					if out, errs, code := m.CommandWith(text+"\n", "chat", "--as", "ada"); code != 0 {
						t.Errorf("chat: exit %d\n%s%s", code, out, errs)
					}
				}},
				{"HTTP session", "ada", func(text string) {
					web.Call(t, http.MethodPost, "/v1/messages", map[string]any{"session": "s1", "user": "ada", "content": text}, http.StatusAccepted, nil)
				}},
				{"page", "ada", at.say},
				{"group", "g1", in("g1", "group", "ada")},
				{"thread of the group", "g1", in("g1t", "thread", "ada")},
				{"another group", "g2", in("g2", "group", "ada")},
				{"another's direct chat", "bob", in("cbob", "", "bob")},
			}
			families := map[string][]string{} // the marks of each
			for i, s := range spots {
				families[s.family] = append(families[s.family], fmt.Sprintf("kept%dx", i), fmt.Sprintf("said%dx", i))
				for _, text := range []string{fmt.Sprintf("/remember the zebra runs in kept%dx", i), fmt.Sprintf("the zebra sleeps in said%dx", i), fmt.Sprintf("hello there %d", i), fmt.Sprintf("and again %d", i)} {
					s.say(text)
					if !strings.HasPrefix(text, "/") {
						m.asked(text)
					}
				}
			}
			m.rests()
			for i, s := range spots {
				var got []string
				for _, does := range []string{"sleep", "run"} {
					ask := fmt.Sprintf("where does the zebra %s? %d", does, i)
					s.say(ask)
					got = append(got, aMark.FindAllString(m.asked(ask).User, -1)...)
				}
				slices.Sort(got)
				want := slices.Sorted(slices.Values(families[s.family]))
				if got = slices.Compact(got); !slices.Equal(got, want) {
					t.Errorf("%s: %q stand in the prompt, want %q", s.name, got, want)
				}
				search := fmt.Sprintf("search for it, %d", i)
				s.say(search)
				m.asked(search)
			}
			// Another member of the group is told nothing of what ada said elsewhere, also not in its threads.
			in("g1", "group", "bob")("where does the zebra of bob sleep?")
			if got := m.asked("where does the zebra of bob sleep?"); regexp.MustCompile(`(said|kept)[^5]x`).MatchString(got.User) {
				t.Errorf("bob is told in the group:\n%s", got.User)
			}
			m.rests()
			for _, req := range m.Model.Requests() {
				of := map[string]bool{}
				for _, mark := range aMark.FindAllString(req.System+req.User, -1) {
					of[spots[mark[4]-'0'].family] = true
				}
				if len(of) > 1 {
					t.Errorf("the %s is told of %v at once:\n%s", req.Role, of, req.User)
				}
			}
			m.Stop(20 * time.Second)
		})
	}
}

// A chatPage is somebody's chat on the page of the program, in a browser without a screen.
type chatPage struct {
	m               *mindful
	address, cookie string
	chat            string // the path of its chat; empty: none has begun
}

func newChatPage(m *mindful, address, person string) *chatPage {
	m.T.Helper()
	p := &chatPage{m: m, address: address}
	out, errs, _ := m.Command("signin", "--as", person)
	_, secret, found := strings.Cut(regexp.MustCompile(`http://\S+/signin#\S+`).FindString(out), "#")
	if !found {
		m.T.Fatalf("signin prints %q, %q", out, errs)
	}
	p.post("/signin/link", url.Values{"secret": {secret}})
	return p
}

func (p *chatPage) say(text string) {
	p.m.T.Helper()
	if p.chat == "" {
		p.chat = p.post("/chat", url.Values{"text": {text}})
		return
	}
	p.post(p.chat+"/messages", url.Values{"text": {text}})
}

// post posts a form as a browser does, and says where that leads.
func (p *chatPage) post(path string, form url.Values) (location string) {
	p.m.T.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+p.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.m.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "http://"+p.address)
	r.Header.Set("Cookie", "switchboard="+p.cookie)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.m.T.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode >= 400 {
		p.m.T.Fatalf("POST %s: %s\n%.500s", path, resp.Status, body)
	}
	for _, c := range resp.Cookies() {
		if c.Name == "switchboard" {
			p.cookie = c.Value
		}
	}
	return resp.Header.Get("Location")
}
