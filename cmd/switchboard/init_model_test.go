package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/testkit"
)

const (
	aModel   = "  A model: its number"
	itsModel = "  Name of the model, as that server calls it"
)

// withoutPlatforms are the steps behind the model's, with Enter alone.
var withoutPlatforms = []step{{botToken, "", "Slack"}, {slackBot, "", "Discord"}, {botToken, "", ""}, {timeZone, "", "wrote "}}

// A server, by its address, is asked for its models at once, and the chosen one a question.
//
// promise: P6.secret-unprintable
func TestInitTriesTheKeyAndTheModel(t *testing.T) {
	t.Parallel()
	const key = "sk-a-key-of-this-test"
	dir, srv := t.TempDir(), llmtest.New(t)
	srv.RequireKey(key)
	srv.Lists("nomic-embed-text", "big", "vendor/small", "vendor/smaller")
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		if r.Model == "big" {
			return llmtest.Fail(404, "invalid_request_error", "", "It is not loaded.")
		}
		return llmtest.Agreeable(r)
	})
	s := inFolder(t, dir, "init")
	s.follow(append([]step{
		{whichModel, key, "A key comes next, where it is not shown"},
		{whichModel, strings.TrimPrefix(srv.URL(), "http://"), "FAIL  list models: the provider rejected the key (401"},
		{modelKey, "two words", "a key has no spaces in it"},
		{modelKey, "env:NOT_SET_ANYWHERE", "FAIL  env:NOT_SET_ANYWHERE is not set, or empty"},
		{modelKey, "file:/proc/not/there", "FAIL  there is no file /proc/not/there"},
		{modelKey, "sk-wrong", "FAIL  list models: the provider rejected the key (401"},
		{modelKey, "\"Bearer " + key + "\"", "ok    it answers; models: 4"},
		{aModel, "none such", `It has no model with "none such" in its name`},
		{aModel, "SMALL", "2  vendor/smaller"},
		{aModel + ", its name, or a part of its name [big]", "", `FAIL  "local" does not know the model "big"`},
		{aModel, "1", "Asking vendor/small for a small plan"},
	}, withoutPlatforms...)...)
	s.leaves()
	if shown := s.shown.String(); strings.Contains(shown, "wrong") || strings.Count(shown, key) != 1 { // which is the one that was typed where it is seen
		t.Error("a key is shown")
	}
	text := testkit.Read(t, filepath.Join(dir, "switchboard.toml"))
	for _, want := range []string{
		"\n[llm.providers.local]\nbase_url = \"" + srv.URL() + "\"\napi_key = \"" + key + "\"\n",
		"\nplanner = \"local/vendor/small\"\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %q", want)
		}
	}
	if out := ran(t, dir, "--data", "data", "doctor"); !strings.Contains(out, "local/vendor/small (planner, reviewer, worker): answered in") {
		t.Errorf("the doctor says\n%s", out)
	}
}

// A model that does not answer can be taken all the same, or left out: Enter goes on without.
func TestInitTakesAModelThatCannotBeTried(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.ExpectFaults()
	srv.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Fail(402, "invalid_request_error", "", "Insufficient credits.")
	})
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"no key":      {[]step{{whichModel, "5", "Write a number from 1 to 4"}, {whichModel, "1", "https://openrouter.ai/settings/keys"}, {modelKey, "", "Telegram"}}, "\nplanner = \"offline\"\n"},
		"not there":   {[]step{{whichModel, "127.0.0.1:1", "FAIL  list models: the model is not available"}, {itsModel, "", "Telegram"}}, "\nplanner = \"offline\"\n"},
		"no credit":   {[]step{{whichModel, srv.URL() + "/chat/completions", "It does not say which models it has"}, {itsModel, "some/model", `FAIL  the account at "local" has no credit left`}, {itsModel, "keep", "Telegram"}}, "planner = \"local/some/model\""},
		"not at once": {[]step{{whichModel, srv.URL(), "It does not say which models it has"}, {itsModel, "some/model", "press Enter to go on without"}, {itsModel, "", "Telegram"}}, "\nplanner = \"offline\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := inFolder(t, dir, "init")
			s.follow(append(c.steps, withoutPlatforms...)...)
			s.leaves()
			if text := testkit.Read(t, filepath.Join(dir, "switchboard.toml")); !strings.Contains(text, c.want) {
				t.Errorf("the settings lack %q", c.want)
			}
		})
	}
}
