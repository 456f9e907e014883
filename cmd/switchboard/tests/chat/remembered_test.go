package chat_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// A remembering is the real program that runs on one of the databases, with ada, who has two accounts, and bob.
type remembering struct {
	*programtest.Rig
	bot   *telegramtest.Server
	ada   telegramtest.User
	query func(query string, args ...any) [][]string
}

// eachRemembering starts it on both.
func eachRemembering(t *testing.T, think func(llmtest.Request) llmtest.Reply, test func(r *remembering)) {
	t.Helper()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := &remembering{bot: telegramtest.New(t)}
			r.ada = r.bot.AddUser("Ada")
			r.Rig = programtest.NewRig(t, nil, fmt.Sprintf("[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\nidle_timeout = \"300ms\"\n"+
				"[channels.telegram]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\nrate = \"off\"\n[[people]]\nname = \"ada\"\nrole = \"user\"\nidentities = [\"telegram:%d\", \"scripted:ada\"]\n"+
				"[[people]]\nname = \"bob\"\nrole = \"user\"\nidentities = [\"scripted:bob\"]\n", r.bot.Token(), r.bot.URL(), r.ada.ID))
			r.Model.Handle(think)
			r.query = r.Query
			if kind == "postgres" {
				f := programtest.NewFleet(r.Rig, storetest.MigratedURL(t), "one")
				r.Server, r.query = f.Engines[0].Server, f.Query
			}
			r.Ready()
			test(r)
			r.Stop(20 * time.Second)
		})
	}
}

// rests waits until memory has done all that is to be done.
func (r *remembering) rests() {
	r.T.Helper()
	r.Await("all is learned", time.Minute, func() bool {
		return r.query("SELECT count(*) FROM turns WHERE state NOT IN ('done', 'merged')")[0][0] == "0" && r.query("SELECT count(*) FROM sessions WHERE restless = TRUE")[0][0] == "0"
	})
}

// prompt is what the planner was asked about somebody's message.
func (r *remembering) prompt(who, message string) (last llmtest.Request) {
	r.T.Helper()
	for _, req := range r.Model.Requests() {
		if req.Role == "planner" && req.Has("You work for: "+who+" ") && programtest.Said(req) == message {
			last = req
		}
	}
	if last.User == "" {
		r.T.Fatalf("nobody was asked about %q", message)
	}
	return last
}

// What is said in the first message is in the prompt of the four hundredth, and the prompt is none the longer.
func TestTheFirstMessageCountsAtTheFourHundredth(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`my name is \w+`)
	think := func(req llmtest.Request) llmtest.Reply {
		switch req.Schema {
		case "plan":
			return programtest.Echo(req)
		case "summary": // what it was told that is worth it
			kept := []string{"They talked."}
			if said := name.FindString(req.Section("Summary so far") + req.Section("Messages")); said != "" {
				kept = append(kept, "A person said: "+said+".")
			}
			return llmtest.Reply{JSON: map[string]any{"sentences": kept}}
		}
		return llmtest.Reply{JSON: map[string]any{"learnings": []string{}}}
	}
	eachRemembering(t, think, func(r *remembering) {
		const all, batch = 400, 20
		for n := 1; n < all; n++ {
			text := fmt.Sprintf("message %d", n)
			if n == 1 {
				text = "hello, my name is Grazia"
			}
			r.Platform.Say("cada", "ada", text)
			if n%batch == 0 {
				r.Await("they are answered", programtest.Patience, func() bool { return len(r.Shown("ada")) >= n })
			}
		}
		r.Await("all are answered", programtest.Patience, func() bool { return len(r.Shown("ada")) == all-1 })
		r.rests()
		r.Ask("ada", "message 400")
		req := r.prompt("ada", "message 400")
		if !strings.Contains(req.Section("Summary so far"), "Grazia") || len(req.User) > 8<<10 {
			r.T.Errorf("the prompt of %d bytes:\n%s", len(req.User), req.User)
		}
		if recent := req.Section("Recent messages"); !strings.Contains(recent, "message 399") || strings.Contains(recent, "Grazia") {
			r.T.Errorf("the last messages:\n%s", recent)
		}
		r.Ask("ada", "what is my name?")
		if req = r.prompt("ada", "what is my name?"); !strings.Contains(req.Section("Said and found before"), "hello, my name is Grazia") {
			r.T.Errorf("the prompt:\n%s", req.User)
		}
		out, _, _ := r.Command("memory", "export", "--person", "ada")
		if shown := r.Ask("ada", "/memory summaries"); !strings.Contains(shown, "my name is Grazia") || !strings.Contains(out, "my name is Grazia") {
			r.T.Errorf("the summary: %s\nexported: %s", shown, out)
		}
		if shown := r.Ask("bob", "/memory summaries"); !strings.Contains(shown, "no summary") {
			r.T.Errorf("bob sees %s", shown)
		}
		if shown := r.Ask("ada", "/forget summaries") + r.Ask("ada", "/memory summaries"); !strings.Contains(shown, "forgot: 1") || !strings.Contains(shown, "no summary") {
			r.T.Error(shown)
		}
		r.Ask("ada", "message 402")
		if req = r.prompt("ada", "message 402"); strings.Contains(req.Section("Summary so far"), "Grazia") {
			r.T.Errorf("the prompt:\n%s", req.User)
		}
	})
}

