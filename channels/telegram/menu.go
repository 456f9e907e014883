package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

const (
	// maxCommands and maxAbout bound a menu.
	//
	// Source: https://core.telegram.org/bots/api#setmycommands,
	// https://core.telegram.org/bots/api#botcommand.
	maxCommands = 100
	maxAbout    = 256
)

var commandShape = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// SetCommands implements channels.Commander. A person's own menu can be set only where
// the bot knows the chat; where it does not yet, that set is left out.
func (c *Client) SetCommands(ctx context.Context, sets []channels.CommandSet) error {
	var errs []error
	for _, set := range sets {
		scope, err := scopeOf(set)
		if err == nil {
			err = c.setCommands(ctx, scope, set)
		}
		if errors.Is(err, channels.ErrGone) {
			c.Log.DebugContext(ctx, "no menu for a chat that the bot does not know", "conversation_id", set.Sender)
			continue
		}
		if err != nil {
			errs = append(errs, err)
		}
		if _, limited := errors.AsType[*channels.RateLimitError](err); limited || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// scopeOf is the audience of a set.
//
// Source: https://core.telegram.org/bots/api#botcommandscope.
func scopeOf(set channels.CommandSet) (models.BotCommandScope, error) {
	switch {
	case set.Kind != channels.Direct:
		return &models.BotCommandScopeAllGroupChats{}, nil
	case set.Sender == "":
		return &models.BotCommandScopeAllPrivateChats{}, nil
	}
	id, err := strconv.ParseInt(set.Sender, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("menu of %q: that is no account on Telegram", set.Sender)
	}
	return &models.BotCommandScopeChat{ChatID: id}, nil
}

// setCommands sets one menu if it is not as it should be.
func (c *Client) setCommands(ctx context.Context, scope models.BotCommandScope, set channels.CommandSet) error {
	want := menu(set.Commands)
	have, err := ask[[]models.BotCommand](ctx, c.api, "getMyCommands", wire.With((*bot.Bot).GetMyCommands, &bot.GetMyCommandsParams{Scope: scope, LanguageCode: set.Language}))
	if err != nil || slices.Equal(have, want) {
		return err
	}
	if len(want) == 0 {
		return c.do(ctx, "deleteMyCommands", 0, wire.With((*bot.Bot).DeleteMyCommands, &bot.DeleteMyCommandsParams{Scope: scope, LanguageCode: set.Language}))
	}
	return c.do(ctx, "setMyCommands", 0, wire.With((*bot.Bot).SetMyCommands, &bot.SetMyCommandsParams{Commands: want, Scope: scope, LanguageCode: set.Language}))
}

// menu is the commands as the platform takes them; what it would refuse is left out.
func menu(commands []channels.Command) (list []models.BotCommand) {
	for _, cmd := range commands {
		name, about := strings.ToLower(cmd.Name), render.Clip(strings.TrimSpace(cmd.About), maxAbout)
		if commandShape.MatchString(name) && about != "" && len(list) < maxCommands {
			list = append(list, models.BotCommand{Command: name, Description: about})
		}
	}
	return list
}
