//go:build linux

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	web "switchboard/channels/api"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/api"
	"switchboard/internal/testkit"
	"switchboard/router/approvals"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// A shop is a bot whose people, root, an admin, ada and bob, have their tokens. It asks before it runs echo.
type shop struct {
	*programtest.Rig
	address string
}

var allScopes = []string{"messages", "read", "send", "admin"}

// eachShop has a test done on both databases. Tokens are added to those of the people, each named as they are.
func eachShop(t *testing.T, tokens string, test func(*testing.T, *shop)) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := &shop{address: testkit.FreeAddress(t)}
			extra := fmt.Sprintf("groups = \"open\"\nrequire_mention = false\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[policy.exec]\nask = [\"echo *\"]\n[server]\nlisten = %q\n", s.address)
			if database == "postgres" {
				extra += fmt.Sprintf("[store]\nurl = %q\n", storetest.MigratedURL(t))
			}
			for _, name := range []string{"ada", "bob"} {
				extra += fmt.Sprintf("[[people]]\nname = %q\nidentities = [\"scripted:%s\"]\ntools = [\"exec\"]\n", name, name)
			}
			for _, name := range []string{"root", "ada", "bob"} {
				extra += programtest.Token(name, []string{"messages", "read"}, name)
			}
			s.Rig = programtest.NewRig(t, []string{"root"}, extra+tokens)
			s.Model.Handle(programtest.Clerk)
			s.Ready()
			test(t, s)
		})
	}
}

func (s *shop) web(token string) programtest.Web {
	return programtest.Web{Address: s.address, Token: token}
}

// posts writes as a person with a token, and returns the turn.
func (s *shop) posts(token, person, session, text string) string {
	s.T.Helper()
	var got struct {
		TurnID string `json:"turn_id"`
	}
	s.web(token).Call(s.T, http.MethodPost, "/v1/messages", map[string]string{"session": session, "user": person, "content": text}, http.StatusAccepted, &got)
	return got.TurnID
}

// becomes waits until a turn is in a state.
func (s *shop) becomes(token, id, state string) (t turns.Turn) {
	s.T.Helper()
	s.Await("turn "+id+" is "+state, 20*time.Second, func() bool {
		t = turns.Turn{}
		s.web(token).Get(s.T, "/v1/turns/"+id, &t)
		return t.State == state
	})
	return t
}

// hears has somebody write on the platform, and waits for the answer.
func (s *shop) hears(conv, user string) {
	s.T.Helper()
	n := len(s.Platform.SentIn(conv))
	s.Platform.Say(conv, user, "hello")
	s.Await("there is an answer in "+conv, 20*time.Second, func() bool { return len(s.Platform.SentIn(conv)) > n })
}

// local calls the socket.
func (s *shop) local() *api.Client {
	c := api.NewClient(func(ctx context.Context) (net.Conn, error) { return api.Dial(ctx, filepath.Join(s.Dir, "data")) })
	s.T.(*testing.T).Cleanup(c.Close)
	return c
}

func localGet(path string) api.Call { return api.Call{Method: http.MethodGet, Path: path} }

func decision(does string, more ...string) map[string]string {
	body := map[string]string{"decision": does}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i]] = more[i+1]
	}
	return body
}

