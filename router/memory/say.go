package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// order is how kinds are listed, and what people call them.
var order = []struct {
	kind  memory.Kind
	title string
}{
	{memory.Rule, "Rules"},
	{memory.Preference, "Preferences"},
	{memory.Fact, "Facts"},
	{memory.Question, "What I would like to know"},
	{memory.Learning, "Not looked at yet"},
}

// sources say how a memory came to be.
var sources = map[string]string{
	Said: "said", Command: "written", "review": "learned from a task", "rest": "learned from what was said", "curator": "learned",
	Answer: "confirmed", "merge": "put together", Import: "imported",
}

// listed are memories by kind, as they are read where a command was given.
func listed(list []memory.Entry, c *commands.Call) string {
	var b strings.Builder
	for _, g := range ByKind(list) {
		b.WriteString("\n**" + g.Title + "**\n")
		for _, e := range g.Memories {
			fmt.Fprintf(&b, "- %d. %s (%s)\n", e.ID, shown(&e, 300), about(&e, c))
		}
	}
	return strings.TrimSpace(b.String())
}

// shown is what a memory says, in one line.
func shown(e *memory.Entry, most int) string {
	text := words.OneLine(e.Text, most)
	if e.Key != "" {
		text = e.Category + ", " + e.Key + ": " + text
	}
	return words.Escape(text)
}

// about says where a memory comes from, and how sure it is.
func about(e *memory.Entry, c *commands.Call) string {
	parts := []string{sources[e.Source], e.CreatedAt.In(c.Zone()).Format("2 Jan 2006")}
	if e.Session != "" {
		parts[0] += " in " + words.Escape(core.ChatWords(core.OfSession(e.Session), c.Conversation()))
	}
	if e.Person != "" && e.Person != c.Person.Name {
		parts[0] += " by " + words.Escape(e.Person)
	}
	if e.Kind == memory.Rule && e.Category != memory.RuleCategories[0] {
		parts = append(parts, e.Category)
	}
	if e.Always {
		parts = append(parts, "always")
	}
	if e.Scope == memory.Global {
		parts = append(parts, "for everybody")
	}
	if e.Taint != tools.Clean {
		parts = append(parts, "not sure: it comes from "+e.Taint.Words())
	}
	if e.State == "archived" {
		parts = append(parts, "not used for long")
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// taintOf is the taint of texts of memories for somebody: the words of others are.
func taintOf(person string, list ...memory.Entry) (taint tools.Taint) {
	for i := range list {
		taint = taint.Join(list[i].TaintFor(person))
	}
	return taint
}

// Became says what a change came to, in plain text.
func Became(c *Change) string { return said(c, (*memory.Entry).Named) }

func said(c *Change, shown func(*memory.Entry) string) string {
	done := ""
	if len(c.Done) == 1 {
		done = shown(&c.Done[0])
	}
	switch c.Kind {
	case Add, Correct:
		switch e := &c.Entry; {
		case c.Known:
			return "I know that already: " + shown(e)
		case e.Kind == memory.Rule && c.Kind == Add:
			return fmt.Sprintf("Learned rule %d%s: %s", e.ID, forAll(e), shown(e))
		default:
			return "I'll remember" + forAll(e) + ": " + shown(e)
		}
	case Keep:
		return "Kept: " + done
	case Always:
		return "It stands in every prompt from now on: " + done
	case Undo:
		text := "Undone. I remember these again:"
		for i := range c.Done {
			text += "\n- " + shown(&c.Done[i])
		}
		return text
	case Forget:
		if done != "" {
			return "Forgotten: " + done
		}
		text := fmt.Sprintf("Forgotten: %d memories.", len(c.Done))
		for i := range c.Done[:min(len(c.Done), 10)] {
			text += "\n- " + shown(&c.Done[i])
		}
		return text
	}
	return "Saved."
}

// maxExpire is after how many days at most somebody has something forgotten.
const maxExpire = 36500

// forAll says of a memory that is everybody's that it is.
func forAll(e *memory.Entry) string {
	if e.Scope == memory.Global {
		return ", for everybody"
	}
	return ""
}

// setters are the words that change a person's settings.
var setters = map[string]bool{"learning": true, "recall": true, "expire": true, "deny": true, "allow": true}

// settings shows or sets what a person wants of what is remembered of them.
func (s *Service) settings(ctx context.Context, c *commands.Call, verb, to string) (commands.Answer, error) {
	if !c.Direct() {
		return commands.Says("That is yours alone: please write it in a direct chat with me."), nil
	}
	own, err := s.Store.MemorySettings(ctx, c.Person.Name)
	if err != nil {
		return commands.Answer{}, err
	}
	cfg := s.Settings()
	switch days, fault := strconv.ParseInt(strings.TrimSuffix(strings.TrimSuffix(to, " days"), "d"), 10, 64); {
	case verb == "settings" || to == "":
		return commands.Answer{Text: settingsSay(&own, &cfg), Buttons: settingsButtons(&own)}, nil
	case verb == "learning" && (to == "on" || to == "off"):
		own.Learning = to == "on"
	case verb == "recall" && (to == "on" || to == "off"):
		own.Recall = to == "on"
	case verb == "expire" && to == "never":
		own.Expire = 0
	case verb == "expire" && fault == nil && days >= 0 && days <= maxExpire:
		own.Expire = days
	case verb == "deny" && slices.Contains(memory.Categories(), to):
		own.Denied = slices.Compact(slices.Sorted(slices.Values(append(own.Denied, to))))
	case verb == "allow" && slices.Contains(own.Denied, to):
		own.Denied = slices.DeleteFunc(own.Denied, func(name string) bool { return name == to })
	default:
		return commands.Says("I know `%[1]smemory learning on|off`, `%[1]smemory recall on|off`, `%[1]smemory expire 90|never` (days), and `%[1]smemory deny` or `allow` with one of %s.", c.Slash, strings.Join(memory.Categories(), ", ")), nil
	}
	return commands.Answer{Change: s.SetOwn(c.Person.Name, own), Text: settingsSay(&own, &cfg), Buttons: settingsButtons(&own)}, nil
}

func settingsSay(own *Settings, cfg *memory.Config) string {
	lines := []string{"I learn from what you say, and remember what you ask me to.", "What I remember of you helps me answer you."}
	if !own.Learning || !cfg.Learning {
		lines[0] = "I learn nothing by myself; I remember what you ask me to."
	}
	if !own.Recall {
		lines[1] = "I do not use it in answers."
	}
	if days := expires(own, cfg).Hours() / 24; days > 0 {
		lines = append(lines, fmt.Sprintf("What I learned and was not used for %.0f days I forget.", days))
	}
	if denied := slices.Compact(slices.Sorted(slices.Values(slices.Concat(cfg.DeniedCategories, own.Denied)))); len(denied) > 0 {
		lines = append(lines, "I remember nothing new about "+strings.Join(denied, ", ")+".")
	}
	return strings.Join(lines, "\n")
}

func settingsButtons(own *Settings) []commands.Button {
	flip := func(what string, on bool) commands.Button {
		to := map[bool]string{true: "off", false: "on"}[on]
		return commands.Button{Label: strings.ToUpper(what[:1]) + what[1:] + " " + to, Command: "memory " + what + " " + to, Beside: true}
	}
	return []commands.Button{flip("learning", own.Learning), flip("recall", own.Recall)}
}
