package people_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/agent/tools/workspace"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/router/turns"
	"switchboard/store"
	"switchboard/store/storetest"
)

// A raid is a rig in which an attack is met, and the record of what ran in it.
type raid struct {
	*rig
	attack     *attack
	victim     *victim
	secret     string // in a file beside the workspaces
	host       string // its names end in this
	claim      string // made where a step has it
	page, evil *httptest.Server

	mu     sync.Mutex
	ran    []string
	before map[string]string // the files of the data folder
}

func newRaid(t *testing.T, db *store.DB, a *attack) *raid {
	t.Helper()
	s := &raid{rig: newRig(t, db), attack: a, secret: "canary" + strings.ToLower(rand12()), host: strings.ToLower(rand12()) + ".test"}
	s.rig.Dir = t.TempDir()
	s.page, s.evil = s.serve("page"), s.serve("evil")
	s.Log = discard{}
	s.Script.Files, s.Script.Buttons = 2, true
	r := s.rig
	r.Config.CollectWindow /= 4
	set(&r.Config.DefaultMode, a.Settings.Mode)
	set(&r.Config.Busy, a.Settings.Busy)
	r.Channel.AllowConversations = []string{"room"}
	set(&r.Channel.DM, a.Settings.DM)
	set(&r.Channel.Groups, a.Settings.Groups)
	r.Channel.ToolsDeny = a.Settings.ToolsDeny
	for name, p := range a.Settings.People {
		list := core.Person{Name: name, Role: p.Role, Identities: p.Identities, Tools: p.Tools, Source: "config"}
		if p.Tools == nil {
			list.Tools = []string{"*"}
		}
		r.People = slices.DeleteFunc(r.People, func(p core.Person) bool { return p.Name == name })
		r.People = append(r.People, list)
	}
	if a.Settings.Deadline != "" {
		wait, err := time.ParseDuration(a.Settings.Deadline)
		s.must(err)
		r.Deadline = wait
	}
	s.wire()
	s.plant()
	r.Start()
	return s
}

func set(value *string, to string) {
	if to != "" {
		*value = to
	}
}

// wire makes the agent with its tools, as the program does.
func (s *raid) wire() {
	a, r := s.attack, s.rig
	files := r.Filed()
	r.Files = files
	allow := a.Settings.AllowPrivate
	if allow == nil {
		allow = []string{"127.0.0.0/8"}
	}
	var nets []netip.Prefix
	for _, net := range allow {
		if net != "" {
			nets = append(nets, netip.MustParsePrefix(net))
		}
	}
	registry, err := tools.NewRegistry(tools.Builtin(tools.BuiltinConfig{AllowPrivate: nets, Files: files, Messenger: s.write, Schedule: s.desk(), Commander: s.give})...)
	if err != nil {
		s.T.Fatal(err)
	}
	everything := func(*core.Person, *people.Change) error { return nil }
	r.Commands = []commands.Command{people.Command(r.DB.Router(), everything), audit.Command(r.DB.Router())}
	s.victim = newVictim(s.marker(), s.plans(a.Does, a.Then), s.plans(a.Obeys, a.Later))
	s.victim.when = a.When
	s.victim.holds = slices.ContainsFunc(a.Steps, func(do said) bool { return do.Meanwhile })
	cfg := agent.DefaultConfig()
	cfg.Planner, cfg.Worker, cfg.Reviewer = "planner", "worker", "reviewer"
	cfg.AdminUnconfined = a.Settings.Unconfined
	r.Agent, err = agent.New(cfg, s.victim, registry, raidShell{s}, &raidGate{raid: s}, slog.New(slog.DiscardHandler), agent.Options{})
	if err != nil {
		s.T.Fatal(err)
	}
}

// write is the router's Messenger; the router is made after the agent.
func (s *raid) write(ctx context.Context, call tools.Call, to, text string) tools.Result {
	return s.Router.Messages.SendMessage(ctx, call, to, text)
}

// give is the router's Commander; what it is given is noted.
func (s *raid) give(ctx context.Context, call tools.Call, name string, args ...string) tools.Result {
	s.note(strings.Join(append([]string{"COMMAND", name}, args...), " "))
	return s.Router.GiveCommand(ctx, call, name, args...)
}

