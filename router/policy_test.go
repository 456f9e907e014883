package router

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/tools"
	shell "switchboard/agent/tools/command"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/sessions"
)

// peopleList is a Directory of fixed people.
type peopleList []core.Person

func (l peopleList) Everyone(context.Context) (people, away []core.Person, err error) {
	return l, nil, nil
}

func (l peopleList) Person(context.Context, string) (core.Person, error) {
	return core.Person{}, core.ErrNotFound
}

func rosterOf(t *testing.T, persons ...core.Person) *people.Roster {
	t.Helper()
	r := people.NewRoster(peopleList(persons))
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPolicyDecidesByPersonToolAndChannel(t *testing.T) {
	t.Parallel()
	roster := rosterOf(t,
		core.Person{Name: "ada", Role: core.RoleAdmin, Tools: []string{"*"}},
		core.Person{Name: "bob", Role: core.RoleUser, Tools: []string{"time", "workspace.*", "send"}},
		core.Person{Name: "cyd", Role: core.RoleUser},
		core.Person{Name: "dan", Role: core.RoleUser, Tools: []string{"*"}},
		core.Person{Name: "eli", Role: core.RoleUser, Tools: []string{"files", "exec"}},
		core.Person{Name: "fay", Role: core.RoleUser, Tools: []string{"ex*"}},
	)
	policy := NewPolicy(roster, rulesOf(map[string]ChannelConfig{
		"console": {ToolsAllow: []string{"*"}},
		"chat":    {ToolsAllow: []string{"*"}, ToolsDeny: []string{"exec", "http.*"}},
		"narrow":  {ToolsAllow: []string{"time"}},
		"empty":   {},
		"groups":  {ToolsAllow: []string{"files", "exec"}, ToolsDeny: []string{"web", "workspace.remove"}},
	}), PolicyConfig{Ask: []string{"message.send", "admin"}, Exec: shell.Rules{Deny: []string{"git push *"}, Ask: []string{"git fetch *"}, Allow: []string{"git *", "ls *"}}})
	run := func(person, channel, line string) tools.Question {
		return tools.Question{Person: person, Channel: channel, Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectWrite, Command: line}
	}
	for _, c := range []struct {
		name    string
		q       tools.Question
		verdict tools.Verdict
		rule    string
	}{
		{"admin runs", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectWrite}, tools.Allow, "role.admin"},
		{"admins' tools ask", tools.Question{Person: "ada", Channel: "console", Direct: true, Mode: sessions.ModeAct, Tool: "admin.config", Effect: tools.EffectOutside}, tools.Ask, "policy.ask"},
		{"admins' tools in a group", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAct, Tool: "admin.config", Effect: tools.EffectOutside}, tools.Refuse, "role.admin"},
		{"the machine to a user", tools.Question{Person: "dan", Channel: "console", Direct: true, Mode: sessions.ModeAct, Tool: "host.info", Effect: tools.EffectRead}, tools.Refuse, "role.admin"},
		{"admins' tools of a user", tools.Question{Person: "dan", Channel: "console", Direct: true, Mode: sessions.ModeAct, Tool: "admin.audit", Effect: tools.EffectRead}, tools.Refuse, "role.admin"},
		{"nobody", tools.Question{Person: "eve", Channel: "console", Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}, tools.Refuse, "person.unknown"},
		{"no name", tools.Question{Channel: "console", Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}, tools.Refuse, "person.unknown"},
		{"unknown channel", tools.Question{Person: "ada", Channel: "other", Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}, tools.Refuse, "channel.unknown"},
		{"users run nothing", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectWrite}, tools.Refuse, "role.exec"},
		{"person's tools", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "http.get", Effect: tools.EffectRead}, tools.Refuse, "person.tools"},
		{"no tools at all", tools.Question{Person: "cyd", Channel: "console", Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}, tools.Refuse, "person.tools"},
		{"pattern", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite}, tools.Allow, "role.user"},
		{"denied on the channel", tools.Question{Person: "ada", Channel: "chat", Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectWrite}, tools.Refuse, "channel.tools_deny"},
		{"denied by pattern", tools.Question{Person: "ada", Channel: "chat", Mode: sessions.ModeAct, Tool: "http.get", Effect: tools.EffectRead}, tools.Refuse, "channel.tools_deny"},
		{"not allowed on the channel", tools.Question{Person: "ada", Channel: "narrow", Mode: sessions.ModeAct, Tool: "workspace.read", Effect: tools.EffectRead}, tools.Refuse, "channel.tools_allow"},
		{"empty list is nothing", tools.Question{Person: "ada", Channel: "empty", Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}, tools.Refuse, "channel.tools_allow"},
		{"ask mode reads", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAsk, Tool: "time", Effect: tools.EffectRead}, tools.Allow, "role.admin"},
		{"ask mode writes nothing", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAsk, Tool: "workspace.write", Effect: tools.EffectWrite}, tools.Refuse, "session.mode"},
		{"ask mode runs nothing", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAsk, Tool: "exec", Effect: tools.EffectWrite}, tools.Refuse, "session.mode"},
		{"no mode is ask", tools.Question{Person: "ada", Channel: "console", Tool: "workspace.write", Effect: tools.EffectWrite}, tools.Refuse, "session.mode"},
		{"tainted and outside", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "send", Effect: tools.EffectOutside, Taint: "web"}, tools.Ask, "taint.outside"},
		{"clean and any address", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "send", Effect: tools.EffectRead, Sends: "http://a.test/?q=1"}, tools.Allow, "role.user"},
		{"tainted and the person's address", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "send", Effect: tools.EffectRead, Taint: "web", Sends: "http://a.test/?q=1", Words: "read\nhttp://a.test?q=1#x http://A.test/?q=1."}, tools.Allow, "role.user"},
		{"tainted and another address", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "send", Effect: tools.EffectRead, Taint: "web", Sends: "http://a.test/?q=secret", Words: "http://a.test/?q=1"}, tools.Ask, "taint.url"},
		{"tainted and nothing written", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "send", Effect: tools.EffectRead, Taint: "web", Sends: "http://a.test/"}, tools.Ask, "taint.url"},
		{"tainted, another address, ask mode", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAsk, Tool: "send", Effect: tools.EffectRead, Taint: "web", Sends: "http://a.test/"}, tools.Ask, "taint.url"},
		{"tainted and kept for later", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite, Taint: "web", Keeps: []string{"pay now"}, Words: "read it"}, tools.Ask, tools.RuleKeeps},
		{"tainted and the person's words", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite, Taint: "web", Keeps: []string{"Tea."}, Words: "at 9: tea"}, tools.Allow, "role.user"},
		{"clean and kept for later", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite, Keeps: []string{"pay now"}}, tools.Allow, "role.user"},
		{"clean and any address, ask mode", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAsk, Tool: "send", Effect: tools.EffectRead, Sends: "http://a.test/"}, tools.Allow, "role.user"},
		{"everything is not exec for users", run("dan", "console", ""), tools.Refuse, "role.exec"},
		{"a pattern is not exec for users", run("fay", "console", ""), tools.Refuse, "role.exec"},
		{"exec by its name for users", run("eli", "console", ""), tools.Allow, "role.user"},
		{"exec by its name, denied on the channel", run("eli", "chat", "ls"), tools.Refuse, "channel.tools_deny"},
		{"a group", tools.Question{Person: "eli", Channel: "groups", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite}, tools.Allow, "role.user"},
		{"not in the person's groups", tools.Question{Person: "eli", Channel: "console", Mode: sessions.ModeAct, Tool: "http.get", Effect: tools.EffectRead}, tools.Refuse, "person.tools"},
		{"a group is denied", tools.Question{Person: "ada", Channel: "groups", Mode: sessions.ModeAct, Tool: "http.get", Effect: tools.EffectRead}, tools.Refuse, "channel.tools_deny"},
		{"one of a group is denied", tools.Question{Person: "ada", Channel: "groups", Mode: sessions.ModeAct, Tool: "workspace.remove", Effect: tools.EffectWrite}, tools.Refuse, "channel.tools_deny"},
		{"asks by policy", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAct, Tool: "message.send", Effect: tools.EffectOutside}, tools.Ask, "policy.ask"},
		{"a group asks by policy", tools.Question{Person: "ada", Channel: "console", Direct: true, Mode: sessions.ModeAct, Tool: "admin.people", Effect: tools.EffectRead}, tools.Ask, "policy.ask"},
		{"refused goes before asked", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAsk, Tool: "message.send", Effect: tools.EffectOutside}, tools.Refuse, "session.mode"},
		{"a command is allowed", run("ada", "console", "git status"), tools.Allow, `policy.exec.allow "git *"`},
		{"a command is denied", run("ada", "console", "git status; git push"), tools.Refuse, `policy.exec.deny "git push *"`},
		{"a command asks", run("eli", "console", "git fetch"), tools.Ask, `policy.exec.ask "git fetch *"`},
		{"a command is not allowed", run("ada", "console", "rm x"), tools.Refuse, "policy.exec.allow"},
		{"a command is unclear", run("ada", "console", ". ./x"), tools.Refuse, "policy.exec.allow"},
		{"a command destroys", run("ada", "console", "rm -rf /"), tools.Refuse, "policy.exec.destructive"},
		{"a denied command, before taint asks", tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectOutside, Taint: "web", Command: "git push"}, tools.Refuse, `policy.exec.deny "git push *"`},
		{"served at all", tools.Question{Person: "cyd", Channel: "console"}, tools.Allow, "role.user"},
		{"not served", tools.Question{Person: "eve", Channel: "console"}, tools.Refuse, "person.unknown"},
		{"tainted and inside", tools.Question{Person: "bob", Channel: "console", Mode: sessions.ModeAct, Tool: "workspace.write", Effect: tools.EffectWrite, Taint: "web"}, tools.Allow, "role.user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := policy.Decide(c.q)
			if d.Verdict != c.verdict || d.Rule != c.rule || d.Reason == "" {
				t.Errorf("Decide(%+v) = %+v, want %s by %s with a reason", c.q, d, c.verdict, c.rule)
			}
		})
	}
}

