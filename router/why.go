package router

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/router/view"
)

// why answers /why: about the newest turn of the conversation, the one whose message is
// replied to, or the one of that number, in short.
func (r *Router) why(ctx context.Context, entry sorted, control *ledger.AsControl, l *channel, person *ledger.Person, args string) (sorted, error) {
	conv := entry.Event.Conversation
	var id int64
	var err error
	if args == "" {
		id, err = r.Ledger.TurnOf(ctx, conv, entry.Event.Message.ReplyTo)
	} else if id, err = strconv.ParseInt(strings.TrimPrefix(args, "#"), 10, 64); err != nil {
		control.Reply = l.Notice(entry.Event, "Write /why, /why and a turn's number, or reply with /why to a message.")
		return entry, nil
	}
	var turn *view.Turn
	if err == nil {
		turn, err = r.Ledger.Turn(ctx, id, false)
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound), err == nil && turn.Session != ledger.SessionKey(conv): // others' turns are theirs
		control.Reply = l.Notice(entry.Event, "There is no such turn in this conversation.")
	case err != nil:
		return entry, fmt.Errorf("read turn: %w", err)
	default:
		control.Reply = l.Notice(entry.Event, turn.Brief(mayMend(conv, person)))
		control.Reply.Taint = turn.Repeated(person.Name)
	}
	return entry, nil
}

// mayMend says whether person is shown in conv what is wrong with the settings.
func mayMend(c channels.Conversation, person *ledger.Person) bool {
	return c.Kind == channels.Direct && person.Role == ledger.RoleAdmin
}
