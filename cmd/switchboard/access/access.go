// Package access says who reaches the bot, and where: the people whom the settings let in, and the channels with
// their state.
package access

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/tokens"
)

const (
	// Console is the channel every engine has.
	Console = "console"
	// Programs is the channel of programs, which talk over HTTP.
	Programs = "api"
	// Page is the channel of people who write in a browser.
	Page = "web"
	// Owner is whoever runs the program on this machine.
	Owner = "owner"
	// Local is the owner's identity.
	Local = Console + ":" + Owner
)

// BuiltIn says that a channel is one of the program's own, which no settings name.
func BuiltIn(name string) bool { return name == Console || name == Programs || name == Page }

// People are those whom the settings name, and the owner, unless the settings say who that is.
func People(settings *configs.Settings) []core.Person {
	people := settings.Directory()
	if i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == Owner }); i >= 0 {
		people[i].Machine = true
		return people
	}
	return append(people, core.Person{
		Name: Owner, Role: core.RoleAdmin, Tools: []string{"*"}, Source: core.FromLocal,
		Identities: []string{Local}, Machine: true,
	})
}

// Tokens are those of the settings that let programs in.
func Tokens(settings *configs.Settings) (list []tokens.Configured) {
	for _, t := range settings.Server.Tokens {
		list = append(list, tokens.Configured(t))
	}
	return list
}

// mostNames is how many people are named in a line.
const mostNames = 20

// Names are people in words, the owner first, twenty at most, and those together whom an open policy let in.
func Names(people []core.Person) (names []string) {
	opened := 0
	for _, p := range people {
		switch {
		case p.Name == Owner && p.Source == core.FromLocal:
			names = append([]string{fmt.Sprintf("%s (%s, this machine)", p.Name, p.Role)}, names...)
		case p.Source == core.FromOpen:
			opened++
		default:
			names = append(names, fmt.Sprintf("%s (%s: %s)", p.Name, p.Role, Identities(p)))
		}
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("and %d more (switchboard person list)", more))
	}
	if opened > 0 {
		names = append(names, fmt.Sprintf("%d more from open channels", opened))
	}
	return names
}

// Identities are those of a person in words.
func Identities(p core.Person) string {
	if len(p.Identities) == 0 {
		return "no identity"
	}
	return strings.Join(p.Identities, ", ")
}

// NobodyMay says how somebody is let in on a channel where nobody may write; empty: somebody may.
func NobodyMay(settings *configs.Settings, people []core.Person, name string, config router.ChannelConfig) (fix string) {
	closed := config.DM == "disabled" && (config.Groups == "disabled" || len(config.AllowConversations) == 0)
	switch {
	case config.DM == "open" || config.Groups == "open", !closed && anyOn(people, name, config.Kind):
		return ""
	case config.DM == "disabled":
		return fmt.Sprintf("write dm = 'allowlist' into [channels.%s], or name a group in its allow_conversations", name)
	}
	return fmt.Sprintf("send it the code that \"switchboard person claim\" prints, or write to the bot once: the log then shows the line to add. Put it under a name in [[people]], "+
		"as in: [[people]] name = 'you' role = 'admin' identities = ['%s'], each on a line of its own", settings.IdentityForm(config.Kind))
}

// Closed says of each channel where nobody may write how to change that.
func Closed(settings *configs.Settings, people []core.Person, say func(channel, fix string)) {
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		if fix := NobodyMay(settings, people, name, ch.ChannelConfig); ch.Enabled && fix != "" {
			say(name, fix)
		}
	}
}

// NoAdmin says how somebody becomes an admin on a channel that could have one and has none; empty: it has one.
func NoAdmin(people []core.Person, name string, config router.ChannelConfig) (fix string) {
	admins := slices.DeleteFunc(slices.Clone(people), func(p core.Person) bool { return p.Role != core.RoleAdmin })
	if config.DM == "disabled" || anyOn(admins, name, config.Kind) {
		return ""
	}
	return "send it the code that \"switchboard person claim\" prints, as /claim and the code"
}

// anyOn says whether one of the people has an identity on a channel of that name and kind.
func anyOn(people []core.Person, name, kind string) bool {
	return slices.ContainsFunc(people, func(p core.Person) bool {
		return slices.ContainsFunc(p.Identities, func(id string) bool {
			return strings.HasPrefix(id, name+":") || strings.HasPrefix(id, kind+":")
		})
	})
}

// Attach makes the channels that the settings name, in the order of their names.
func Attach(settings *configs.Settings, log *slog.Logger) []router.Attached {
	var attached []router.Attached
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		if k, ok := settings.Kinds().Find(ch.Kind); ok && ch.Enabled {
			attached = append(attached, router.Attached{Channel: k.New(name, ch.Adapter, log), Config: ch.ChannelConfig})
		}
	}
	return attached
}

