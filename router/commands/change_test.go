package commands_test

import (
	"context"
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

// adds is a command of admins that lets somebody in.
func adds(_ context.Context, c *commands.Call) (commands.Answer, error) {
	change := &people.Change{Kind: people.ChangeAdd, Person: core.Person{Name: c.Args, Role: core.RoleUser, Identities: []string{"scripted:" + c.Args}}}
	return commands.Answer{Change: change, Say: func() commands.Answer {
		return commands.Says("%s is let in, from %s.", change.Now.Name, change.Now.Source)
	}}, nil
}

// What a command changes is committed with it, and a refusal is answered with why; admins'
// commands are theirs, and nobody reads along.
func TestCommandMakesItsChange(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.Groups = "open"
		r.Commands = []commands.Command{{Name: "let", Args: "NAME", Admin: true, About: commands.Text{EN: "let somebody in"}, Run: adds}}
		r.Start()
		r.Platform.Say("c2", "bob", "/let eve")
		r.Mentions(1, "I do not know /let.")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/let eve", Mentioned: true})
		r.Mentions(2, "in a direct chat with me")
		if r.Roster.Named("eve") != nil {
			t.Error("she is let in")
		}
		r.Platform.Say("c1", "ada", "/let eve")
		r.Mentions(3, "eve is let in, from local.")
		r.Until("she is known", func() bool { return r.Roster.Identified("scripted:eve") != nil })
		r.Platform.Say("c1", "ada", "/let eve")
		r.Mentions(4, "eve is there already")
		r.Platform.Say("c2", "bob", "/help")
		r.Platform.Say("c1", "ada", "/help")
		helps := routertest.Texts(r.Await(6))[4:]
		for _, text := range helps {
			if admins := strings.Contains(text, "I plan") && strings.Contains(text, "cancel – stop what I am doing here"); admins != strings.Contains(text, "/let `NAME` – let somebody in") {
				t.Errorf("help reads %q", text)
			}
		}
	})
}
