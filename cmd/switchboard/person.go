package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/console"
	"switchboard/configs"
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
		return []any{p.Name, p.Role, strings.Join(p.Identities, ", "), strings.Join(p.Tools, ", "), fromWhere(p)}
	})
}

func fromWhere(p core.Person) string {
	if p.Away.IsZero() {
		return p.Source
	}
	return "away since " + at(p.Away)
}

type personRefusedCmd struct {
	Limit count `default:"50" help:"Show at most this many."`
	JSON  bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *personRefusedCmd) Run(a *app) error {
	return list(a, "/v1/people/refused?"+query("", c.Limit), c.Limit, c.JSON, "here you will see who wrote without being allowed to", "WHEN\tCHANNEL\tCONVERSATION\tIDENTITY\tNAME\tRULE\tTEXT", func(m turns.Message) []any {
		return []any{at(m.At), m.Channel, oneLine(m.Conversation, 40), m.Identity, oneLine(words.Visible(m.Author), 30), m.Rule, oneLine(m.Text, 60)}
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
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	var claim claimCode
	answered, err := a.send(settings, http.MethodPost, "/v1/people/claims", &claim)
	if !answered {
		return fmt.Errorf("person claim: %w", err)
	}
	fmt.Fprintln(a.out, claim.Code)
	fmt.Fprintln(a.err, "Send it to the bot in a direct chat, as /claim and the code: good once, for "+hours(people.ClaimLive)+".")
	return err
}

func hours(d time.Duration) string { return words.Count(int(d.Hours()), "hour") }

// A claimCode is what an engine answers who asks for one.
type claimCode struct {
	Code string `json:"code"`
}

// firstClaim makes a code while no admin can write on any platform, and says what to write on
// each channel; nothing where there is one.
func (e *engine) firstClaim(ctx context.Context) (string, error) {
	admins := slices.DeleteFunc(e.people(), func(p core.Person) bool { return p.Role != core.RoleAdmin })
	var places []string
	for _, at := range e.router.Channels.List() {
		name := at.Name()
		if name == consoleName || at.Config.DM == "disabled" {
			continue
		}
		if anyOn(admins, name, at.Config.Kind) {
			return "", nil
		}
		places = append(places, name)
	}
	if len(places) == 0 {
		return "", nil
	}
	made, until, err := e.router.Ledger.OpenClaim(ctx)
	if err == nil && !until.IsZero() { // which one nobody knows here any more
		return fmt.Sprintf("to be an admin, send the bot the claim code that was printed at %s; it is good until %s. \"switchboard person claim\" prints another",
			at(made), at(until)), nil
	}
	code, err := e.router.Asking.NewClaim(ctx, people.LocalActor(ownerName))
	if err != nil {
		return "", err
	}
	typed := map[string][]string{} // where it is typed so
	for _, name := range places {
		command := e.router.Lines.Connection(name).Command(channels.Conversation{Channel: name, Kind: channels.Direct}) + "claim " + code
		typed[command] = append(typed[command], name)
	}
	var ways []string
	for _, command := range slices.Sorted(maps.Keys(typed)) {
		ways = append(ways, command+" on "+strings.Join(typed[command], ", "))
	}
	return fmt.Sprintf("to be an admin, send %s to the bot in a direct chat; the code is good once, for %s", strings.Join(ways, ", or "), hours(people.ClaimLive)), nil
}

// changePerson changes somebody and says what is now.
func (a *app) changePerson(change people.ChangeKind, name string, how url.Values, done string) error {
	settings, _, err := a.load()
	if err == nil && change != people.ChangeAdd {
		err = hasLedger(settings)
	}
	if err != nil {
		return err
	}
	how.Set("name", name)
	var p core.Person
	answered, err := a.send(settings, http.MethodPost, "/v1/people/"+string(change)+"?"+how.Encode(), &p)
	if !answered {
		return fmt.Errorf("person %s %s: %w", change, name, err)
	}
	fmt.Fprintf(a.out, "%s (%s) %s: %s\n", console.Printable(p.Name), p.Role, done, console.Printable(orNone(strings.Join(p.Identities, ", "))))
	return err
}

func orNone(list string) string {
	if list == "" {
		return "no identity"
	}
	return list
}

// peopleRoutes change who is let in.
func (e *engine) peopleRoutes(mux *http.ServeMux) {
	route(mux, "POST /v1/people/claims", func(r *http.Request) (any, error) {
		code, err := e.router.Asking.NewClaim(r.Context(), people.LocalActor(ownerName))
		return claimCode{code}, err
	})
	for _, change := range []people.ChangeKind{people.ChangeAdd, people.ChangeRole, people.ChangeLink, people.ChangeTools, people.ChangeRemove} {
		route(mux, "POST /v1/people/"+string(change), func(r *http.Request) (any, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			c := &people.Change{Kind: change, Person: core.Person{
				Name: r.Form.Get("name"), Role: r.Form.Get("role"), Identities: r.Form["identity"], Tools: r.Form["tool"], TimeZone: r.Form.Get("timezone"),
			}}
			if change != people.ChangeAdd {
				people, away, err := e.db.Router().Everyone(r.Context())
				if err != nil {
					return nil, err
				}
				c.Person.Name = cmp.Or(core.Called(c.Person.Name, append(people, away...)), c.Person.Name)
			}
			if err := e.checkPerson(c); err != nil {
				return nil, err
			}
			err := e.router.Change(r.Context(), c, people.LocalActor(ownerName))
			return c.Now, err
		})
	}
}

// localIdentity is that of whoever runs the program on this machine.
const localIdentity = consoleName + ":" + ownerName

// judgePerson is admin.PeopleJudge. Whoever runs the program is always left as an admin, and
// may take the last other one away.
func (e *engine) judgePerson(by *core.Person, c *people.Change) error {
	if by.Name != ownerName {
		c.Local = localIdentity
	}
	return e.checkPerson(c)
}

// checkPerson judges a change as the settings are judged, and adds what they say of it. Whoever
// runs the program on this machine cannot be kept out.
func (e *engine) checkPerson(c *people.Change) error {
	settings, p := e.settings(), &c.Person
	c.File = settings.FileName()
	name := p.Name
	if c.Kind == people.ChangeRemove {
		c.InFile = e.inFile(name)
		c.NotInFile = c.InFile == nil
	}
	switch c.Kind {
	case people.ChangeRole, people.ChangeRemove, people.ChangeTools:
		inFile := slices.ContainsFunc(settings.People, func(p configs.Person) bool { return p.Name == ownerName })
		if name == ownerName && !inFile {
			return errors.New("this is the person who runs switchboard on this machine, who is always an admin with all tools")
		}
		name = ownerName
	case people.ChangeLink:
		name = ownerName // any that is right: an open policy's have names of their own
	}
	return settings.CheckPerson(name, p.Identities, p.Tools, p.TimeZone)
}
