package main

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
	"switchboard/router"
)

// platformTimeout bounds the questions to one platform.
const platformTimeout = 15 * time.Second

// checkPlatforms asks each channel's platform what it knows of the bot, and says where
// nobody is let in. Mends are, by channel, what helps where something is wrong.
func (a *app) checkPlatforms(settings *configs.Settings) (findings []finding, mends map[string]string) {
	attached, err := attach(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return []finding{{Check: "channel", Text: err.Error(), Mend: "see [channels] in the settings"}}, nil
	}
	mends = map[string]string{}
	for _, at := range attached {
		name := at.Channel.Name()
		if nobody(settings, name, at.Config) {
			findings = append(findings, finding{Check: "channel", OK: true, Warn: true, Text: name + ": nobody is let in; " + letIn(name, at.Config)})
		}
		examiner, ok := at.Channel.(channels.Examiner)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(a.ctx, platformTimeout)
		for _, f := range examiner.Examine(ctx) {
			if !f.OK {
				mends[name] = cmp.Or(mends[name], f.Mend)
			}
			findings = append(findings, finding{Check: "channel", OK: f.OK, Warn: f.Warn, Text: name + ": " + f.Text, Mend: f.Mend})
		}
		cancel()
	}
	return findings, mends
}

// letIn says how somebody is let in on a channel where nobody is.
func letIn(name string, config router.ChannelConfig) string {
	if config.DM == "disabled" {
		return fmt.Sprintf("write dm = 'allowlist' into [channels.%s], or name a group in its allow_conversations", name)
	}
	return fmt.Sprintf("write to the bot once, and the log says the line for you; it stands in a table [[people]] beside a name, "+
		"as in: [[people]] name = 'you' role = 'admin' identities = ['%s:ID'], each on a line of its own", config.Kind)
}

// warnOfClosed says of each channel that nobody is let in there, and how to change that.
func warnOfClosed(settings *configs.Settings, say func(channel, mend string)) {
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		if ch.Enabled && nobody(settings, name, ch.ChannelConfig) {
			say(name, letIn(name, ch.ChannelConfig))
		}
	}
}

// nobody says whether a channel's policies let nobody write.
func nobody(settings *configs.Settings, name string, config router.ChannelConfig) bool {
	switch {
	case config.DM == "open" || config.Groups == "open":
		return false
	case config.DM == "disabled" && (config.Groups == "disabled" || len(config.AllowConversations) == 0):
		return true
	}
	return !slices.ContainsFunc(settings.People, func(p configs.Person) bool {
		return slices.ContainsFunc(p.Identities, func(id string) bool {
			return strings.HasPrefix(id, name+":") || strings.HasPrefix(id, config.Kind+":")
		})
	})
}
