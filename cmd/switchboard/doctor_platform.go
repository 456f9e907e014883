package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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
			findings = append(findings, finding{Check: "channel", OK: true, Warn: true, Text: fmt.Sprintf(
				"%s: nobody is let in; write \"%s:ID\" into the identities of somebody in [[people]]", name, at.Config.Kind)})
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

// nobody says whether a channel's policies let nobody write.
func nobody(settings *configs.Settings, name string, config router.ChannelConfig) bool {
	if config.DM == "open" || config.DM == "pairing" || config.Groups == "open" {
		return false
	}
	return !slices.ContainsFunc(settings.People, func(p configs.Person) bool {
		return slices.ContainsFunc(p.Identities, func(id string) bool {
			return strings.HasPrefix(id, name+":") || strings.HasPrefix(id, config.Kind+":")
		})
	})
}
