package router

import (
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// menu is the commands of each audience in each language: of everybody in a direct
// chat, of everybody in a group, and of each admin in their own chat.
func (r *Router) menu(channel, kind string) []channels.CommandSet {
	var sets []channels.CommandSet
	add := func(kind channels.ConversationKind, sender string, admin bool) {
		for _, language := range commands.Languages {
			to := commands.Audience{Admin: admin, Direct: kind == channels.Direct, Language: language}
			sets = append(sets, channels.CommandSet{Kind: kind, Sender: sender, Language: language, Commands: r.commands.Menu(to)})
		}
	}
	add(channels.Direct, "", false)
	add(channels.Group, "", false)
	for _, admin := range r.admins(channel, kind) {
		add(channels.Direct, admin, true)
	}
	return sets
}

// admins lists the admins' IDs on a channel.
func (r *Router) admins(channel, kind string) (ids []string) {
	for _, p := range r.Roster.Everybody() {
		if p.Role != core.RoleAdmin {
			continue
		}
		for _, identity := range p.Identities {
			for _, of := range []string{channel, kind} {
				if id, ok := strings.CutPrefix(identity, of+":"); ok && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// Completions are the commands, each with its slash, that a terminal completes for the person
// of that name.
func (r *Router) Completions(person string) []string {
	p := r.Roster.Named(person)
	return r.commands.Completions(commands.Audience{Admin: p != nil && p.Role == core.RoleAdmin, Direct: true})
}
