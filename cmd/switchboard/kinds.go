package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"switchboard/channels"
	"switchboard/channels/discord"
	"switchboard/channels/slack"
	"switchboard/channels/telegram"
	"switchboard/configs"
	"switchboard/router"
)

// A kind is one row of the wiring table: how a channel of it is set and made.
type kind struct {
	name    string
	config  configs.Kind
	connect func(name string, adapter any, log *slog.Logger) (channels.Channel, error)
	// manifest is what the platform makes the bot's app from, agentManifest what makes it one that the
	// platform shows as an agent, and each has a text that says how; most have none.
	manifest, manifestUse           string
	agentManifest, agentManifestUse string
}

// kinds is the wiring table of adapters that are set by tables [channels.NAME].
// The console needs no table: every engine has one.
func kinds() []kind {
	return append([]kind{{
		name:   telegram.Kind,
		config: configs.KindOf(telegram.Kind),
		connect: func(name string, adapter any, log *slog.Logger) (channels.Channel, error) {
			return telegram.New(name, *adapter.(*telegram.Config), log), nil
		},
	}, {
		name:   slack.Kind,
		config: configs.KindOf(slack.Kind),
		connect: func(name string, adapter any, log *slog.Logger) (channels.Channel, error) {
			return slack.New(name, *adapter.(*slack.Config), log), nil
		},
		manifest: slack.Manifest, manifestUse: slack.ManifestUse,
		agentManifest: slack.AgentManifest, agentManifestUse: slack.AgentManifestUse,
	}, {
		name:   discord.Kind,
		config: configs.KindOf(discord.Kind),
		connect: func(name string, adapter any, log *slog.Logger) (channels.Channel, error) {
			return discord.New(name, *adapter.(*discord.Config), log), nil
		},
	}}, extraKinds()...)
}

func configKinds() map[string]configs.Kind {
	table := map[string]configs.Kind{}
	for _, k := range kinds() {
		table[k.name] = k.config
	}
	return table
}

// attach makes the channels that the settings name, in the order of their names.
func attach(settings *configs.Settings, log *slog.Logger) ([]router.Attached, error) {
	var attached []router.Attached
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == ch.Kind })
		if i < 0 || !ch.Enabled {
			continue
		}
		made, err := kinds()[i].connect(name, ch.Adapter, log)
		if err != nil {
			return nil, fmt.Errorf("channels.%s: %w", name, err)
		}
		attached = append(attached, router.Attached{Channel: made, Config: ch.ChannelConfig})
	}
	return attached, nil
}
