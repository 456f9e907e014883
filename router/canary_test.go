package router_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest"
	"switchboard/channels/render/rendertest"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

const (
	typedCanary = "Kestrel typed/in+plain words 71"  // of a person, for a task
	setCanary   = `Canary/+7 zebra&moon?<x>"y" 4711` // set in the chat, into the encrypted store
	lateCanary  = "Linnet was said/long before 13"   // said, and set later
)

// encoded is a value in every way in which it may be printed.
func encoded(value string) []string {
	escaped, _ := json.Marshal(value)
	all := []string{value, string(escaped[1 : len(escaped)-1]), url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))}
	for i := range 3 {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i)+value)))
	}
	return all
}

// traces says where any way to write a value is found, or a good part of it.
func traces(t *testing.T, value string, texts map[string]string) {
	t.Helper()
	for where, text := range texts {
		for _, form := range encoded(value) {
			if i := strings.Index(text, form[4:16]); i >= 0 {
				t.Errorf("%s: %q stands in %q", where, form, text[max(0, i-150):min(len(text), i+60)])
				break
			}
		}
	}
}

// A leak is a model that repeats all that it can.
type leak struct {
	mu   sync.Mutex
	read []string // prompts
	all  string   // what is repeated; empty: not yet
}

func (m *leak) prompts(from int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.read[from:], "\n")
}

func (m *leak) repeat(all string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = all
}

// pieces shows a text as it grows, and stops for a while inside of the value.
func (m *leak) pieces(req llm.Request, text string) {
	if req.Stream == nil {
		return
	}
	half := strings.Index(text, "Canary") + 21
	for n := 0; n < len(text); n += 3 {
		req.Stream(text[:n])
		if n >= half && n < half+3 {
			time.Sleep(2 * time.Second) // the draft is shown by now
		}
	}
}

// Complete implements agent.Models.
func (m *leak) Complete(_ context.Context, model string, req llm.Request) (llm.Response, error) {
	m.mu.Lock()
	m.read = append(m.read, req.System+"\n"+req.User)
	all := m.all
	m.mu.Unlock()
	quoted, _ := json.Marshal(all)
	exchange := llm.Exchange{Request: []byte(`{"prompt":"…"}`), Response: quoted}
	answer := func(text string) (llm.Response, error) {
		return llm.Response{Text: text, Exchange: exchange, Finish: "stop"}, nil
	}
	switch model {
	case "reviewer":
		return answer(`{"status":"ok","reason":` + string(quoted) + `,"learn":` + string(quoted) + `}`)
	case "worker":
		m.pieces(req, "It is "+all+".")
		return answer("It is " + all + ".")
	}
	switch wish := routertest.Section(req.User, "New message"); {
	case strings.Contains(wish, "log in"):
		data, _ := json.Marshal(map[string]any{"goal": "log in", "secrets": []any{map[string]string{"key": "pw", "value": typedCanary}}, "tasks": []any{routertest.Task("msg", "say", "done "+typedCanary)}})
		return answer(string(data))
	case strings.Contains(wish, "print it"):
		return answer(routertest.Plan(all, routertest.Use("leak.print {}"), routertest.Task("msg", "tell "+all, "")))
	case strings.Contains(wish, "escape it"):
		text := routertest.Plan("tell", routertest.Task("msg", "tell", setCanary))
		text = strings.NewReplacer("Canary", `\u0043anary`, "zebra", `z\u0065bra`, "/", `\/`).Replace(text)
		m.pieces(req, text)
		return answer(text)
	case strings.Contains(wish, "fail"):
		return llm.Response{Exchange: exchange}, errors.New("the server says: " + all)
	}
	return answer(routertest.Plan("tell", routertest.Task("msg", "tell", "Well.")))
}

// A recorder notes the answers of models that are to be stored, which are packed there.
type recorder struct {
	router.Store
	answers *testkit.Log
}