// What asks is decided over HTTP by who may: an admin whom the token names, and never by the token that started it.
func TestApprovalsAreDecidedOverHTTP(t *testing.T) {
	t.Parallel()
	boss := programtest.Token("boss", allScopes, "root") + programtest.Token("other", []string{"admin", "read"}, "root", "ada") +
		programtest.Token("nobody", []string{"admin"}) + programtest.Token("users", []string{"admin"}, "ada")
	eachShop(t, boss, func(t *testing.T, s *shop) {
		s.hears("r1", "root")
		open := func(n int) (list web.ApprovalList) {
			t.Helper()
			s.Await(fmt.Sprint(n, " wait"), 20*time.Second, func() bool {
				list = web.ApprovalList{}
				s.web("other").Get(t, "/v1/approvals", &list)
				return len(list.Approvals) == n
			})
			return list
		}
		decide := func(token string, a *approvals.Open, body map[string]string, want int) {
			t.Helper()
			s.web(token).Call(t, http.MethodPost, fmt.Sprintf("/v1/approvals/%d/decide", a.ID), body, want, nil)
		}
		turn := s.posts("ada", "ada", "work", "run echo a >> runs.txt")
		asked := open(1).Approvals[0]
		if asked.Person != "ada" || asked.Session != "api:work" || fmt.Sprint(asked.Turn) != turn || !strings.Contains(asked.Shown, "echo a") || !asked.ExpiresAt.After(time.Now()) {
			t.Errorf("%+v", asked)
		}
		if q := asked.Questions; len(q) != 1 || q[0].Session != "play:r1" || len(q[0].Code) != 9 {
			t.Errorf("asked %+v", q)
		}
		var session struct {
			Turn struct {
				State     string
				Approvals []map[string]string
			}
		}
		s.web("ada").Get(t, "/v1/sessions/work", &session)
		if session.Turn.State != "waiting" || len(session.Turn.Approvals) != 1 || session.Turn.Approvals[0]["code"] != "" {
			t.Errorf("ada sees %+v", session)
		}
		decide("ada", &asked, decision("once"), http.StatusForbidden)
		decide("nobody", &asked, decision("once"), http.StatusForbidden)
		decide("nobody", &asked, decision("once", "person", "root"), http.StatusForbidden)
		decide("users", &asked, decision("once"), http.StatusForbidden)
		decide("other", &asked, decision("once"), http.StatusForbidden) // as whom?
		decide("other", &asked, decision("once", "person", "ada"), http.StatusForbidden)
		decide("other", &asked, decision("maybe", "person", "root"), http.StatusBadRequest)
		s.web("other").Call(t, http.MethodPost, "/v1/approvals/99/decide", decision("once", "person", "root"), http.StatusNotFound, nil)
		decide("other", &asked, decision("once", "person", "root"), http.StatusOK)
		decide("other", &asked, decision("once", "person", "root"), http.StatusConflict)
		s.becomes("ada", turn, "done")

		own := s.posts("boss", "root", "mine", "run echo b >> runs.txt")
		asked = open(1).Approvals[0]
		s.web("boss").Get(t, "/v1/sessions/mine", &session)
		if a := session.Turn.Approvals; len(a) != 1 || a[0]["code"] != asked.Questions[0].Code || asked.Questions[0].Session != "api:mine" {
			t.Errorf("in its own session %+v, %+v", a, asked)
		}
		decide("boss", &asked, decision("once"), http.StatusForbidden)
		s.posts("boss", "root", "mine", "/approve "+asked.Questions[0].Code)
		s.posts("boss", "root", "mine", "yes")
		s.Await("the code is refused", 20*time.Second, func() bool {
			_, answer, _ := s.web("boss").Do(t.Context(), http.MethodGet, "/v1/sessions/mine", nil)
			return bytes.Contains(answer, []byte("A program decides by POST"))
		})
		s.becomes("boss", own, "waiting")
		decide("other", &asked, decision("deny", "person", "root", "why", "not today"), http.StatusOK)
		s.becomes("boss", own, "done")

		s.posts("boss", "root", "mine", "run echo c >> runs.txt")
		asked = open(1).Approvals[0]
		if err := s.local().Do(t.Context(), api.Call{Method: http.MethodPost, Path: fmt.Sprintf("/v1/approvals/%d/decide", asked.ID), Body: decision("session")}, nil); err != nil {
			t.Error(err)
		}
		open(0)

		// So does who writes the code in the terminal of the machine.
		fourth := s.posts("boss", "root", "mine", "run echo d >> runs.txt")
		asked = open(1).Approvals[0]
		body := map[string]string{"session": "default", "user": "root", "content": "/approve " + asked.Questions[0].Code}
		if err := s.local().Do(t.Context(), api.Call{Method: http.MethodPost, Path: "/v1/messages", Body: body}, nil); err != nil {
			t.Error(err)
		}
		s.becomes("boss", fourth, "done")
		s.Prints("audit export", 0, `"person":"root","action":"approval.accepted","target":"approval 1","rule":"token:other"`)
		s.Prints("audit export", 0, `"rule":"token:other","outcome":"done","why":"not today"`)
		s.Prints("audit export", 0, `"person":"owner","action":"approval.accepted","target":"approval 3","rule":"machine"`)
		s.Prints("audit export", 0, `"action":"approval.decide","target":"approval 2","rule":"token:boss","outcome":"refused"`)
	})
}

