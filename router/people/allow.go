package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/turns"
)

// refusedRead is how many of the newest messages of strangers are looked through.
const refusedRead = 500

// A Door knows who is let in, and who was not.
type Door interface {
	Register
	// KeptOut lists what came from whoever was not served, the newest first.
	KeptOut(ctx context.Context, limit int) ([]turns.Message, error)
	// Pairings lists the strangers of whom admins are asked now.
	Pairings(ctx context.Context) ([]Pairing, error)
}

const allowUsage = "Write `%[1]sallow CODE` with the code that a stranger was shown, or `%[1]sallow IDENTITY` with one of those that `%[1]sallow` alone lists; you can add a name for them. `%[1]sallow NAME` shows who calls themselves so."

// AllowCommand is the row of /allow.
func AllowCommand(door Door, judge Judge) commands.Command {
	return commands.Command{
		Name: "allow", Admin: true, Args: "[CODE|IDENTITY [NAME]]", About: commands.Text{
			EN: "allow a stranger who wrote", DE: "jemand Fremden hereinlassen, der geschrieben hat", ES: "dejar entrar a un desconocido que escribió",
			FR: "admettre un inconnu qui a écrit", IT: "ammettere uno sconosciuto che ha scritto",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			strangers, known, err := refused(ctx, door)
			if err != nil {
				return commands.Answer{}, err
			}
			who, name := c.Args, ""
			code, rest := "", ""
			if strings.Contains(who, ":") {
				who, name, _ = strings.Cut(who, " ")
			} else if code, rest = commands.CodeIn(who); len(called(who, strangers)) > 0 { // a name of eight letters looks like a code
				code = ""
			} else if code != "" {
				name = rest
			}
			name = strings.TrimSpace(name)
			named := code == "" && !strings.Contains(who, ":")
			switch {
			case who == "":
				return listRefused(strangers, known, c), nil
			case named && len(called(who, strangers)) > 0: // a button confirms that it is them
				return listRefused(called(who, strangers), known, c), nil
			case named:
				return commands.Says("Nobody called %s has written to me lately. `%sallow` lists who has.", render.Escape(words.OneLine(who, 80)), c.Slash), nil
			case strings.ContainsAny(name, "\t\n:"):
				return commands.Says(allowUsage, c.Slash), nil
			case slices.ContainsFunc(known, func(p core.Person) bool { return p.Name == name }):
				return commands.Says("There is somebody of the name %s already. Give another, or write `%speople link %s IDENTITY` if they are the same person.",
					render.Escape(name), c.Slash, name), nil
			case words.NameFault(name) != "":
				return commands.Says("The name %s. Give another.", render.Escape(words.NameFault(name))), nil
			case slices.ContainsFunc(known, func(p core.Person) bool { return words.Alike(p.Name, name) }):
				return commands.Says("The name %s looks like that of somebody else. Give another.", render.Escape(name)), nil
			case code != "":
				return commands.Answer{Intent: &approvals.DecisionIntent{Code: outbox.HashCode(code), Does: outbox.DoesOnce, Pairing: true, Name: name}}, nil
			}
			i := slices.IndexFunc(strangers, func(m turns.Message) bool { return m.Identity == who })
			if i < 0 {
				return commands.Says("I have not turned away anybody with the identity %s lately. `%speople add NAME IDENTITY` adds somebody who has not written yet.", render.Escape(words.OneLine(who, 80)), c.Slash), nil
			}
			return changePerson(c, letsIn(who, cmp.Or(name, freeName(strangers[i], known))), judge), nil
		},
	}
}

// letsIn is the change that lets a stranger in.
func letsIn(identity, name string) *Change {
	return &Change{Kind: ChangeAdd, Person: core.Person{Name: name, Role: core.RoleUser, Identities: []string{identity}, Tools: []string{"*"}}}
}

// A Stranger wrote lately, and is nobody whom the bot knows.
type Stranger struct {
	turns.Message          // the last that came from them
	Called        string   // their name, if they are let in and given no other
	Pairing       *Pairing // admins are asked about them; nil: they are not
}

// Strangers lists those who wrote lately, the last first, each once.
func Strangers(ctx context.Context, door Door) ([]Stranger, error) {
	found, known, err := refused(ctx, door)
	if err != nil {
		return nil, err
	}
	asked, err := door.Pairings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list who asks to be let in: %w", err)
	}
	list := make([]Stranger, len(found))
	for i, m := range found {
		list[i] = Stranger{Message: m, Called: freeName(m, known)}
		for j := range asked {
			if plain, ok := core.WithoutTeam(asked[j].Identity); asked[j].Identity == m.Identity || ok && plain == m.Identity {
				list[i].Pairing = &asked[j]
			}
		}
	}
	return list, nil
}

