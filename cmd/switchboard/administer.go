package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/router"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/doctor"
	"switchboard/router/money"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/store"
)

// adminCommands are the commands of admins, with what they need of the engine.
func (e *engine) adminCommands(ledger *store.Router) []commands.Command {
	return append([]commands.Command{
		people.Command(ledger, e.judgePerson), people.AllowCommand(ledger, e.judgePerson),
		settings.Command(e), outbox.Command(ledger), audit.Command(ledger), doctor.Command(e.examine), money.Command(e.db, e.limits),
		settings.ReloadCommand(e.reloadNow),
	}, doctor.ChannelCommands(e, settings.Setter(e))...)
}

// Channels implements admin.ChannelKeeper.
func (e *engine) Channels(zone *time.Location) []doctor.Channel {
	list := e.statuses()
	shown := make([]doctor.Channel, len(list))
	for i, s := range list {
		shown[i] = doctor.Channel{Status: s, Is: howItIs(s, zone), Rules: "open to whoever may run switchboard on this machine", Fixed: s.Name == consoleName}
		if ch, ok := e.settings().Channels[s.Name]; ok {
			shown[i].Rules = whoMayWrite(ch.ChannelConfig)
		}
	}
	return shown
}

// whoMayWrite says by which policies people write on a channel.
func whoMayWrite(ch router.ChannelConfig) string {
	text := fmt.Sprintf("direct %s, groups %s", ch.DM, ch.Groups)
	if ch.Groups == "allowlist" {
		text += fmt.Sprintf(" of %d", len(ch.AllowConversations))
	}
	return text
}

// TestChannel implements admin.ChannelKeeper.
func (e *engine) TestChannel(ctx context.Context, name string, zone *time.Location) (found []doctor.Finding) {
	for _, s := range e.statuses() {
		if s.Name == name {
			found = append(found, doctor.Finding{OK: !inTrouble(s), Warn: s.State != channels.StateConnected && name != consoleName, Text: howItIs(s, zone)})
		}
	}
	adapter := e.router.Channels.Adapter(name)
	if adapter == nil { // it is switched off, or of a kind that this build has not
		ch := e.settings().Channels[name]
		if k, ok := kinds.Find(ch.Kind); ok {
			adapter = k.New(name, ch.Adapter, slog.New(slog.DiscardHandler))
		}
	}
	examiner, ok := adapter.(channels.Examiner)
	if !ok {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	for _, f := range examiner.Examine(ctx) {
		found = append(found, doctor.Finding{OK: f.OK, Warn: f.Warn, Text: f.Text, Mend: f.Mend})
	}
	return found
}

// doctorTimeout bounds a doctor's visit that a chat asks for.
const doctorTimeout = 30 * time.Second

// examine is what the doctor says of this engine, with its settings as they are in the file now.
// It does it once at a time.
func (e *engine) examine(ctx context.Context) (found []doctor.Finding, whole bool) {
	if !e.examining.TryLock() {
		return []doctor.Finding{{OK: true, Warn: true, Check: "doctor", Text: "I am checking that already; the result will come here"}}, true
	}
	defer e.examining.Unlock()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	running := e.settings()
	settings, warnings, err := running.Again(running.Changes())
	findings := checkSettings(settings, warnings, err)
	if err != nil {
		settings = running // as it runs
	}
	a := &app{mask: running.Mask, ctx: ctx}
	for _, f := range append(findings, a.examine(settings)...) {
		f.Check = f.title()
		found = append(found, doctor.Finding(f))
	}
	return found, ctx.Err() == nil
}

// reloadNow reads the file anew for somebody who waits for what comes of it. What counts from the
// next start alone is told each time.
func (e *engine) reloadNow(ctx context.Context) (diff []settings.Difference, faults []string, err error) {
	was := e.settings()
	err = e.reread(ctx)
	if broken, ok := errors.AsType[*brokenError](err); ok {
		return nil, strings.Split(broken.Error(), "\n"), nil
	} else if err != nil {
		return nil, nil, err
	}
	now := e.settings()
	file, _, err := now.Again(now.Changes())
	if err != nil {
		return nil, nil, err
	}
	return diffView(configs.Diff(was, file)), nil, nil
}