func TestPolicyLooksPersonUpAnew(t *testing.T) {
	t.Parallel()
	persons := peopleList{{Name: "ada", Role: core.RoleAdmin, Tools: []string{"*"}}}
	roster := people.NewRoster(persons)
	if err := roster.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	policy := NewPolicy(roster, rulesOf(map[string]ChannelConfig{"console": {ToolsAllow: []string{"*"}}}), DefaultPolicyConfig())
	q := tools.Question{Person: "ada", Channel: "console", Mode: sessions.ModeAct, Tool: "exec", Effect: tools.EffectWrite}
	if d := policy.Decide(q); d.Verdict != tools.Allow {
		t.Fatalf("an admin: %+v", d)
	}
	persons[0].Role = core.RoleUser
	if err := roster.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := policy.Decide(q); d.Verdict != tools.Refuse {
		t.Errorf("no admin any more: %+v", d)
	}
}

// The decision service is asked about what is to run, and narrows alone; other settings count at once.
func TestServiceConfirmsWhatTheRulesAllow(t *testing.T) {
	t.Parallel()
	var asked []string
	says := `{"result": true}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		_, _ = io.WriteString(w, says)
	}))
	t.Cleanup(service.Close)
	roster := rosterOf(t, core.Person{Name: "bob", Role: core.RoleUser, Tools: []string{"*"}})
	policy := NewPolicy(roster, rulesOf(map[string]ChannelConfig{"chat": {ToolsAllow: []string{"*"}}}), PolicyConfig{Service: service.URL})
	t.Cleanup(func() { policy.Apply(DefaultPolicyConfig()) })
	q := tools.Question{Person: "bob", Channel: "chat", Group: "C1", Mode: sessions.ModeAct, Tool: "pay", Effect: tools.EffectOutside, Command: "secret", Words: "secret", Sends: "secret", Taint: "web", Own: true}
	confirm := func(q tools.Question) tools.Decision { return policy.Confirm(t.Context(), q, policy.Decide(q)) }
	if d := confirm(q); d != policy.Decide(q) || d.Verdict != tools.Allow && d.Verdict != tools.Ask {
		t.Errorf("%+v", d)
	}
	want := `{"input":{"action":"tool.execute","person":"bob","role":"user","channel":"chat","scope":"group:chat:C1","kind":"","taint":"web","tool":"pay","effect":"outside"}}`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q", asked)
	}
	says = `{"result": false}`
	q.Direct = true
	if d := confirm(q); d.Verdict != tools.Refuse || d.Rule != "policy.service" || d.Reason != "the service that decides what I may do does not allow it" {
		t.Errorf("%+v", d)
	}
	if len(asked) != 2 || !strings.Contains(asked[1], `"scope":"person:bob"`) {
		t.Errorf("asked %q", asked)
	}
	policy.Apply(PolicyConfig{Service: "http://127.0.0.1:1/"})
	if d := confirm(q); d.Verdict != tools.Refuse || d.Rule != "policy.service" || !strings.Contains(d.Reason, "does not answer") {
		t.Errorf("%+v", d)
	}
	policy.Apply(DefaultPolicyConfig())
	if d := confirm(q); d != policy.Decide(q) || len(asked) != 2 {
		t.Errorf("%+v, asked %q", d, asked)
	}
}

func rulesOf(byName map[string]ChannelConfig) Rules {
	return func(name string) *ChannelConfig {
		if config, known := byName[name]; known {
			return &config
		}
		return nil
	}
}

// Tools to name in ask are added to those that ask by themselves, which ask_not alone takes out.
func TestBuiltinToolsAskUnlessTakenOut(t *testing.T) {
	t.Parallel()
	roster := rosterOf(t, core.Person{Name: "ada", Role: core.RoleAdmin, Tools: []string{"*"}})
	builtin := []string{"message.send", "schedule.send", "admin.people", "admin.config"}
	for _, c := range []struct {
		name          string
		ask, not, may []string // may run without a question
	}{
		{"as it comes", nil, nil, []string{"exec"}},
		{"another asks too", []string{"exec"}, nil, nil},
		{"nothing in ask", []string{}, nil, []string{"exec"}},
		{"named in ask, as in older files", []string{"message.send", "schedule.send", "admin.*"}, nil, []string{"exec"}},
		{"one is taken out", []string{"exec"}, []string{"message.send"}, []string{"message.send"}},
		{"one of a group is taken out", nil, []string{"admin.config"}, []string{"exec", "admin.config"}},
		{"a group is taken out", nil, []string{"admin", "schedule"}, []string{"exec", "schedule.send", "admin.people", "admin.config"}},
		{"all are taken out", nil, []string{"*"}, append([]string{"exec"}, builtin...)},
		{"ask goes before ask_not", []string{"message.send"}, []string{"*"}, append([]string{"exec"}, builtin[1:]...)},
	} {
		config := PolicyConfig{Ask: c.ask, AskNot: c.not, Exec: shell.DefaultRules()}
		policy := NewPolicy(roster, rulesOf(map[string]ChannelConfig{"console": {ToolsAllow: []string{"*"}}}), config)
		for _, tool := range append([]string{"exec"}, builtin...) {
			want := tools.Ask
			if slices.Contains(c.may, tool) {
				want = tools.Allow
			}
			d := policy.Decide(tools.Question{Person: "ada", Channel: "console", Direct: true, Mode: sessions.ModeAct, Tool: tool, Effect: tools.EffectOutside})
			if d.Verdict != want || want == tools.Ask && d.Rule != "policy.ask" {
				t.Errorf("%s: %s: %+v, want %s", c.name, tool, d, want)
			}
			if open := slices.Contains(config.Open(), tool); open != (want == tools.Allow && tool != "exec") {
				t.Errorf("%s: %s is open: %v", c.name, tool, open)
			}
		}
	}
}
