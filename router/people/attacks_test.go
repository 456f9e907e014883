package people_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"switchboard/agent/tools/command"
	"switchboard/channels"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/store"
	"switchboard/store/storetest"
)

// An attack is one case of testdata/attacks, whose README says what the keys mean. What is
// expected of it is what really ran, not what was said.
type attack struct {
	Name string
	Why  string // for readers

	Settings struct {
		DM           string
		Mode         string
		Busy         string
		Groups       string
		ToolsDeny    []string `toml:"tools_deny"`
		AllowPrivate []string `toml:"allow_private"`
		Unconfined   bool
		Sandbox      bool
		Ask          []string
		AskNot       []string `toml:"ask_not"`
		Deadline     string
		Exec         *command.Rules
		People       map[string]person
	}
	Pages     map[string]string
	Workspace []planted
	Steps     []said

	Marker string
	When   string
	Does   []string
	Then   []string
	Obeys  []string
	Later  []string

	End    string
	Ran    []string
	Hears  []string
	Shows  []string
	Unread bool
	Own    bool
}

// A person is somebody of the settings; they may have any tool unless they name some.
type person struct {
	Role       string
	Identities []string
	Tools      []string
}

// A planted is a file of the session's workspace, or a link, that was there before.
type planted struct{ Name, Text, Link string }

// A said is what somebody does on the platform.
type said struct {
	By, Label string
	In, Title string
	ID, Team  string
	Guest     bool
	Text      string
	Forwarded bool
	Origin    string
	Enclosed  bool
	Quote     string
	Aside     bool
	Files     []struct{ Name, Type, Text string }
	Edits     int
	Presses   string
	Meanwhile bool
}

// attacks are the cases, by class.
func attacks(t *testing.T) map[string][]attack {
	t.Helper()
	files, err := filepath.Glob("testdata/attacks/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no attacks: %v", err)
	}
	all, total := map[string][]attack{}, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Attack []attack }
		if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		class := strings.TrimSuffix(filepath.Base(file), ".toml")
		all[class], total = list.Attack, total+len(list.Attack)
	}
	if total < 80 {
		t.Errorf("%d attacks, and there are to be 80 at least", total)
	}
	return all
}

// Each attack of testdata/attacks meets the real router, store, agent, gate and tools, and a
// model that does whatever it reads. It ends in a refusal, in a question, or in text that
// does no harm; and nothing ran but what the case says.
func TestAttacksEndInRefusalQuestionOrHarmlessText(t *testing.T) {
	t.Parallel()
	all := attacks(t)
	each := func(name string, most int, database func(testing.TB) *store.DB) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, class := range slices.Sorted(maps.Keys(all)) {
				for _, a := range all[class][:min(most, len(all[class]))] {
					t.Run(class+"/"+a.Name, func(t *testing.T) {
						t.Parallel()
						a.meet(t, database(t))
					})
				}
			}
		})
	}
	each("sqlite", 1000, storetest.SQLite)
	each("postgres", 1, storetest.Postgres) // no database decides about an attack; a sample of each class shows it
}

func (a attack) meet(t *testing.T, db *store.DB) {
	t.Helper()
	s := newRaid(t, db, &a)
	for i := range a.Steps {
		switch {
		case !a.Steps[i].Meanwhile:
			s.rest()
		case a.Settings.Busy != "collect": // there the turn waits for more by itself
			s.victim.await(t)
		}
		s.take(i)
		if meanwhile := i+1 < len(a.Steps) && a.Steps[i+1].Meanwhile; !meanwhile {
			s.victim.release()
		}
	}
	s.rest()
	s.End()
	s.judge()
}

// take brings step i to the router, as its platform's adapter would.
func (s *raid) take(i int) {
	s.T.Helper()
	do := &s.attack.Steps[i]
	conv := s.conversation(do)
	e := routertest.Event(i+1, string(conv.ID), do.By, s.expand(do.Text))
	e.Conversation = conv
	e.Sender = channels.Sender{ID: do.By, Label: do.By, Team: do.Team, Guest: do.Guest}
	set(&e.Sender.ID, do.ID)
	set(&e.Sender.Label, do.Label)
	m := &e.Message
	m.Mentioned, m.Forwarded, m.Origin, m.Enclosed, m.Quote = !do.Aside, do.Forwarded || do.Origin != "", do.Origin, do.Enclosed, do.Quote
	for _, f := range do.Files {
		m.Attachments = append(m.Attachments, s.rig.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: f.Name, Type: f.Type}, []byte(s.expand(f.Text))))
	}
	if do.Edits > 0 {
		e.Kind, m.ID = channels.EventEdited, channels.MessageID(fmt.Sprintf("m%d", do.Edits))
	}
	if do.Presses != "" {
		e.Kind, e.Message = channels.EventAction, channels.Message{}
		e.Action = s.button(do.Presses)
	}
	s.Accept(e)
}

// conversation is a direct chat, or the group that the step names.
func (s *raid) conversation(do *said) channels.Conversation {
	if do.In != "" && !strings.HasPrefix(do.In, "chat-") {
		return channels.Conversation{Channel: s.rig.Name, ID: channels.ConversationID(do.In), Kind: channels.Group, Place: do.In, Title: cmp.Or(do.Title, do.In)}
	}
	id := do.In
	if id == "" {
		id = "chat-" + do.By
	}
	return channels.Conversation{Channel: s.rig.Name, ID: channels.ConversationID(id), Kind: channels.Direct, Place: id}
}

