package router_test

import (
	"context"
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/people"
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
		r.channel.Groups = "open"
		r.commands = []commands.Command{{Name: "let", Args: "NAME", Admin: true, About: commands.Text{EN: "let somebody in"}, Run: adds}}
		r.start()
		r.platform.Say("c2", "bob", "/let eve")
		r.mentions(1, "I do not know /let.")
		r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/let eve", Mentioned: true})
		r.mentions(2, "in a direct chat with me")
		if r.roster.Named("eve") != nil {
			t.Error("she is let in")
		}
		r.platform.Say("c1", "ada", "/let eve")
		r.mentions(3, "eve is let in, from local.")
		r.until("she is known", func() bool { return r.roster.Identified("scripted:eve") != nil })
		r.platform.Say("c1", "ada", "/let eve")
		r.mentions(4, "eve is there already")
		r.platform.Say("c2", "bob", "/help")
		r.platform.Say("c1", "ada", "/help")
		helps := texts(r.await(6))[4:]
		for _, text := range helps {
			if admins := strings.Contains(text, "I plan") && strings.Contains(text, "cancel – stop what I am doing here"); admins != strings.Contains(text, "/let `NAME` – let somebody in") {
				t.Errorf("help reads %q", text)
			}
		}
	})
}