// Turns, deliveries and jobs are there for those for whom a token speaks.
func TestTurnsDeliveriesAndJobsOverHTTP(t *testing.T) {
	t.Parallel()
	tokens := programtest.Token("all", allScopes, "root", "ada") + programtest.Token("users", []string{"read", "admin"}) + programtest.Token("reader", []string{"read"})
	eachShop(t, tokens, func(t *testing.T, s *shop) {
		for _, name := range []string{"root", "ada", "bob"} {
			s.hears("of-"+name, name)
		}
		of := map[string]string{}
		for _, name := range []string{"root", "ada", "bob"} {
			of[name] = s.posts(name, name, name, "hi")
			s.becomes(name, of[name], "done")
		}
		for token, want := range map[string]string{"ada": "ada", "bob": "bob", "reader": "ada bob", "users": "ada bob root"} {
			var list web.TurnList
			s.web(token).Get(t, "/v1/turns?state=done", &list)
			var parts web.DeliveryList
			s.web(token).Get(t, "/v1/deliveries", &parts)
			got, sent := map[string]bool{}, map[string]bool{}
			for _, turn := range list.Turns {
				got[turn.Person] = true
			}
			for _, part := range parts.Deliveries {
				sent[strings.TrimPrefix(part.Conversation, "of-")] = true
			}
			for _, name := range []string{"root", "ada", "bob"} {
				if may := strings.Contains(want, name); got[name] != may || sent[name] != may {
					t.Errorf("%s lists turns of %v, deliveries of %v", token, got, sent)
				}
			}
		}
		s.web("ada").Call(t, http.MethodGet, "/v1/turns/"+of["bob"], nil, http.StatusNotFound, nil)
		s.web("ada").Call(t, http.MethodGet, "/v1/turns/x", nil, http.StatusBadRequest, nil)
		s.web("ada").Call(t, http.MethodGet, "/v1/turns?state=odd", nil, http.StatusBadRequest, nil)
		s.web("ada").Call(t, http.MethodGet, "/v1/turns/"+of["ada"]+"?prompts=true", nil, http.StatusForbidden, nil)
		var whole turns.Turn
		s.web("users").Get(t, "/v1/turns/"+of["ada"]+"?prompts=true", &whole)
		if shown := programtest.List[turns.Turn](s.Rig, "turn", "show", of["ada"], "--prompts", "--json"); len(whole.LLM) == 0 || len(whole.LLM[0].Request) == 0 || len(shown.LLM) != len(whole.LLM) || whole.Text != "hi" {
			t.Errorf("%+v, %+v", whole, shown)
		}
		var text web.Text
		s.web("ada").Get(t, "/v1/turns/"+of["ada"]+"/explain", &text)
		if !strings.HasPrefix(text.Text, "Turn "+of["ada"]+": done") || !strings.Contains(text.Text, "because the API token may speak for them") {
			t.Error(text.Text)
		}
		s.web("ada").Call(t, http.MethodPost, "/v1/turns/"+of["bob"]+"/cancel", nil, http.StatusNotFound, nil)
		s.web("ada").Call(t, http.MethodPost, "/v1/turns/"+of["ada"]+"/cancel", nil, http.StatusConflict, nil)
		waits := s.posts("ada", "ada", "ada", "run echo x")
		s.becomes("ada", waits, "waiting")
		s.web("ada").Call(t, http.MethodPost, "/v1/turns/"+waits+"/cancel", nil, http.StatusOK, nil)
		s.becomes("ada", waits, "cancelled")

		var parts web.DeliveryList
		s.web("all").Get(t, "/v1/deliveries?state=sent&limit=1", &parts)
		path := fmt.Sprintf("/v1/deliveries/%d", parts.Deliveries[0].ID)
		s.web("ada").Call(t, http.MethodPost, path+"/drop", nil, http.StatusForbidden, nil)
		s.web("all").Call(t, http.MethodPost, path+"/retry", nil, http.StatusConflict, nil)
		s.web("all").Call(t, http.MethodPost, "/v1/deliveries/99999/drop", nil, http.StatusNotFound, nil)
		s.jobs()
	})
}