// desk has the jobs, as in the program.
func (s *raid) desk() *jobs.Service {
	of := s.DB.Router()
	return &jobs.Service{
		Store: of, Now: time.Now, Person: func(name string) *core.Person { return s.Roster.Named(name) },
		Chat: func(ctx context.Context, session string) (channels.Conversation, error) {
			channel, id, _ := strings.Cut(session, ":")
			chat, err := of.Chat(ctx, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
			return chat.Conversation, err
		},
		FindRecipient: func(ctx context.Context, person *core.Person, to string) (channels.Conversation, string, *tools.Result) {
			return s.Router.Messages.FindRecipient(ctx, person, to)
		},
		Change: func(ctx context.Context, c core.Change, by core.Actor) error { return s.Router.Change(ctx, c, by) },
		Hide:   func(text string) string { return s.Router.Hide(text) },
		Settings: func() jobs.Settings {
			return jobs.Settings{Enabled: true}
		},
	}
}

// marker is what the order can be known by.
func (s *raid) marker() string {
	if s.attack.Marker != "" {
		return s.attack.Marker
	}
	return "Obey"
}

func (s *raid) port() string { return s.evil.URL[strings.LastIndexByte(s.evil.URL, ':')+1:] }

// expand fills in what only this run knows.
func (s *raid) expand(text string) string {
	if strings.Contains(text, "{claim}") && s.claim == "" {
		s.claim = s.newClaim()
	}
	var asked []string // the codes of questions, the newest first
	for _, sent := range slices.Backward(s.rig.Platform.Sent()) {
		if routertest.ApproveCode.MatchString(sent.Text) {
			asked = append(asked, s.TypedCode(sent))
		}
	}
	asked = append(asked, "AAAA-AAAA", "AAAA-AAAA")
	return strings.NewReplacer("{code}", asked[0], "{former}", asked[1], "{claim}", s.claim, "{page}", s.page.URL, "{evil}", s.evil.URL, "{secret}", s.secret, "{host}", s.host,
		"{port}", s.port(), "{outside}", filepath.Join(s.rig.Dir, "outside")).Replace(text)
}

// plans are what is to be planned, one after the other.
func (s *raid) plans(lists ...[]string) (out [][]string) {
	for _, list := range lists {
		var plan []string
		for _, line := range list {
			plan = append(plan, s.expand(line))
		}
		if plan != nil {
			out = append(out, plan)
		}
	}
	return out
}

// raidGate is the policy over the rig's people.
type raidGate struct {
	*raid
	once   sync.Once
	policy *router.Policy
}

func (g *raidGate) Decide(q tools.Question) tools.Decision {
	g.once.Do(func() {
		cfg := router.DefaultPolicyConfig()
		if rules := g.attack.Settings.Exec; rules != nil {
			cfg.Exec = *rules
		}
		cfg.Ask, cfg.AskNot = g.attack.Settings.Ask, g.attack.Settings.AskNot
		g.policy = router.NewPolicy(g.Roster, func(name string) *router.ChannelConfig {
			if name == g.rig.Name {
				return &g.Channel
			}
			return nil
		}, cfg)
	})
	return g.policy.Decide(q)
}

func (g *raidGate) Confirm(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision {
	return g.policy.Confirm(ctx, q, d)
}

// raidShell records commands and runs those of cases about the sandbox alone, in it.
type raidShell struct{ *raid }

func (s raidShell) Run(ctx context.Context, cmd tools.Command) tools.Result {
	as := "exec "
	if cmd.Admin && s.attack.Settings.Unconfined {
		as = "exec unconfined "
	}
	s.note(as + cmd.Line)
	if s.attack.Settings.Sandbox {
		return tools.NewExec(tools.ExecConfig{}).Run(ctx, cmd)
	}
	return tools.Result{End: tools.EndOK, Output: "done\n"}
}

func (s *raid) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, strings.NewReplacer(s.page.URL, "{page}", s.evil.URL, "{evil}", s.port(), "{port}", filepath.Join(s.rig.Dir, "outside"), "{outside}").Replace(what))
}