// Allow is the change that lets them in, by that name or, if it is empty, as they are called. Of whom admins are asked the
// question is decided, and they are told.
func (s *Stranger) Allow(name string) core.Change {
	if s.Pairing != nil {
		return &approvals.Decision{ID: s.Pairing.ID, Does: outbox.DoesOnce, Pairing: true, Name: cmp.Or(name, s.Called)}
	}
	return letsIn(s.Identity, cmp.Or(name, s.Called))
}

// Refuse denies the question about them, which is open.
func (s *Stranger) Refuse() core.Change {
	return &approvals.Decision{ID: s.Pairing.ID, Does: outbox.DoesDeny, Pairing: true}
}

// refused are those who wrote lately and are strangers still, the last first, each once by
// the last that came from them.
func refused(ctx context.Context, door Door) (strangers []turns.Message, known []core.Person, err error) {
	if known, _, err = door.Everyone(ctx); err != nil {
		return nil, nil, fmt.Errorf("list people: %w", err)
	}
	seen := map[string]bool{"": true}
	for _, p := range known {
		for _, id := range p.Identities {
			seen[id] = true
			if plain, ok := core.WithoutTeam(id); ok {
				seen[plain] = true
			}
		}
	}
	list, err := door.KeptOut(ctx, refusedRead)
	if err != nil {
		return nil, nil, fmt.Errorf("list strangers: %w", err)
	}
	for _, m := range list {
		if m.Class == string(intake.AuditStranger) && !seen[m.Identity] {
			seen[m.Identity] = true
			strangers = append(strangers, m)
		}
	}
	return strangers, known, nil
}

// freeName is what to call somebody who is let in: as they call themselves, where that is
// a name that nobody has.
func freeName(m turns.Message, known []core.Person) string {
	called := cmp.Or(commands.NameFrom(m.Author), "guest")
	name := called
	for i := 2; slices.ContainsFunc(known, func(p core.Person) bool { return p.Name == name || words.Alike(p.Name, name) }); i++ {
		name = fmt.Sprint(called, i)
	}
	return name
}

// called are the strangers who call themselves so, or have a name of several words with this one in it, in any case of
// letters.
func called(name string, strangers []turns.Message) (list []turns.Message) {
	for _, m := range strangers {
		if strings.EqualFold(commands.NameFrom(m.Author), name) || strings.EqualFold(words.OneLine(m.Author, 64), name) ||
			strings.Contains(" "+strings.ToLower(words.OneLine(m.Author, 64))+" ", " "+strings.ToLower(name)+" ") {
			list = append(list, m)
		}
	}
	return list
}

// listRefused says who was refused. What they wrote stays out of the conversation, from
// which prompts are made.
func listRefused(strangers []turns.Message, known []core.Person, c *commands.Call) commands.Answer {
	if len(strangers) == 0 {
		return commands.Says("Nobody new has written to me lately.")
	}
	var b strings.Builder
	b.WriteString("Turned away lately, newest first:\n")
	var buttons []commands.Button
	for _, m := range strangers[:min(len(strangers), commands.Rows)] {
		label := freeName(m, known)
		if commands.NameFrom(m.Author) == "" || slices.ContainsFunc(strangers, func(o turns.Message) bool {
			other := freeName(o, known)
			return o.Identity != m.Identity && (other == label || words.Alike(other, label))
		}) { // a name that two have means neither
			label = m.Identity
		}
		buttons = append(buttons, commands.Button{Label: "Allow " + label, Command: "allow " + m.Identity})
		called := "gave no name"
		if name := words.OneLine(words.Visible(m.Author), 30); name != "" {
			called = "calls themselves " + render.Escape(name)
		}
		fmt.Fprintf(&b, "- %s on %s, who %s, %s\n", render.Escape(words.OneLine(words.Visible(m.Identity), 80)), render.Escape(m.Channel),
			called, m.At.In(c.Zone()).Format("2006-01-02 15:04 MST"))
	}
	if more := len(strangers) - commands.Rows; more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more: \"switchboard person refused\", on the machine that I run on, lists them.\n", more)
	}
	fmt.Fprintf(&b, "\n\"%sallow IDENTITY\" allows one as a user. You can add a name for them.", c.Slash)
	return commands.Answer{Text: b.String(), Taint: tools.Label, Buttons: buttons}
}