// jobs are kept over HTTP by a token with the scope admin, of those for whom it speaks.
func (s *shop) jobs() {
	t := s.T
	job := func(person string) web.NewJob {
		return web.NewJob{Person: person, Kind: "reminder", When: "every day at 9", Text: "stretch"}
	}
	var made web.JobSaid
	s.web("ada").Call(t, http.MethodPost, "/v1/jobs", job("ada"), http.StatusForbidden, nil)
	s.web("all").Call(t, http.MethodPost, "/v1/jobs", job("bob"), http.StatusForbidden, nil)
	odd := job("ada")
	odd.When = "whenever"
	s.web("all").Call(t, http.MethodPost, "/v1/jobs", odd, http.StatusBadRequest, nil)
	s.web("all").Call(t, http.MethodPost, "/v1/jobs", job("ada"), http.StatusCreated, &made)
	if made.Job.Owner != "ada" || made.Job.Text != "stretch" || !strings.Contains(made.Said, "stretch") {
		t.Errorf("%+v", made)
	}
	if out, errs, code := s.Command("job", "add", "--person", "bob", "every day at 9", "stretch"); code != 0 || !strings.Contains(out, "stretch") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	for token, want := range map[string]int{"ada": 1, "bob": 1, "all": 0, "reader": 2, "root": 0} {
		var list web.JobList
		s.web(token).Get(t, "/v1/jobs?limit=100", &list)
		n := 0
		for _, j := range list.Jobs {
			if j.Owner != "" {
				n++
			}
		}
		if n != want && token != "all" {
			t.Errorf("%s lists %d jobs", token, n)
		}
	}
	path := fmt.Sprintf("/v1/jobs/%d", made.Job.ID)
	bobs := fmt.Sprintf("/v1/jobs/%d", made.Job.ID+1)
	s.web("ada").Get(t, path, &made)
	s.web("bob").Call(t, http.MethodGet, path, nil, http.StatusNotFound, nil)
	s.web("bob").Call(t, http.MethodGet, path+"/runs", nil, http.StatusNotFound, nil)
	s.web("bob").Call(t, http.MethodGet, "/v1/jobs?person=ada", nil, http.StatusNotFound, nil)
	s.web("all").Call(t, http.MethodPost, bobs+"/pause", nil, http.StatusNotFound, nil)
	s.web("all").Call(t, http.MethodPost, path+"/edit", web.JobEdit{Text: "walk"}, http.StatusOK, &made)
	if made.Job.Text != "walk" {
		t.Errorf("%+v", made)
	}
	s.web("all").Call(t, http.MethodPost, path+"/edit", web.JobEdit{Options: []string{"checklist ada.md"}}, http.StatusBadRequest, nil) // for who looks after the machine
	s.web("all").Call(t, http.MethodPost, path+"/dance", nil, http.StatusBadRequest, nil)
	s.web("all").Call(t, http.MethodPost, path+"/run", nil, http.StatusOK, nil)
	s.Await("it has run", 20*time.Second, func() bool {
		var runs web.JobRuns
		s.web("ada").Get(t, path+"/runs", &runs)
		return len(runs.Runs) == 1 && runs.Runs[0].State == "done"
	})
	s.web("all").Call(t, http.MethodPost, path+"/remove", nil, http.StatusOK, nil)
	s.Prints("audit export", 0, `"person":"ada","action":"job.add","target":"job `+fmt.Sprint(made.Job.ID)+`","rule":"token:all"`)
}