// What a person may have meant is asked about in a later answer; what they confirm is known in another chat, on another platform.
func TestWhatIsConfirmedIsKnownElsewhere(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`- (\d+), `)
	think := func(req llmtest.Request) llmtest.Reply {
		verdict := func(kind, text any) map[string]any {
			verdict := "ask"
			if kind != nil {
				verdict = "promote"
			}
			return map[string]any{"verdicts": []any{map[string]any{"learning": 1, "verdict": verdict, "kind": kind, "text": text, "category": nil, "key": nil, "replaces": nil, "reason": nil}}}
		}
		put := func(section, answer string) llmtest.Reply {
			n := number.FindStringSubmatch(req.Section(section))
			if n == nil {
				return programtest.Echo(req)
			}
			return llmtest.Text(strings.Replace(llmtest.Plan("g", llmtest.Answer(answer)), `"secrets":null`, `"secrets":null,"question":`+n[1], 1))
		}
		switch {
		case req.Schema == "plan" && strings.HasPrefix(programtest.Said(req), "yes"):
			return put("Asked before", "noted")
		case req.Schema == "plan":
			return put("Open questions", "Is the standup at ten now?")
		case req.Schema == "curate" && strings.Contains(req.Section("Learnings"), "Asked “Is the standup at ten now?”, ada answered: yes, at ten"):
			return llmtest.Reply{JSON: verdict("fact", "The standup is at ten.")}
		case req.Schema == "curate":
			return llmtest.Reply{JSON: verdict(nil, "Is the standup at ten now?")}
		case strings.Contains(req.Section("Messages"), "move the standup"):
			return llmtest.Reply{JSON: map[string]any{"learnings": []string{"Ada may move the standup to ten."}}}
		}
		return llmtest.Reply{JSON: map[string]any{"learnings": []string{}}}
	}
	eachRemembering(t, think, func(r *remembering) {
		says := func(texts ...string) {
			r.T.Helper()
			for _, text := range texts {
				before := len(r.bot.FromBot(r.ada.ID))
				r.bot.Say(r.ada.ID, text)
				r.Await("an answer to "+text, programtest.Patience, func() bool { return len(r.bot.FromBot(r.ada.ID)) > before })
			}
		}
		says("I may move the standup to ten", "or not", "we will see")
		r.rests()
		r.Ask("bob", "hello")
		says("good morning", "what is new?", "yes, at ten", "fine")
		r.rests()
		r.Ask("ada", "when is the standup?")
		r.Ask("bob", "when is the standup?")
		for message, want := range map[string][2]string{ // open and asked
			"good morning": {"Is the standup at ten now?", ""}, "what is new?": {"", "Is the standup at ten now?"}, "yes, at ten": {"", "Is the standup at ten now?"}, "fine": {},
		} {
			for i, section := range []string{"Open questions", "Asked before"} {
				if got := r.prompt("ada", message).Section(section); (got != "") != (want[i] != "") || !strings.Contains(got, want[i]) {
					r.T.Errorf("at %q %s are\n%s\nwant %q", message, section, got, want[i])
				}
			}
		}
		if told := r.prompt("ada", "when is the standup?"); !regexp.MustCompile(`^- \d+, \S+, fact of ada: The standup is at ten\.$`).MatchString(told.Section("Known facts")) {
			r.T.Errorf("ada's prompt elsewhere:\n%s", told.User)
		}
		for _, message := range []string{"hello", "when is the standup?"} {
			if told := r.prompt("bob", message); told.Has("at ten") {
				r.T.Errorf("bob's prompt:\n%s", told.User)
			}
		}
		if list := r.query("SELECT state FROM memories WHERE kind = 'question'"); len(list) != 1 || list[0][0] != "answered" {
			r.T.Errorf("the questions are %v", list)
		}
	})
}