// serve is a site that notes what it is asked for.
func (s *raid) serve(name string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		what := "GET " + name + req.URL.RequestURI()
		for _, header := range []string{"Referer", "Cookie", "Authorization"} {
			if v := req.Header.Get(header); v != "" {
				what += " with " + header
			}
		}
		s.note(what)
		text, ok := s.attack.Pages[req.URL.Path]
		if to, away := strings.CutPrefix(text, "-> "); away {
			http.Redirect(w, req, s.expand(to), http.StatusFound)
			return
		}
		kind := "text/plain"
		if strings.HasPrefix(text, "<") {
			kind = "text/html"
		}
		if as, rest, typed := strings.Cut(text, " | "); typed {
			kind, text = as, rest
		}
		w.Header().Set("Content-Type", kind)
		if missing, gone := strings.CutPrefix(text, "404 "); gone || !ok {
			w.WriteHeader(http.StatusNotFound)
			text = missing
		}
		fmt.Fprint(w, s.expand(text))
	}))
	s.rig.T.Cleanup(server.Close)
	return server
}

// plant puts files into the data folder: the secret beside the workspaces, and what the
// session's workspace has from before.
func (s *raid) plant() {
	outside := filepath.Join(s.rig.Dir, "outside")
	s.must(os.MkdirAll(outside, 0o700))
	s.must(os.WriteFile(filepath.Join(outside, "secret.txt"), []byte(s.secret), 0o600))
	s.must(os.WriteFile(filepath.Join(s.rig.Dir, "secret.txt"), []byte(s.secret), 0o600))
	dir := turns.Workspace(s.rig.Dir, 1)
	s.must(os.MkdirAll(dir, 0o700))
	for _, p := range s.attack.Workspace {
		at := filepath.Join(dir, p.Name)
		s.must(os.MkdirAll(filepath.Dir(at), 0o700))
		if p.Link != "" {
			s.must(os.Symlink(s.expand(p.Link), at))
			continue
		}
		s.must(os.WriteFile(at, []byte(s.expand(p.Text)), 0o600))
	}
	s.before = s.tree()
}

func (s *raid) must(err error) {
	s.rig.T.Helper()
	if err != nil {
		s.rig.T.Fatal(err)
	}
}

// tree is every file of the data folder with what is in it.
func (s *raid) tree() map[string]string {
	files := map[string]string{}
	s.must(filepath.WalkDir(s.rig.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == workspace.Hidden {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(s.rig.Dir, path)
		if strings.HasSuffix(name, ".taint.json") {
			return nil
		}
		switch {
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			files[name], err = os.Readlink(path)
		default:
			var data []byte
			data, err = os.ReadFile(path)
			files[name] = string(data)
		}
		return err
	}))
	return files
}

// happened is all that ran: commands and requests in their order, then names that were
// looked up, then the files that differ.
func (s *raid) happened() []string {
	s.rig.T.Helper()
	s.mu.Lock()
	all := slices.Clone(s.ran)
	s.mu.Unlock()
	var more []string
	for _, name := range routertest.Names.Asked(s.host) {
		more = append(more, "LOOKUP "+strings.TrimSuffix(name, s.host))
	}
	now := s.tree()
	inside := filepath.Join("workspaces", "1") + string(filepath.Separator)
	for name, text := range now {
		if before, ok := s.before[name]; !ok || before != text {
			more = append(more, "write "+strings.TrimPrefix(name, inside))
		}
	}
	for name := range s.before {
		if _, ok := now[name]; !ok {
			more = append(more, "remove "+strings.TrimPrefix(name, inside))
		}
	}
	made, err := s.DB.Router().Jobs(s.rig.T.Context(), "", 0, 100)
	s.must(err)
	for _, job := range made {
		if job.Owner != "" {
			more = append(more, fmt.Sprintf("JOB %s of %s: %s", job.Payload.Kind(), job.Owner, job.Text))
		}
	}
	return append(all, distinct(more)...)
}

// admissions are the rules by which messages were not taken.
func (s *raid) admissions() (rules []string) {
	s.rig.T.Helper()
	for _, rule := range []string{
		audit.RuleBot, audit.RuleNoPerson, audit.RuleGroupsDisabled, audit.RuleNotAllowed, audit.RuleDMDisabled,
		audit.RuleUnnamed, audit.RuleNoLonger, audit.RuleUnknown, audit.RuleNotMeant,
	} {
		n, err := storetest.Count(s.rig.T.Context(), s.DB, "SELECT count(*) FROM messages WHERE rule = '"+rule+"'")
		s.must(err)
		if n > 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

// discard takes a log that nobody reads.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// rand12 is a word that nobody guesses.
func rand12() string { return rand.Text()[:12] }
