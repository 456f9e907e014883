package tools

import (
	"context"
	"strings"
)

// A Messenger writes, for the person of the call, to a person or a conversation that is
// called so, and returns what became of it; the router's is one.
type Messenger func(ctx context.Context, call Call, to, text string) Result

type messageArgs struct{ To, Text string }

// send is the tool "message.send".
func (m Messenger) send(ctx context.Context, call Call, args messageArgs) Result {
	if strings.TrimSpace(args.Text) == "" {
		return refused("empty_text", "say what the message is to read", "there is nothing to send")
	}
	return m(ctx, call, strings.TrimSpace(args.To), args.Text)
}
