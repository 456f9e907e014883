package router

import (
	"maps"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/router/ledger"
)

// menu is the commands of each audience in each language: of everybody in a direct
// chat, of everybody in a group, and of each admin in their own chat.
func (r *Router) menu(channel, kind string) []channels.CommandSet {
	var sets []channels.CommandSet
	add := func(kind channels.ConversationKind, sender string, admin bool) {
		for _, language := range slices.Sorted(maps.Keys(menuTexts)) {
			sets = append(sets, channels.CommandSet{Kind: kind, Sender: sender, Language: language, Commands: commandsIn(language, admin)})
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
		if p.Role != ledger.RoleAdmin {
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

// menuNames are the commands a menu offers, in its order.
var menuNames = [...]string{"status", "plan", "why", "cancel", "retry", "reset", "whoami", "help"}

// typedNames are commands that no menu offers, because something has to follow them.
var typedNames = []string{"approve", "deny", "grants", "link", "secret"}

// Commands are the names of the commands that people write, each with its slash.
func Commands() []string {
	list := []string{"/start"}
	for _, name := range menuNames {
		list = append(list, "/"+name)
	}
	return list
}

// menuTexts say what each of menuNames does, by language; the empty one is for
// those whose language is none of them. The last text is an admin's /cancel.
var menuTexts = map[string][len(menuNames) + 1]string{
	"": {
		"what I am doing", "the plan I am on, or the last one", "why it went as it did, step by step", "stop what I am doing for you", "try your latest message again",
		"forget this conversation", "who you are to me", "what I can do", "stop what I am doing here, for anybody",
	},
	"de": {
		"was ich gerade tue", "der Plan, an dem ich bin, oder der letzte", "warum es so kam, Schritt für Schritt", "abbrechen, was ich für dich tue", "deine letzte Nachricht noch einmal versuchen",
		"dieses Gespräch vergessen", "wer du für mich bist", "was ich kann", "abbrechen, was ich hier tue, für wen auch immer",
	},
	"es": {
		"qué estoy haciendo", "el plan en curso, o el último", "por qué fue así, paso a paso", "parar lo que hago para ti", "intentar de nuevo tu último mensaje",
		"olvidar esta conversación", "quién eres para mí", "qué sé hacer", "parar lo que hago aquí, para quien sea",
	},
	"fr": {
		"ce que je fais", "le plan en cours, ou le dernier", "pourquoi cela s'est passé ainsi, pas à pas", "arrêter ce que je fais pour vous", "réessayer votre dernier message",
		"oublier cette conversation", "qui vous êtes pour moi", "ce que je sais faire", "arrêter ce que je fais ici, pour qui que ce soit",
	},
	"it": {
		"che cosa sto facendo", "il piano in corso, o l'ultimo", "perché è andata così, passo per passo", "fermare ciò che faccio per te", "riprovare il tuo ultimo messaggio",
		"dimenticare questa conversazione", "chi sei per me", "che cosa so fare", "fermare ciò che faccio qui, per chiunque",
	},
}

func commandsIn(language string, admin bool) []channels.Command {
	texts := menuTexts[language]
	list := make([]channels.Command, len(menuNames))
	for i, name := range menuNames {
		list[i] = channels.Command{Name: name, About: texts[i]}
		if admin && name == "cancel" {
			list[i].About = texts[len(menuNames)]
		}
	}
	return list
}