func (r recorder) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	for _, call := range step.Calls {
		fmt.Fprintf(r.answers, "%s: %s\n", call.Step, call.Answer)
	}
	return r.Store.Commit(ctx, ref, step, says)
}

// A vaulted is the program's encrypted store of secrets.
type vaulted struct {
	*vault.Vault
	r *rig
}

// UsedBy implements router.Secrets.
func (v vaulted) UsedBy(string) []string { return nil }

// Changed implements router.Secrets.
func (v vaulted) Changed(context.Context) error { return nil }

// value is a secret as it is kept, for a tool.
func (v vaulted) value(ctx context.Context, _, name string) (secrets.Secret, error) {
	list, err := v.r.DB.Router().Secrets(ctx)
	for _, one := range list {
		if one.Name == name {
			return v.Open(one.Ciphertext)
		}
	}
	return "", errors.Join(err, secrets.ErrUnknown)
}

// TestCanaryLeavesNoTrace types a credential in plain words, sets another one with /secret set, has it
// printed in all ways, and looks for both in every byte that was written.
func TestCanaryLeavesNoTrace(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Mask = secrets.NewMasker()
		r.Script.Rich, r.Script.DraftEvery = true, 100*time.Millisecond
		var log, answers testkit.Log
		r.Store = func(l router.Store) router.Store { return recorder{l, &answers} }
		r.Log = r.Mask.Writer(&log)
		print := tools.Tool{
			Name: "leak.print", Summary: "Prints.", Page: "Prints.", Effect: tools.EffectRead, Secrets: []string{"canary"},
			Schema: []byte(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`),
			Run: func(_ context.Context, call tools.Call) tools.Result {
				all := strings.Join(encoded(call.Secrets["canary"].Reveal()), "\n")
				return tools.Result{End: tools.EndOK, Output: all, Hint: all}
			},
		}
		registry, err := tools.NewRegistry(print)
		if err != nil {
			t.Fatal(err)
		}
		registry.Mask = r.Mask
		r.Dir = t.TempDir()
		stored := vaulted{vault.New(r.Dir, "", r.Mask), r}
		r.Secrets, registry.Secret = stored, stored.value
		model := &leak{}
		cfg := agent.DefaultConfig()
		cfg.Planner, cfg.Worker, cfg.Reviewer = "planner", "worker", "reviewer"
		r.Agent, err = agent.New(cfg, model, registry, tools.NewExec(tools.ExecConfig{}), routertest.Anything{}, slog.New(slog.NewTextHandler(r.Log, nil)), agent.Options{Mask: r.Mask})
		if err != nil {
			t.Fatal(err)
		}
		late := false
		r.Missing = func() []string {
			if late {
				return []string{lateCanary}
			}
			return nil
		}
		r.Start()
		turns := 0
		asks := func(text string) {
			t.Helper()
			turns++
			r.Platform.Say("c1", "ada", text)
			r.ended(turns)
		}
		asks("log in with " + typedCanary)
		said := len(model.read)
		asks("it is about " + lateCanary) // which nobody knows to be a secret
		r.Platform.Say("c1", "ada", "/secret set canary "+setCanary)
		r.Until("the secret is set", func() bool {
			return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), "The secret canary is set.")
		})
		model.repeat(strings.Join(encoded(setCanary), " ; "))
		asks("is it " + setCanary + " or " + hex.EncodeToString([]byte(setCanary)) + "?")
		asks("print it")
		asks("escape it")
		asks("fail")
		r.Platform.Next(channelstest.Fault{Refused: "no such text: " + setCanary})
		asks("and now?")
		late = true
		known := len(model.read)
		r.Mask.Add(lateCanary)
		asks("and then?")
		r.Platform.Say("c1", "ada", "/start")
		r.Until("it is greeted", func() bool {
			return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), "Still to do")
		})
		r.End()
		if err := r.DB.EmptyLog(t.Context()); err != nil {
			t.Fatal(err)
		}

		var shown []string
		for _, turn := range r.Turns() {
			whole, err := r.DB.Router().Turn(t.Context(), turn.ID, true)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, string(data))
		}
		platform := strings.Join(routertest.Texts(r.Platform.Sent()), "\n") + fmt.Sprintf("%+v", r.Platform.Changes())
		everywhere := map[string]string{
			"the database": storetest.Traces(t, r.DB), "a turn as it is shown": strings.Join(shown, "\n"), "the data folder": storetest.Files(t, r.Dir),
			"the log": log.String(), "the platform": platform, "a prompt": model.prompts(said), "an answer that is stored": answers.String(),
		}
		if value, err := stored.value(t.Context(), "", "canary"); value != setCanary {
			t.Errorf("kept is %q, %v", value.Reveal(), err)
		}
		traces(t, setCanary, everywhere)
		traces(t, typedCanary, everywhere)
		traces(t, lateCanary, map[string]string{"the platform": platform, "a prompt": model.prompts(known), "the log": log.String()})
		for where, text := range everywhere {
			if !strings.Contains(text, "[redacted]") && where != "the data folder" && where != "the log" {
				t.Errorf("%s: nothing was masked: is it looked at?", where)
			}
		}
		if !strings.Contains(platform, "It is [redacted]") {
			t.Errorf("nothing was streamed: %s", platform)
		}
	})
}

func TestWhatIsSaidIsMasked(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const name = "kestrel-of-the-file-4711"
		r.Mask = secrets.NewMasker(setCanary, name)
		r.Script.Buttons, r.Script.Files = true, 1
		files := r.Filed()
		r.Files = files
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			file, err := files.Publish(p.Ctx, tools.Session{ID: p.Turn.Session.Key}, name+".txt", tools.Clean, strings.NewReader("hello"))
			if err != nil {
				return err
			}
			return p.Commit(p.Ctx, agent.Step{
				Say: []agent.Say{
					{Position: -1, Text: "Here is [it](attachment:" + file.ID + ")."},
					{Position: -1, Text: "Which? " + setCanary, Choices: []string{setCanary, "no"}, Final: true},
				},
				End: &agent.End{State: "done", Outcome: "asked"},
			})
		})
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.ended(1)
		r.End()
		if sent := fmt.Sprintf("%+v", r.Platform.Sent()); strings.Contains(sent, name) || !strings.Contains(sent, "Name:[redacted].txt") {
			t.Errorf("the file is sent as %s", sent)
		}
		traces(t, setCanary, map[string]string{"the platform": fmt.Sprintf("%+v", r.Platform.Sent()), "the database": storetest.Traces(t, r.DB)})
	})
}

// ended waits until n turns have ended and all is said.
func (r *rig) ended(n int) {
	r.T.Helper()
	r.Until(fmt.Sprintf("%d turns have ended", n), func() bool {
		list := r.Turns()
		for _, turn := range list {
			if turns.TurnState(turn.State).Open() {
				return false
			}
		}
		return len(list) == n && len(r.Deliveries("pending"))+len(r.Deliveries("sending"))+len(r.Deliveries("draft")) == 0
	})
}

// A markup is a model that says a secret in Markdown that shows it whole.
type markup struct {
	list []string // what it says, by the number that is asked for
	args string   // of a tool, for what is no number
}

// Complete implements agent.Models.
func (m *markup) Complete(_ context.Context, model string, req llm.Request) (llm.Response, error) {
	answer := func(text string) (llm.Response, error) {
		return llm.Response{Text: text, Exchange: llm.Exchange{Request: []byte(`{}`), Response: []byte(`{}`)}, Finish: "stop"}, nil
	}
	wish := routertest.Section(req.User, "New message")
	said := m.list[0]
	for i, text := range m.list {
		if strings.Contains(wish, fmt.Sprintf("number %d.", i)) {
			said = text
		}
	}
	switch {
	case model == "reviewer":
		return answer(`{"status":"ok","reason":null,"learn":null}`)
	case model == "worker":
		return answer(said)
	case strings.Contains(wish, "choose"):
		asked := routertest.Task("msg", "ask", "Which "+said)
		asked["choices"] = []string{strings.NewReplacer("an", "a\u200bn", "es", "e\x00s").Replace(rendertest.Secret), "no"}
		return answer(routertest.Plan("ask", asked))
	case strings.Contains(wish, "note"):
		noted := routertest.Task("tool", "note", "")
		noted["tool"], noted["args"], noted["expect"] = "note.keep", m.args, "it is noted"
		return answer(routertest.Plan("note", noted, routertest.Task("msg", "tell", "")))
	}
	return answer(routertest.Plan("tell", routertest.Task("msg", "tell", said)))
}

// TestNoSecretIsShownByMarkup has a model say a secret in every Markdown that hides it from who
// looks at the text and not at what is laid out of it.
func TestNoSecretIsShownByMarkup(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Mask = secrets.NewMasker(rendertest.Secret)
		r.Script.Rich, r.Script.Buttons = true, true
		noted := make(chan string, 1)
		keep := tools.Tool{
			Name: "note.keep", Summary: "Notes.", Page: "Notes.", Effect: tools.EffectRead,
			Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
			Run: func(_ context.Context, call tools.Call) tools.Result {
				noted <- string(call.Args)
				return tools.Result{End: tools.EndOK, Output: strings.ReplaceAll(rendertest.Secret, "ar", "a\x00r")}
			},
		}
		registry, err := tools.NewRegistry(keep)
		if err != nil {
			t.Fatal(err)
		}
		registry.Mask = r.Mask
		model := &markup{args: `{"text":"Zq9C\u0061n\u0061ry\"\nk\u0065strel\u002647"}`}
		for _, text := range rendertest.Secrets() {
			model.list = append(model.list, text)
		}
		cfg := agent.DefaultConfig()
		cfg.Planner, cfg.Worker, cfg.Reviewer = "planner", "worker", "reviewer"
		r.Agent, err = agent.New(cfg, model, registry, tools.NewExec(tools.ExecConfig{}), routertest.Anything{}, slog.New(slog.DiscardHandler), agent.Options{Mask: r.Mask})
		if err != nil {
			t.Fatal(err)
		}
		r.Start()
		for i := range model.list {
			r.Platform.Say("c1", "ada", fmt.Sprintf("say number %d.", i))
			r.ended(i + 1)
		}
		r.Platform.Say("c1", "ada", "let me choose")
		r.ended(len(model.list) + 1)
		r.Platform.Say("c1", "ada", "note it")
		r.ended(len(model.list) + 2)
		r.End()
		if args := <-noted; args != `{"text":"[redacted]"}` {
			t.Errorf("a tool is given %s", args)
		}
		platform := fmt.Sprintf("%+v %+v", r.Platform.Sent(), r.Platform.Changes())
		for where, text := range map[string]string{"the database": storetest.Traces(t, r.DB), "the platform": platform} {
			whole := strings.NewReplacer("\n", "", `\n`, "", "\x00", "", `\u0000`, "", "\u200b", "", `\u0026`, "&", `\"`, `"`).Replace(text)
			for i := strings.Index(whole, rendertest.Secret); i >= 0; i = strings.Index(whole, rendertest.Secret) {
				// A compressed body has only what no dictionary holds: not the markup that parts the secret.
				if !strings.Contains(whole[max(0, i-4096):i], "\xb5/\xfd") {
					t.Errorf("%s: it stands in %q", where, whole[max(0, i-150):i+60])
					break
				}
				whole = whole[i+1:]
			}
		}
		if n := strings.Count(platform, "[redacted]"); n < len(model.list) {
			t.Errorf("the platform is shown %d of %d: %s", n, len(model.list), platform)
		}
	})
}
