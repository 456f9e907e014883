package core

import (
	"slices"
	"strings"
	"time"
)

// An Actor is who does something by hand, and the rule that lets them.
type Actor struct {
	Person string
	Rule   string
	Turn   int64 // by a tool in this turn; 0: not
	Button bool  // by a button that gives a command
}

// A Person is somebody the bot knows.
type Person struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"` // admin | user
	Identities []string  `json:"identities"`
	Tools      []string  `json:"tools"` // patterns; ["*"] is everything; empty is nothing
	TimeZone   string    `json:"timezone"`
	Source     string    `json:"source"`         // see the sources
	Since      time.Time `json:"since,omitzero"` // when they were first known
	// Seen (Source open) is when the person was last seen, to a day; else zero.
	Seen time.Time `json:"-"`
	// Away is since when the settings, which named them before, do not: they are not served, and
	// what is theirs waits until the settings name them again. Zero: they are not away.
	Away time.Time `json:"away,omitzero"`
	// Machine says that the settings speak of the person who runs the program, who is the same with other identities.
	Machine bool `json:"-"`
}

// Same says whether somebody of the same name is the same person: one identity of theirs is the
// same, also where one form names the team and the other does not. Who has none is known by
// the name alone.
func (p *Person) Same(as *Person) bool {
	if p.Machine || as.Machine || len(p.Identities) == 0 || len(as.Identities) == 0 {
		return true
	}
	forms := map[string]bool{}
	for _, id := range p.Identities {
		forms[id] = true
		if plain, ok := WithoutTeam(id); ok {
			forms[plain] = true
		}
	}
	return slices.ContainsFunc(as.Identities, func(id string) bool {
		plain, ok := WithoutTeam(id)
		return forms[id] || ok && slices.Contains(p.Identities, plain)
	})
}

// Where persons come from. Those of the settings are changed in the settings alone.
const (
	FromSettings = "config"
	FromOpen     = "open"  // let in by an open policy
	FromLocal    = "local" // named at run time, and whoever runs the program
)

// Roles of persons.
const (
	RoleAdmin = "admin"
	RoleUser  = "user"
)

// WithoutTeam is an identity with its team, "kind:TEAM/ID", as it is without: "kind:ID".
func WithoutTeam(identity string) (plain string, ok bool) {
	kind, rest, _ := strings.Cut(identity, ":")
	_, id, ok := strings.Cut(rest, "/")
	return kind + ":" + id, ok
}

// PlainID is the ID in an identity, without kind, channel or team.
func PlainID(identity string) string {
	_, id, _ := strings.Cut(identity, ":")
	return id[strings.LastIndex(id, "/")+1:]
}

// Called is the name of who is called so, in any case of letters where that is one person; empty: nobody is.
func Called(name string, people []Person) string {
	var alike []string
	for _, p := range people {
		if p.Name == name {
			return name
		}
		if strings.EqualFold(p.Name, name) {
			alike = append(alike, p.Name)
		}
	}
	if len(alike) != 1 {
		return ""
	}
	return alike[0]
}
