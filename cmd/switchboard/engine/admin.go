package engine

import (
	"context"
	"log/slog"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/doctor"
	"switchboard/router/audit"
	"switchboard/router/commands"
	routerdoctor "switchboard/router/doctor"
	"switchboard/router/money"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/store"
)

// adminCommands are the commands of admins, with what they need of the engine.
func (e *Engine) adminCommands(of *store.Router) []commands.Command {
	changes, limits := e.settings.Changes(), func() money.Budget { return e.settings.Now().Limits() }
	return append([]commands.Command{
		people.Command(of, e.settings.JudgePerson), people.AllowCommand(of, e.settings.JudgePerson),
		settings.Command(changes), outbox.Command(of), audit.Command(of), routerdoctor.Command(e.examine), money.Command(e.db, limits),
		settings.ReloadCommand(changes.ReloadNow),
	}, routerdoctor.ChannelCommands(e, settings.Setter(changes))...)
}

var _ routerdoctor.ChannelKeeper = (*Engine)(nil)

// Channels lists those of the settings with their state, with times in a zone.
func (e *Engine) Channels(zone *time.Location) []routerdoctor.Channel {
	list := e.statuses()
	shown := make([]routerdoctor.Channel, len(list))
	for i, s := range list {
		shown[i] = routerdoctor.Channel{Status: s, Is: access.State(s, zone), Rules: "open to whoever may run switchboard on this machine", Fixed: access.BuiltIn(s.Name)}
		switch s.Name {
		case access.Programs:
			shown[i].Rules = "open to programs with an API token"
		case access.Page:
			shown[i].Rules = "open to people who are signed in to the page"
		}
		if ch, ok := e.settings.Now().Channels[s.Name]; ok {
			shown[i].Rules = access.Rules(ch.ChannelConfig)
		}
	}
	return shown
}

func (e *Engine) statuses() []channels.Status {
	return access.Statuses(e.router.Connections.Statuses(), e.settings.Now())
}

// TestChannel asks a channel's platform what it knows of the bot.
func (e *Engine) TestChannel(ctx context.Context, name string, zone *time.Location) (found []routerdoctor.Finding) {
	for _, s := range e.statuses() {
		if s.Name == name {
			found = append(found, routerdoctor.Finding{OK: !access.InTrouble(s), Warn: s.State != channels.StateConnected && !access.BuiltIn(name), Text: access.State(s, zone)})
		}
	}
	adapter := e.router.Channels.Adapter(name)
	if adapter == nil { // it is switched off, or of a kind that this build has not
		ch := e.settings.Now().Channels[name]
		if k, ok := e.settings.Now().Kinds().Find(ch.Kind); ok {
			adapter = k.New(name, ch.Adapter, slog.New(slog.DiscardHandler))
		}
	}
	platform, _ := access.Examine(ctx, adapter)
	for _, f := range platform {
		found = append(found, routerdoctor.Finding{OK: f.OK, Warn: f.Warn, Text: f.Text, Fix: f.Fix})
	}
	return found
}

// doctorTimeout bounds a doctor's visit that a chat asks for.
const doctorTimeout = 30 * time.Second

// examine is what the doctor says of this engine, with its settings as they are in the file now.
// It does it once at a time.
func (e *Engine) examine(ctx context.Context) (found []routerdoctor.Finding, whole bool) {
	if !e.examining.TryLock() {
		return []routerdoctor.Finding{{OK: true, Warn: true, Check: "doctor", Text: "I am checking that already; the result will come here"}}, true
	}
	defer e.examining.Unlock()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	running := e.settings.Now()
	settings, warnings, err := running.Again(running.Changes())
	findings := doctor.Settings(settings, warnings, err)
	if err != nil {
		settings = running // as it runs
	}
	for _, f := range append(findings, doctor.Examine(ctx, settings)...) {
		f.Check = f.Title()
		found = append(found, routerdoctor.Finding(f))
	}
	return found, ctx.Err() == nil
}