// Rules say by which policies people write on a channel.
func Rules(ch router.ChannelConfig) string {
	text := fmt.Sprintf("direct %s, groups %s", ch.DM, ch.Groups)
	if ch.Groups == "allowlist" {
		text += fmt.Sprintf(" of %d", len(ch.AllowConversations))
	}
	return text
}

// platformTimeout bounds the questions to one platform.
const platformTimeout = 15 * time.Second

// Examine asks a channel's platform what it knows of the bot; ok is false where nobody can.
func Examine(ctx context.Context, channel channels.Channel) (found []channels.Finding, ok bool) {
	examiner, ok := channel.(channels.Examiner)
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	return examiner.Examine(ctx), true
}

// State says in a line how a channel is, since when in a zone, and why.
func State(s channels.Status, zone *time.Location) string {
	is := map[channels.State]string{
		channels.StateConnected: "has been connected", channels.StateConnecting: "has been connecting",
		channels.StateWaiting: "has been waiting", channels.StateError: "has not been connected",
		channels.StateDeaf: "has heard nothing", channels.StateDisabled: "is switched off",
	}[s.State]
	text := s.Name + " " + cmp.Or(is, "is "+string(s.State))
	if !s.Since.IsZero() {
		text += " since " + s.Since.In(zone).Format(words.Stamp)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// InTrouble says whether a channel does not connect.
func InTrouble(s channels.Status) bool {
	return s.State == channels.StateError || s.State == channels.StateDeaf || s.State == channels.StateWaiting && s.Reason != ""
}

// stateUnknown is what a channel is while no engine runs that could tell.
const stateUnknown channels.State = "unknown"

// Statuses are the channels that an engine runs, with those of the settings that it does not run.
func Statuses(running []channels.Status, settings *configs.Settings) []channels.Status {
	list := running
	add := func(s channels.Status) {
		if !slices.ContainsFunc(running, func(known channels.Status) bool { return known.Name == s.Name }) {
			list = append(list, s)
		}
	}
	add(channels.Status{Name: Console, Kind: Console, State: stateUnknown, Reason: "no engine runs it"})
	for name, ch := range settings.Channels {
		s := channels.Status{Name: name, Kind: ch.Kind, State: stateUnknown, Reason: "no engine runs it"}
		if !ch.Enabled {
			s.State, s.Reason = channels.StateDisabled, "enabled = false"
		} else if _, known := settings.Kinds().Find(ch.Kind); !known {
			s.State, s.Reason = channels.StateDisabled, "this build has no "+ch.Kind
		}
		add(s)
	}
	return byName(list)
}

func byName(list []channels.Status) []channels.Status {
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// AskStatuses asks the engines that run here; of several, the one that holds a
// channel speaks for it. silent are the numbers of those that say nothing: one of them
// may hold what the others wait for. api.ErrNoEngine: there is none.
func AskStatuses(ctx context.Context, settings *configs.Settings) (list []channels.Status, silent []string, err error) {
	answers, silent, err := api.AskAll[struct{ Channels []channels.Status }](ctx, settings.DataDir, "/v1/channels")
	if err != nil {
		return nil, silent, err
	}
	said := make([][]channels.Status, len(answers))
	for i := range answers {
		said[i] = answers[i].Channels
	}
	list = merged(said)
	for i := range list {
		if s := &list[i]; len(silent) > 0 && s.State == channels.StateWaiting {
			s.Reason += "; engine " + strings.Join(silent, ", ") + " does not answer"
		}
	}
	return byName(list), silent, nil
}

// merged is one list of what several engines say of the same channels.
func merged(answers [][]channels.Status) (list []channels.Status) {
	for _, s := range slices.Concat(answers...) {
		i := slices.IndexFunc(list, func(known channels.Status) bool { return known.Name == s.Name })
		if i < 0 {
			list = append(list, s)
			continue
		}
		last := s.LastEvent
		if last.Before(list[i].LastEvent) {
			last = list[i].LastEvent // who held it before knows of more than who holds it now
		}
		if knows(s) > knows(list[i]) {
			list[i] = s
		}
		list[i].LastEvent = last
	}
	return list
}

// knows says how much an engine has to say of a channel: who waits for its lease knows
// nothing of its connection.
func knows(s channels.Status) int {
	switch s.State {
	case stateUnknown:
		return 0
	case channels.StateWaiting, channels.StateDisabled:
		return 1
	}
	return 2
}
