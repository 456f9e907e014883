package discord

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
	"switchboard/internal/words"
)

// The places where a command is offered.
//
// Source: https://docs.discord.com/developers/interactions/application-commands#interaction-contexts.
const (
	contextGuild  = 0
	contextDirect = 1

	// maxCommands and maxAbout bound what may be registered.
	//
	// Source: https://docs.discord.com/developers/interactions/application-commands#registering-a-command.
	maxCommands = 100
	maxAbout    = 100
)

var commandShape = words.Pattern(`^[-_\p{Ll}\p{N}]{1,32}$`)

// A command is one as it is registered. What somebody types behind it comes as one text.
//
// Source: https://docs.discord.com/developers/interactions/application-commands#application-command-object.
type command struct {
	ID       string                                `json:"id,omitempty"`
	Type     int                                   `json:"type"`
	Name     string                                `json:"name"`
	About    string                                `json:"description"`
	Abouts   map[string]string                     `json:"description_localizations,omitempty"`
	Contexts []int                                 `json:"contexts"`
	Options  []*discordgo.ApplicationCommandOption `json:"options"`
}

func (a command) same(b command) bool {
	return a.Name == b.Name && a.About == b.About && maps.Equal(a.Abouts, b.Abouts) && slices.Equal(a.Contexts, b.Contexts) && len(a.Options) == len(b.Options)
}

// SetCommands implements channels.Commander: it registers what differs. A menu for one person
// alone cannot be.
func (c *Client) SetCommands(ctx context.Context, sets []channels.CommandSet) error {
	app, err := c.application(ctx)
	if err != nil {
		return err
	}
	base := route{op: opCommands, method: http.MethodGet, path: "/applications/" + app.ID.String() + "/commands", major: app.ID.String()}
	all := base
	all.path += "?with_localizations=true"
	have, err := ask[[]command](ctx, c.api, all, nil)
	if err != nil {
		return err
	}
	want := menu(sets)
	var errs []error
	change := func(op, method, path string, body any) {
		r := route{op: op, method: method, path: path, major: base.major}
		_, err := wire.Retry(ctx, func() (*wire.Exchange, error) { return c.call(ctx, r, body) })
		errs = append(errs, err)
	}
	for _, w := range want {
		if !slices.ContainsFunc(have, w.same) {
			change(opCommand, http.MethodPost, base.path, w)
		}
	}
	for _, h := range have {
		if !slices.ContainsFunc(want, func(w command) bool { return w.Name == h.Name }) {
			change(opUncommand, http.MethodDelete, base.path+"/"+h.ID, nil)
		}
	}
	return errors.Join(errs...)
}

// menu is the commands of all sets as they are registered.
func menu(sets []channels.CommandSet) (list []command) {
	for _, set := range sets {
		if set.Sender != "" {
			continue
		}
		where := contextGuild
		if set.Kind == channels.Direct {
			where = contextDirect
		}
		for _, cmd := range set.Commands {
			name, about := strings.ToLower(cmd.Name), render.Clip(strings.TrimSpace(cmd.About), maxAbout)
			if !commandShape().MatchString(name) || about == "" {
				continue
			}
			i := slices.IndexFunc(list, func(c command) bool { return c.Name == name })
			if i < 0 {
				if set.Language != "" || len(list) == maxCommands {
					continue
				}
				i = len(list)
				list = append(list, command{Type: 1, Name: name, About: about, Abouts: map[string]string{}, Options: rest})
			}
			if !slices.Contains(list[i].Contexts, where) {
				list[i].Contexts = append(list[i].Contexts, where)
				slices.Sort(list[i].Contexts)
			}
			for _, locale := range locales(set.Language) {
				list[i].Abouts[locale] = about
			}
		}
	}
	return list
}

// rest is the one option of a command.
var rest = []*discordgo.ApplicationCommandOption{{
	Type: discordgo.ApplicationCommandOptionString, Name: "text", Description: "what belongs to it",
}}

// ownLocales are the languages whose name is a locale of the platform; otherLocales those that
// have others.
//
// Source: https://docs.discord.com/developers/reference#locales.
var (
	ownLocales   = strings.Fields("id da de fr hr it lt hu nl no pl ro fi vi tr cs el bg ru uk hi th ja ko")
	otherLocales = map[string][]string{
		"en": {"en-US", "en-GB"}, "es": {"es-ES", "es-419"}, "pt": {"pt-BR"}, "zh": {"zh-CN", "zh-TW"}, "sv": {"sv-SE"},
	}
)

// locales are the platform's names of a language.
func locales(language string) []string {
	if slices.Contains(ownLocales, language) {
		return []string{language}
	}
	return otherLocales[language]
}
