package router

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/turns"
)

// why answers /why: about the newest turn of the conversation, the one whose message is
// replied to, or the one of that number, in short.
func (r *Router) why(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	conv := c.Conversation()
	var id int64
	var err error
	if c.Args == "" {
		id, err = r.Ledger.TurnOf(ctx, conv, c.Event.Message.ReplyTo)
	} else if id, err = strconv.ParseInt(strings.TrimPrefix(c.Args, "#"), 10, 64); err != nil {
		return commands.Says("Write /why, /why and the number of an answer, or reply with /why to a message."), nil
	}
	var turn *turns.Turn
	if err == nil {
		turn, err = r.Ledger.Turn(ctx, id, false)
	}
	switch {
	case errors.Is(err, core.ErrNotFound), err == nil && turn.Session != core.SessionKey(conv): // others' turns are theirs
		return commands.Says("There is no answer with that number in this conversation."), nil
	case err != nil:
		return commands.Answer{}, fmt.Errorf("read turn: %w", err)
	}
	return commands.Answer{Text: turn.Brief(mayMend(conv, c.Person)), Taint: turn.Repeated(c.Person.Name)}, nil
}

// mayMend says whether person is shown in conv what is wrong with the settings.
func mayMend(c channels.Conversation, person *core.Person) bool {
	return c.Kind == channels.Direct && person.Role == core.RoleAdmin
}
