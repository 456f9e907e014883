package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/engine"
	"switchboard/cmd/switchboard/socket"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/turns"
)

// personCmd shows and changes who is let in.
type personCmd struct {
	List    personListCmd    `cmd:"" help:"Everybody the bot knows."`
	Add     personAddCmd     `cmd:"" help:"Add somebody."`
	Role    personRoleCmd    `cmd:"" help:"Make somebody an admin, or a user."`
	Link    personLinkCmd    `cmd:"" help:"Give somebody another identity."`
	Tools   personToolsCmd   `cmd:"" help:"Say which tools somebody may use."`
	Remove  personRemoveCmd  `cmd:"" help:"Remove somebody, with what the bot remembers of them."`
	Claim   personClaimCmd   `cmd:"" help:"Print a code that makes whoever sends it to the bot an admin."`
	Refused personRefusedCmd `cmd:"" help:"Who wrote and was not served, and by which rule."`
}

type personListCmd struct{ jsonFlag }

// Run implements the command.
func (c *personListCmd) Run(a *app) error {
	return list(a, "/v1/people", 0, c.JSON, "\"switchboard person add NAME CHANNEL:ID\" adds somebody", "NAME\tROLE\tIDENTITIES\tTOOLS\tFROM", func(p core.Person) []any {
		from := p.Source
		if !p.Away.IsZero() {
			from = "away since " + words.At(p.Away)
		}
		return []any{p.Name, p.Role, strings.Join(p.Identities, ", "), strings.Join(p.Tools, ", "), from}
	})
}

type personRefusedCmd struct {
	Limit count `default:"50" help:"Show at most this many."`
	JSON  bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *personRefusedCmd) Run(a *app) error {
	return list(a, "/v1/people/refused?"+query("", c.Limit), c.Limit, c.JSON, "here you will see who wrote without being allowed to", "WHEN\tCHANNEL\tCONVERSATION\tIDENTITY\tNAME\tRULE\tTEXT", func(m turns.Message) []any {
		return []any{words.At(m.At), m.Channel, oneLine(m.Conversation, 40), m.Identity, oneLine(words.Visible(m.Author), 30), m.Rule, oneLine(m.Text, 60)}
	})
}

type personAddCmd struct {
	Name       string   `arg:"" help:"How commands and logs speak of the person."`
	Identities []string `arg:"" optional:"" name:"identity" help:"KIND:ID or CHANNEL:ID, with the platform's stable ID; \"person refused\" shows who wrote."`
	Role       string   `default:"user" enum:"user,admin" help:"user or admin."`
	Tools      []string `default:"*" help:"Patterns of the tools the person may use." placeholder:"PATTERN"`
	Timezone   string   `help:"An IANA name; that of [scheduler] if none is given." placeholder:"ZONE"`
}

// Run implements the command.
func (c *personAddCmd) Run(a *app) error {
	return a.changePerson(people.ChangeAdd, c.Name, url.Values{
		"role": {c.Role}, "identity": c.Identities, "tool": c.Tools, "timezone": {c.Timezone},
	}, "can write now")
}

type personRoleCmd struct {
	Name string `arg:"" help:"The person's name."`
	Role string `arg:"" enum:"admin,user" help:"admin or user."`
}

// Run implements the command.
func (c *personRoleCmd) Run(a *app) error {
	return a.changePerson(people.ChangeRole, c.Name, url.Values{"role": {c.Role}}, "is changed")
}

type personLinkCmd struct {
	Name       string   `arg:"" help:"The person's name."`
	Identities []string `arg:"" name:"identity" help:"KIND:ID or CHANNEL:ID, with the platform's stable ID."`
}

// Run implements the command.
func (c *personLinkCmd) Run(a *app) error {
	return a.changePerson(people.ChangeLink, c.Name, url.Values{"identity": c.Identities}, "is changed")
}

type personToolsCmd struct {
	Name     string   `arg:"" help:"The person's name."`
	Patterns []string `arg:"" name:"pattern" help:"A tool, a group of them, or a pattern; '*' is all."`
}

// Run implements the command.
func (c *personToolsCmd) Run(a *app) error {
	return a.changePerson(people.ChangeTools, c.Name, url.Values{"tool": c.Patterns}, "is changed")
}

type personRemoveCmd struct {
	Name string `arg:"" help:"The person's name."`
}

// Run implements the command.
func (c *personRemoveCmd) Run(a *app) error {
	return a.changePerson(people.ChangeRemove, c.Name, url.Values{}, "can no longer write")
}

type personClaimCmd struct{}

// Run implements the command.
func (personClaimCmd) Run(a *app) error {
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	var claim socket.ClaimCode
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/people/claims"}, "person claim", &claim, func() error {
		fmt.Fprintln(a.out, claim.Code)
		fmt.Fprintln(a.err, "Send it to the bot in a direct chat, as /claim and the code: good once, for "+engine.ClaimLive()+".")
		return nil
	})
}

// changePerson changes somebody and says what is now.
func (a *app) changePerson(change people.ChangeKind, name string, how url.Values, done string) error {
	settings, err := a.talked(a.settings)
	if change != people.ChangeAdd {
		settings, err = stored(settings, err)
	}
	if err != nil {
		return err
	}
	how.Set("name", name)
	var p core.Person
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/people/" + string(change) + "?" + how.Encode()}, fmt.Sprintf("person %s %s", change, name), &p, func() error {
		_, err := fmt.Fprintf(a.out, "%s (%s) %s: %s\n", console.Printable(p.Name), p.Role, done, console.Printable(access.Identities(p)))
		return err
	})
}
