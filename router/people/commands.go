package people

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// A Directory knows the people.
type Register interface {
	// Everyone lists everybody, and apart who is away.
	Everyone(ctx context.Context) (people, away []core.Person, err error)
	// Belongings counts what is somebody's.
	Belongings(ctx context.Context, name string) (Belongings, error)
	// Labels are what those of these people call themselves whom an open channel let in, by their names.
	Labels(ctx context.Context, names []string) (map[string]string, error)
	// LabelledSo are those of them who call themselves so, in any case of letters.
	LabelledSo(ctx context.Context, label string) (map[string]string, error)
}

// A Judge judges a change of people that somebody asks for in a chat by the settings,
// and adds what they say of it. The error is for people.
type Judge func(by *core.Person, c *Change) error

// peopleForms are what is written for each change, in the order in which they are told.
var peopleForms = []struct {
	kind ChangeKind
	form string
	does string
}{
	{ChangeAdd, "NAME IDENTITY [admin]", "adds somebody"},
	{ChangeRole, "NAME admin|user", "makes them an admin, or a user"},
	{ChangeLink, "NAME IDENTITY", "makes another account theirs too"},
	{ChangeTools, "NAME PATTERN…", "says what they may use, such as \\* or web"},
	{ChangeRemove, "NAME", "removes them, and forgets what I know about them; I ask first"},
}

// Command is the row of /people.
func Command(dir Register, judge Judge) commands.Command {
	return commands.Command{
		Name: "people", Admin: true, Args: "[add|role|link|tools|remove …]", About: commands.Text{
			EN: "who may write to me, and as what", DE: "wer hereingelassen ist, und als was", ES: "quién puede entrar, y como qué",
			FR: "qui est admis, et comme quoi", IT: "chi è ammesso, e come che cosa",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			fields := strings.Fields(c.Args)
			switch {
			case len(fields) == 0:
				return listPeople(ctx, dir, c, "")
			case len(fields) > 1 && strings.EqualFold(fields[0], "after"):
				return listPeople(ctx, dir, c, strings.Join(fields[1:], " "))
			}
			known, away, err := dir.Everyone(ctx)
			if err != nil {
				return commands.Answer{}, fmt.Errorf("list people: %w", err)
			}
			known = append(known, away...)
			change, sure := personChange(fields, known)
			if change == nil || !slices.ContainsFunc(known, func(p core.Person) bool { return p.Name == change.Person.Name }) {
				answer, err := openCalled(ctx, dir, fields, c.Slash)
				if answer.Text != "" || err != nil {
					return answer, err
				}
			}
			if change == nil {
				return commands.Says("%s", peopleUsage(fields[0], c.Slash)), nil
			}
			if change.Kind == ChangeRemove && !sure && judge(c.Person, change) == nil {
				return askRemoval(ctx, dir, change, known)
			}
			return changePerson(c, change, judge), nil
		},
	}
}

// openCalled answers a change of somebody by what they call themselves whom an open channel let in: who that is,
// by platform and identity, with a button that does it. Empty: nobody calls themselves so.
func openCalled(ctx context.Context, dir Register, fields []string, slash string) (a commands.Answer, err error) {
	verb := strings.ToLower(fields[0])
	if verb == string(ChangeAdd) {
		return a, nil
	}
	for n := len(fields); n > 1; n-- {
		found, err := dir.LabelledSo(ctx, strings.Join(fields[1:n], " "))
		if err != nil {
			return a, fmt.Errorf("look who calls themselves so: %w", err)
		}
		names := slices.Sorted(maps.Keys(found))
		if len(names) == 0 {
			continue
		}
		var b strings.Builder
		b.WriteString("Is this who you mean? They came through an open channel, where anybody can use that name.\n")
		if len(names) > 1 {
			b.Reset()
			fmt.Fprintf(&b, "%s call themselves so. Write one of these:\n", countPeople(len(names)))
		}
		for _, name := range names[:min(len(names), commands.Rows)] {
			command := strings.Join(append([]string{"people", verb, name}, fields[n:]...), " ")
			fmt.Fprintf(&b, "\n- %s: `%s%s`", labelled(name, found), slash, command)
			if len(names) == 1 { // of several who look the same none is a press away
				a.Buttons = []commands.Button{{Label: "Yes: " + words.OneLine(name, 30), Command: command}}
			}
		}
		a.Text, a.Taint = b.String(), tools.Label
		return a, nil
	}
	return a, nil
}

