package doctor

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/internal/api"
	"switchboard/router/core"
)

// people are those whom the engine knows, or, where none runs, whom it would know.
func (r *report) people() []core.Person {
	var people []core.Person
	if err := api.Ask(r.ctx, r.settings.DataDir, "/v1/people", &people); err == nil {
		return slices.DeleteFunc(people, func(p core.Person) bool { return !p.Away.IsZero() }) // who is away is said elsewhere
	}
	named := access.People(r.settings)
	if r.settings.Stored() != nil {
		return named
	}
	db, err := live.Open(r.ctx, r.settings)
	if err != nil {
		return named // what is wrong with the database is said elsewhere
	}
	defer db.Close()
	stored, _ := db.Router().People(r.ctx)
	for _, p := range stored {
		known := slices.ContainsFunc(named, func(n core.Person) bool { return n.Name == p.Name })
		if p.Source != core.FromSettings && !known {
			named = append(named, p)
		}
	}
	return named
}

// channels lists those of the settings.
func (r *report) channels() {
	r.ok("channel", "console: open to whoever may run switchboard on this machine")
	if len(r.settings.Channels) == 0 {
		r.warn("channel", "give it the token of a bot, in a table [channels.NAME]; \"switchboard init\" says where to get one, asks for it and adds it", "no chat platform is set")
	}
	for _, name := range slices.Sorted(maps.Keys(r.settings.Channels)) {
		ch := r.settings.Channels[name]
		who := access.Rules(ch.ChannelConfig)
		if !ch.Enabled {
			who = "switched off"
		}
		r.ok("channel", "%s (%s): %s", name, ch.Kind, who)
	}
}

// platforms asks each channel's platform what it knows of the bot, and says where
// nobody is let in. Fixes are, by channel, what helps where something is wrong.
func (r *report) platforms(people []core.Person) (fixes map[string]string) {
	fixes = map[string]string{}
	for _, at := range access.Attach(r.settings, slog.New(slog.DiscardHandler)) {
		name := at.Name()
		if fix := access.NobodyMay(r.settings, people, name, at.Config); fix != "" {
			r.warn("channel", fix, name+": nobody may write yet")
		} else if fix := access.NoAdmin(people, name, at.Config); fix != "" {
			r.warn("channel", fix, name+": no admin can write there")
		}
		found, _ := access.Examine(r.ctx, at.Channel)
		for _, f := range found {
			if !f.OK {
				fixes[name] = cmp.Or(fixes[name], f.Fix)
			}
			r.add(Finding{Check: "channel", OK: f.OK, Warn: f.Warn, Text: name + ": " + f.Text, Fix: f.Fix})
		}
	}
	return fixes
}

// statuses says how each channel of the running engine is; nothing where none
// runs. Fixes are what is known by name to help one that is not well.
func (r *report) statuses(fixes map[string]string) {
	list, _, err := access.AskStatuses(r.ctx, r.settings) // who is silent is said of the engines
	if errors.Is(err, api.ErrNoEngine) {
		return
	} else if err != nil {
		r.fail("channel", "restart it; an older version may be running", "the engine does not say how its channels are: "+err.Error())
		return
	}
	for _, s := range list {
		text := access.State(s, time.Local)
		switch s.State {
		case channels.StateError, channels.StateDeaf:
			r.fail("channel", cmp.Or(fixes[s.Name], "\"switchboard channel list\" says when it is well again"), text)
		case channels.StateWaiting, channels.StateConnecting:
			r.warn("channel", "", text)
		default:
			r.ok("channel", "%s", text)
		}
	}
}
