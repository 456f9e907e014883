package main

import (
	"strings"

	"switchboard/channels"
	"switchboard/channels/discord"
	"switchboard/channels/slack"
	"switchboard/channels/telegram"
)

// kinds are the platforms that are set by tables [channels.NAME], in the order in which init asks
// about them. The console needs no table: every engine has one.
var kinds = append(channels.Kinds{
	telegram.Kind,
	slack.Kind,
	discord.Kind,
}, extraKinds...)

// kindsWith are the names of the kinds of which that is true.
func kindsWith(is func(channels.Kind) bool) (names []string) {
	for _, k := range kinds {
		if is(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// either is names as in "a, b or c".
func either(names []string) string {
	last := max(0, len(names)-1)
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" or "+strings.Join(names[last:], ""), " or ")
}
