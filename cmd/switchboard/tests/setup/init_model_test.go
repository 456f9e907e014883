package setup_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

const (
	aModel   = "  A model: its number"
	itsModel = "  Name of the model, as that server calls it"
	address  = "  Its address "
	noModel  = `No model is set up; "switchboard init model" adds one later.`
)

// withoutPlatforms are the steps behind the model's, with Enter alone.
var withoutPlatforms = []programtest.Step{{botToken, "", "Slack"}, {slackBot, "", "Discord"}, {botToken, "", ""}, {scriptedAt, "", ""}, {timeZone, "", "wrote "}}

// A server, by its address, is asked for its models at once, and the chosen one a question.
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
	s.Follow(append([]programtest.Step{
		{whichModel, key, "You type the key at the next question; it is not shown."},
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
	s.Leaves()
	if shown := s.Shown.String(); strings.Contains(shown, "wrong") || strings.Count(shown, key) != 1 { // which is the one that was typed where it is seen
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
		steps []programtest.Step
		want  string
	}{
		"no key":      {[]programtest.Step{{whichModel, "5", "Write a number from 1 to 4"}, {whichModel, "1", "https://openrouter.ai/settings/keys"}, {modelKey, "", noModel}}, "\nplanner = \"offline\"\n"},
		"not there":   {[]programtest.Step{{whichModel, "127.0.0.1:1", "FAIL  list models: the model is not available"}, {address, "", ""}, {itsModel, "", noModel + "\r\n"}}, "\nplanner = \"offline\"\n"},
		"no credit":   {[]programtest.Step{{whichModel, srv.URL() + "/chat/completions", "It does not say which models it has"}, {itsModel, "some/model", `FAIL  the account at "local" has no credit left`}, {itsModel, "keep", "Telegram"}}, "planner = \"local/some/model\""},
		"not at once": {[]programtest.Step{{whichModel, srv.URL(), "It does not say which models it has"}, {itsModel, "some/model", "press Enter to go on without"}, {itsModel, "", "Telegram"}}, "\nplanner = \"offline\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := inFolder(t, dir, "init")
			s.Follow(append(c.steps, withoutPlatforms...)...)
			s.Leaves()
			if text := testkit.Read(t, filepath.Join(dir, "switchboard.toml")); !strings.Contains(text, c.want) {
				t.Errorf("the settings lack %q", c.want)
			}
		})
	}
}

// After an address where no server answers the address is asked again; Enter keeps it, so that a model can be
// named by hand.
func TestInitAsksAgainForAnAddressThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const unreachable = "FAIL  list models: the model is not available"
	srv := llmtest.New(t)
	srv.Lists("small")
	srv.Handle(llmtest.Agreeable)
	for name, c := range map[string]struct {
		steps []programtest.Step
		want  string
	}{
		"another one": {[]programtest.Step{
			{whichModel, "4", ""},
			{address + "[http://127.0.0.1:11434/v1, which is Ollama's]: ", "127.0.0.1:1", unreachable},
			{address + "[http://127.0.0.1:1/v1, as it is]: ", "not an address", "That is not an address"},
			{address + "[http://127.0.0.1:1/v1, as it is]: ", "127.0.0.1:2", unreachable},
			{address + "[http://127.0.0.1:2/v1, as it is]: ", srv.URL(), "ok    it answers; models: 1"},
			{aModel, "", "Telegram"},
		}, "\n[llm.providers.local]\nbase_url = \"" + srv.URL() + "\"\n"},
		"as it is": {[]programtest.Step{
			{whichModel, "127.0.0.1:1", unreachable},
			{address, "", ""},
			{itsModel, "some/model", "FAIL"},
			{itsModel, "keep", "Telegram"},
		}, "\nplanner = \"local/some/model\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := inFolder(t, dir, "init")
			s.Follow(append(c.steps, withoutPlatforms...)...)
			s.Leaves()
			if text := testkit.Read(t, filepath.Join(dir, "switchboard.toml")); !strings.Contains(text, c.want) {
				t.Errorf("the settings lack %q", c.want)
			}
		})
	}
}

// A key is not sent to another address than the one that it was typed for.
func TestInitSendsAKeyToItsServerAlone(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-first-server"
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(first.Close)
	sent := make(chan string, 10)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(second.Close)
	s := inFolder(t, t.TempDir(), "init", "model")
	s.Follow(
		programtest.Step{whichModel, first.URL, "the provider rejected the key"},
		programtest.Step{modelKey, key, "FAIL  list models: the model is not available"},
		programtest.Step{address, second.URL, "It does not say which models it has"},
		programtest.Step{itsModel, "", noModel},
	)
	s.Leaves()
	if got := <-sent; got != "" {
		t.Errorf("the second server got the key of the first: %q", got)
	}
}

// Who goes on without a model reads which one is used, and that the key is not saved.
func TestInitSaysThatAKeyWithoutAModelIsNotSaved(t *testing.T) {
	t.Parallel()
	const unreachable = "[llm.providers.openrouter]\nbase_url = \"http://127.0.0.1:1/v1\"\n[llm.providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"none\"\n"
	for planner, want := range map[string]string{
		"offline":    noModel + " The key that you typed is not saved.\r\n",
		"local/tiny": "The model stays local/tiny. The key that you typed is not saved.\r\n",
	} {
		t.Run(planner, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "switchboard.toml")
			mine := "data_dir = \"data\"\n[agent]\nplanner = \"" + planner + "\"\n" + unreachable
			testkit.Write(t, path, mine)
			s := inFolder(t, dir, "init", "model")
			s.Follow(
				programtest.Step{whichModel, "1", "https://openrouter.ai/settings/keys"},
				programtest.Step{modelKey, "sk-or-v1-a-key", "FAIL  list models: the model is not available"},
				programtest.Step{itsModel, "", want},
			)
			s.Leaves()
			if text := testkit.Read(t, path); text != mine {
				t.Errorf("the settings are\n%s", text)
			}
		})
	}
}

// What a model does wrong is said in words, and how to mend it once.
func TestInitSaysOnceHowToMendAModel(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.ExpectFaults() // it has no list
	srv.Handle(modelKinds["empty"].does)
	s := inFolder(t, t.TempDir(), "init", "model")
	s.Follow(
		programtest.Step{whichModel, srv.URL(), "It does not say which models it has"},
		programtest.Step{itsModel, "some/model", "FAIL  this model does not answer in the form that Switchboard needs: it "},
		programtest.Step{itsModel, "", noModel},
	)
	s.Leaves()
	srv.Reads(4096)
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		if r.Role != "planner" {
			return llmtest.Text("What a nice list!")
		}
		return llmtest.Agreeable(r)
	})
	s = inFolder(t, t.TempDir(), "init", "model")
	s.Follow(programtest.Step{whichModel, srv.URL(), "It does not say which models it has"}, programtest.Step{itsModel, "some/model", "wrote "})
	s.Leaves()
	shown := s.Shown.String()
	_, behind, ok := strings.Cut(shown, "WARN  it forgets the beginning of a prompt")
	if !ok || !strings.Contains(shown, "WARN  it reads 4096 tokens at once") || strings.Count(shown, "fix: with Ollama") != 1 || !strings.Contains(behind, "fix: with Ollama") {
		t.Errorf("it says\n%s", shown)
	}
}
