//go:build scripted

package main

import (
	"log/slog"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/configs"
)

// extraKinds lets tests of the real binary play the platform.
func extraKinds() []kind {
	return []kind{{
		name: scripted.Kind,
		config: configs.Kind{Adapter: func() any {
			cfg := scripted.DefaultConfig()
			return &cfg
		}},
		connect: func(name string, adapter any, log *slog.Logger) (channels.Channel, error) {
			return scripted.New(name, *adapter.(*scripted.Config), log), nil
		},
	}}
}