// One curl notifies a chat; who may be written to is as for the agent.
func TestSendNotifiesAChat(t *testing.T) {
	t.Parallel()
	tokens := programtest.Token("cron", []string{"send"}) + programtest.Token("boss", []string{"send", "admin", "messages"}, "root")
	eachShop(t, tokens, func(t *testing.T, s *shop) {
		s.hears("of-ada", "ada")
		s.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "root", Text: "hello"})
		s.Await("the group is known", 20*time.Second, func() bool { return len(s.Platform.SentIn("g1")) == 1 })
		send := func(token, query, kind, body string, want int) (got map[string]string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/v1/channels/"+query, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", kind)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			var out json.RawMessage
			if err := json.NewDecoder(answer.Body).Decode(&out); err != nil || answer.StatusCode != want {
				t.Fatalf("%s %s: %d %s, %v", query, body, answer.StatusCode, out, err)
			}
			_ = json.Unmarshal(out, &got)
			return got
		}
		const curl, text, js = "application/x-www-form-urlencoded", "text/plain; charset=utf-8", "application/json"
		got := send("cron", "play/send?to=ada", curl, "backup **done**", http.StatusAccepted)
		if got["conversation"] != "of-ada" || got["message_id"] == "" || got["delivery_id"] == "" {
			t.Errorf("%v", got)
		}
		send("cron", "play/send?to=of-ada", text, "again", http.StatusAccepted)
		send("boss", "play/send", js, `{"person": "Ada", "text": "as JSON"}`, http.StatusAccepted)
		send("boss", "play/send", js, `{"conversation": "g1", "text": "to all"}`, http.StatusAccepted)
		send("cron", "play/send?to=g1", text, "to all", http.StatusForbidden)
		send("cron", "play/send?to=bob", text, "he never wrote", http.StatusNotFound)
		send("cron", "none/send?to=ada", text, "hello", http.StatusNotFound)
		send("cron", "play/send", text, "to nobody", http.StatusBadRequest)
		send("cron", "play/send?to=ada", text, " ", http.StatusBadRequest)
		send("cron", "play/send?to=ada", js, `{"text": `, http.StatusBadRequest)
		send("cron", "play/send?to=ada", text, strings.Repeat("x", 65<<10), http.StatusRequestEntityTooLarge)
		send("cron", "play/send?to=ada", js, `{"text": "x", "attachments": ["1"]}`, http.StatusNotFound)
		var file channels.SessionFile
		s.web("boss").Call(t, http.MethodPost, "/v1/uploads?name=a.txt", "one", http.StatusCreated, &file)
		send("boss", "play/send?to=ada", js, fmt.Sprintf(`{"attachments": ["%d"]}`, file.ID), http.StatusBadRequest) // the channel sends no files
		send("root", "play/send?to=ada", text, "no scope", http.StatusForbidden)
		s.Await("all arrived", 20*time.Second, func() bool { return len(s.Platform.SentIn("of-ada")) == 4 && len(s.Platform.SentIn("g1")) == 2 })
		if sent := s.Platform.SentIn("of-ada")[1].Text; !strings.HasPrefix(sent, "backup") || !strings.HasSuffix(strings.Trim(sent, "*"), "done") {
			t.Errorf("%q", sent)
		}
		if list := programtest.List[[]outbox.Info](s.Rig, "delivery", "list", "--json"); len(list) < 5 {
			t.Errorf("%+v", list)
		}
		s.Prints("audit export", 0, `"action":"message.send","target":"conversation play:of-ada","rule":"token:cron"`)
	})
}