// labelled is somebody by name, and by what they call themselves, if that is known.
func labelled(name string, labels map[string]string) string {
	text := render.Escape(words.OneLine(name, 60))
	if label := words.OneLine(words.Visible(labels[name]), 30); label != "" {
		text = render.Escape(label) + " (" + text + ")"
	}
	return text
}

// personChange reads what is to be changed of somebody who is known, and whether it is sure; nil: it is not
// written as it has to be.
func personChange(fields []string, known []core.Person) (c *Change, sure bool) {
	c = &Change{Kind: ChangeKind(strings.ToLower(fields[0]))}
	if len(fields) < 2 {
		return nil, false
	}
	name, rest := fields[1], fields[2:]
	if c.Kind == ChangeAdd {
		n := max(1, slices.IndexFunc(fields[1:], func(word string) bool { return strings.Contains(word, ":") }))
		name, rest = strings.Join(fields[1:1+n], " "), fields[1+n:]
	}
	for n := len(fields); n > 1 && c.Kind != ChangeAdd; n-- { // a name may have several words
		if called := core.Called(strings.Join(fields[1:n], " "), known); called != "" {
			name, rest = called, fields[n:]
			break
		}
	}
	c.Person.Name = name
	switch c.Kind {
	case ChangeAdd:
		c.Person.Role, c.Person.Tools = core.RoleUser, []string{"*"}
		if n := len(rest) - 1; n > 0 && isRole(rest[n]) {
			c.Person.Role, rest = strings.ToLower(rest[n]), rest[:n]
		}
		c.Person.Identities = rest
	case ChangeLink:
		c.Person.Identities = rest
	case ChangeTools:
		c.Person.Tools = rest
	case ChangeRole:
		if len(rest) != 1 || !isRole(rest[0]) {
			return nil, false
		}
		c.Person.Role = strings.ToLower(rest[0])
		return c, false
	case ChangeRemove:
		if len(rest) > 2 || len(rest) > 0 && !strings.EqualFold(rest[0], "yes") {
			return nil, false
		}
		if len(rest) == 2 { // a button is of whom it was made for
			c.Since, _ = strconv.ParseInt(rest[1], 10, 64)
		}
		return c, len(rest) > 0
	default:
		return nil, false
	}
	if len(rest) == 0 {
		return nil, false
	}
	return c, false
}

func isRole(word string) bool {
	return slices.Contains([]string{core.RoleAdmin, core.RoleUser}, strings.ToLower(word))
}

// peopleUsage is how the change that somebody began to write is written; where it is none, all.
func peopleUsage(verb, slash string) string {
	var b strings.Builder
	for _, f := range peopleForms {
		line := fmt.Sprintf("`%speople %s %s` %s", slash, f.kind, f.form, f.does)
		if strings.EqualFold(verb, string(f.kind)) {
			return "Write: " + line + "."
		}
		b.WriteString("\n- " + line)
	}
	lead := "I did nothing. /people can do this:"
	if strings.EqualFold(verb, "help") {
		lead = "/people can do this:"
	}
	return lead + b.String() + "\n\n\"" + slash + "people\" alone lists everybody."
}

// askRemoval asks whether somebody is to be removed, and says what goes with them. What would be refused is
// not asked.
func askRemoval(ctx context.Context, dir Register, change *Change, people []core.Person) (commands.Answer, error) {
	i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == change.Person.Name })
	if i < 0 || people[i].Source == core.FromSettings && people[i].Away.IsZero() && !change.Left(&people[i]) {
		return personChanged(change), nil
	}
	p := &people[i]
	text, err := RemovalQuestion(ctx, dir, p)
	if err != nil {
		return commands.Answer{}, err
	}
	return commands.Answer{Text: text, Taint: tools.Label, Buttons: []commands.Button{{Label: "Remove " + words.OneLine(p.Name, 30), Command: fmt.Sprintf("people remove %s yes %d", p.Name, p.Since.UnixMicro())}}}, nil
}

// RemovalQuestion asks whether somebody is to be removed, and says what goes with them.
func RemovalQuestion(ctx context.Context, dir Register, p *core.Person) (string, error) {
	has, err := dir.Belongings(ctx, p.Name)
	if err != nil {
		return "", fmt.Errorf("look what is somebody's: %w", err)
	}
	return fmt.Sprintf("Remove **%s** (%s) for good? I will not answer them any more. This is deleted too: %s, %s, %s. They have %s: the active ones are paused. Their chats stay, with %s, until [retention] clears them.",
		render.Escape(words.OneLine(p.Name, 60)), personIs(p), words.Count(has.Memories, "thing")+" that I remember of them", words.Count(has.Notifications, "notification"),
		words.Count(has.Grants, "permission"), words.Count(has.Jobs, "job"), words.Count(has.Files, "file")), nil
}