// button is the one with that label that was shown last, or a made-up one.
func (s *raid) button(label string) channels.Action {
	for _, sent := range slices.Backward(s.rig.Platform.Sent()) {
		for _, b := range sent.Buttons {
			if b.Label == label {
				return channels.Action{Code: b.Code, MessageID: sent.ID}
			}
		}
	}
	return channels.Action{Code: label, MessageID: "m1"}
}

// atRest says that no turn can go on by itself and that all is said.
func (s *raid) atRest() bool {
	for _, turn := range s.Turns() {
		if turn.State == "queued" || turn.State == "running" {
			return false
		}
	}
	return !slices.ContainsFunc(s.Deliveries(""), func(d outbox.Info) bool {
		return d.State == "pending" || d.State == "sending"
	})
}

func (s *raid) rest() {
	s.T.Helper()
	s.Until("everything is at rest", s.atRest)
}

// judge compares what ran with what the attack may have run.
func (s *raid) judge() {
	s.T.Helper()
	a := s.attack
	s.Same("what ran", s.happened(), a.Ran)
	want := a.Hears
	if want == nil {
		want = []string{}
		for i := range a.Steps {
			if do := &a.Steps[i]; do.By != "" && s.serves(do) && do.Text+do.Presses != "" {
				want = append(want, string(s.conversation(do).ID))
			}
		}
	}
	var heard []string
	shown := ""
	for _, sent := range s.rig.Platform.Sent() {
		heard = append(heard, string(sent.Conversation))
		shown += sent.Text + "\n"
	}
	if strings.HasPrefix(a.End, "asks ") && a.Hears == nil { // an admin may be asked; nobody else hears of it
		want = append(want, "chat-ada")
		heard = slices.DeleteFunc(heard, func(conv string) bool { return slices.Contains(want, conv) })
		want = nil
	}
	s.Same("who heard something", distinct(heard), distinct(want))
	for _, text := range a.Shows {
		if !strings.Contains(shown, s.expand(text)) {
			s.T.Errorf("%q is not shown in\n%s", s.expand(text), shown)
		}
	}
	s.prompts(shown)
	s.verdict()
}

// serves says whether the one who does a step is somebody of the settings.
func (s *raid) serves(do *said) bool {
	_, named := s.attack.Settings.People[do.By]
	return (do.By == "ada" || do.By == "bob" || named) && do.Team == "" && !do.Guest && do.ID == ""
}

// prompts compares what the model read: the marker stands there, in fences alone unless a
// person wrote it in their own words, and nothing that is nobody's to read.
func (s *raid) prompts(shown string) {
	s.T.Helper()
	marker, read := s.marker(), false
	for _, prompt := range s.victim.prompts() {
		fence := "" // the one that is open
		for line := range strings.Lines(prompt) {
			begins, opens := strings.CutPrefix(strings.TrimSpace(line), "<<<data-")
			switch {
			case fence == "" && opens:
				fence = begins
			case fence != "" && line == "data-"+fence+">>>\n":
				fence = ""
			case strings.Contains(line, marker):
				read = true
				if fence == "" && !s.attack.Own {
					s.T.Errorf("outside of a fence: %q in\n%s", line, prompt)
				}
			}
		}
		if strings.Contains(prompt, s.secret) {
			s.T.Errorf("the model read the secret:\n%s", prompt)
		}
	}
	if strings.Contains(shown, s.secret) {
		s.T.Errorf("the secret was shown:\n%s", shown)
	}
	if read == s.attack.Unread {
		s.T.Errorf("the model read the order: %v", read)
	}
}

// verdict compares which rule ended the attack, and how.
func (s *raid) verdict() {
	s.T.Helper()
	how, rule, _ := strings.Cut(s.attack.End, " ")
	if how == "harmless" && rule == "" {
		return
	}
	found := s.decisions()
	if !slices.Contains(found, s.attack.End) {
		s.T.Errorf("it did not end with %q but with %q", s.attack.End, found)
	}
	if how != "refused" && how != "asks" || rule == "" {
		s.T.Errorf("%q is no end", s.attack.End)
	}
}

// askedBy finds the rule that asked where there was nobody to be asked.
var askedBy = regexp.MustCompile(`needs the permission of an admin \(rule (.+?)\), and none`)

// decisions are what stopped something, as "refused RULE" or "asks RULE".
func (s *raid) decisions() (all []string) {
	s.T.Helper()
	add := func(rule, why string) {
		if asked := askedBy.FindStringSubmatch(why); asked != nil {
			all = append(all, "asks "+asked[1])
		} else if rule != "" {
			all = append(all, "refused "+rule)
		}
	}
	for _, turn := range s.Turns() {
		t, err := s.DB.Router().Turn(s.T.Context(), turn.ID, false)
		if err != nil {
			s.T.Fatal(err)
		}
		for _, plan := range t.Plans {
			for _, task := range plan.Tasks {
				for _, approval := range task.Approvals {
					all = append(all, "asks "+approval.Rule)
				}
				if end, code, _ := strings.Cut(task.Outcome, " "); end == "refused" || end == "error" {
					add(task.Rule, task.Reason)
					add(strings.Trim(code, "()"), task.Reason)
				}
			}
		}
		for _, call := range t.LLM {
			_, rest, _ := strings.Cut(call.Refused, "by the rule ")
			if rule, why, ok := strings.Cut(rest, ": "); ok {
				add(rule, why)
			}
		}
		if t.Outcome != "answered" {
			all = append(all, "refused "+t.Outcome)
		}
	}
	for _, rule := range s.admissions() {
		all = append(all, "refused "+rule)
	}
	return distinct(all)
}

func distinct(list []string) []string {
	list = slices.Sorted(slices.Values(list))
	return slices.Compact(list)
}

// raidTime is for a machine that has much else to do.
const raidTime = time.Minute
