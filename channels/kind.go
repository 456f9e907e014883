package channels

import (
	"log/slog"
	"slices"
)

// A Kind is what the program knows of a platform before it has a channel there. Each adapter
// exports one.
type Kind struct {
	// Name is what settings and identities call the platform, Title what people call it.
	Name, Title string
	// Config makes the pointer to the adapter's Config with its defaults; nil: the kind has no
	// keys of its own. Where the Config has a method Validate() error, it is asked.
	Config func() any
	// New makes a channel with what Config made. It does no I/O.
	New func(name string, config any, log *slog.Logger) Channel
	// LocalIDs: an ID of its people means somebody within one workspace, and may be
	// somebody else's in another.
	LocalIDs bool
	// Asks are the credentials that init asks for, in order; none: init does not ask about the
	// kind. Steps say where people get them.
	Asks  []Ask
	Steps []string
	// Manifest is what the platform makes the bot's app from, AgentManifest what makes it one
	// that the platform shows as an agent. Most platforms have neither.
	Manifest, AgentManifest Manifest
	// Hint is a comment below the table of settings that dev writes, of whole lines.
	Hint string
}

// An Ask is one credential that init asks for.
type Ask struct {
	Key   string // of the table [channels.NAME]
	Title string // what people call it
	// Variable is its variable of the environment. With all of a kind's a channel of it is there,
	// named after it, where the settings name none of the kind.
	Variable string
	// Alone are the keys with which the platform can be asked about it before the next is
	// known; nil: none are needed.
	Alone map[string]string
}

// A Manifest is a text that a platform takes, with what to do with it.
type Manifest struct{ Text, Use string }

// Kinds are those of a program, in the order in which it shows them.
type Kinds []Kind

// Find is the kind of that name.
func (k Kinds) Find(name string) (Kind, bool) {
	i := slices.IndexFunc(k, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return k[i], true
}

// An IDShape says what the platform's IDs of one sort look like, for settings that name them.
type IDShape struct {
	Pattern string // a regular expression that every ID matches as a whole
	Like    string // an example, and where people find theirs
}