func changePerson(c *commands.Call, change *Change, judge Judge) commands.Answer {
	if err := judge(c.Person, change); err != nil {
		return commands.Says("I did nothing: %s", render.Escape(err.Error()))
	}
	return personChanged(change)
}

// personChanged has a change made, and says what is now.
func personChanged(change *Change) commands.Answer {
	return commands.Answer{Change: change, Say: func() commands.Answer {
		p := change.Now
		done := "can write to me now"
		switch change.Kind {
		case ChangeRemove:
			return commands.Answer{Text: fmt.Sprintf("%s can no longer write to me. What I remembered of them is gone.", render.Escape(p.Name)), Taint: tools.Label}
		case ChangeRole, ChangeLink, ChangeTools:
			done = "is changed"
		}
		return commands.Answer{Text: fmt.Sprintf("%s %s: %s.", render.Escape(p.Name), done, personIs(p)), Taint: tools.Label}
	}}
}

func listPeople(ctx context.Context, dir Register, c *commands.Call, after string) (commands.Answer, error) {
	list, away, err := dir.Everyone(ctx)
	if err != nil {
		return commands.Answer{}, fmt.Errorf("list people: %w", err)
	}
	list = append(list, away...)
	all := len(list)
	// A database may have another order, by which names would be left out between two pages.
	slices.SortFunc(list, func(a, b core.Person) int { return strings.Compare(a.Name, b.Name) })
	list = slices.DeleteFunc(list, func(p core.Person) bool { return p.Name <= after })
	if len(list) == 0 {
		return commands.Says("There is nobody after that name."), nil
	}
	list, more := commands.Shown(list)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	labels, err := dir.Labels(ctx, names)
	if err != nil {
		return commands.Answer{}, fmt.Errorf("look what people call themselves: %w", err)
	}
	zone := c.Zone()
	var b strings.Builder
	fmt.Fprintf(&b, "I know %s:\n", countPeople(all))
	for i := range list {
		p := &list[i]
		fmt.Fprintf(&b, "- **%s**, %s\n", labelled(p.Name, labels), personIn(p, c, zone))
	}
	var buttons []commands.Button
	if more {
		buttons = append(buttons, commands.Button{Label: "More people", Command: "people after " + list[len(list)-1].Name})
	}
	fmt.Fprintf(&b, "\n\"%speople help\" says how to change that.", c.Slash)
	return commands.Answer{Text: b.String(), Taint: tools.Label, Buttons: buttons}, nil
}

func countPeople(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

// personIs says what somebody is.
func personIs(p *core.Person) string {
	text := fmt.Sprintf("%s, %s", p.Role, render.Escape(cmp.Or(strings.Join(p.Identities, ", "), "no identity")))
	if len(p.Tools) == 0 {
		text += ", no tools"
	} else if !slices.Equal(p.Tools, []string{"*"}) { // "*" is not all: some have to be named
		text += ", tools " + render.Escape(strings.Join(p.Tools, ", "))
	}
	return text
}

// machine is how the identity of whoever runs the program begins.
const machine = "console:"

// personIn is somebody in the list.
func personIn(p *core.Person, c *commands.Call, zone *time.Location) string {
	if p.Source != core.FromLocal || len(p.Identities) != 1 || p.Identities[0] != machine+p.Name {
		return personIs(p) + "; " + knownFrom(p, zone)
	}
	if p.Name == c.Person.Name {
		return p.Role + ": you, on this machine"
	}
	return p.Role + ": whoever runs me on my machine"
}

func knownFrom(p *core.Person, zone *time.Location) string {
	from, since := KnownFrom(p)
	return from + " since " + since.In(zone).Format(time.DateOnly)
}

// KnownFrom says from where somebody is known, and since when.
func KnownFrom(p *core.Person) (from string, since time.Time) {
	switch {
	case !p.Away.IsZero():
		return "away, as the settings file does not name them,", p.Away
	case p.Source == core.FromSettings:
		return "in the settings file", p.Since
	case p.Source == core.FromOpen:
		return "from an open channel", p.Since
	}
	return "added by hand", p.Since
}
