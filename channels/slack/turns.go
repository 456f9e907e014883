package slack

import (
	"context"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// atWork is the bot's sign on a message that it works on.
const atWork = "eyes"

// statuses are what an agent's session is called in each state.
//
// Source: https://docs.slack.dev/reference/methods/agents.sessions.setStatus.
var statuses = map[channels.TurnState]string{
	channels.TurnWorking: slack.AgentSessionStatusProcessing,
	channels.TurnWaiting: slack.AgentSessionStatusSuspended,
	channels.TurnDone:    slack.AgentSessionStatusActive,
}

// ShowTurn implements channels.TurnShower: an agent's session has a status, in threads of channels;
// elsewhere the message has a reaction while it is worked on. Neither goes away by itself.
//
// Source: https://docs.slack.dev/ai/agent-sessions/, https://docs.slack.dev/reference/methods/reactions.remove.
func (c *Client) ShowTurn(ctx context.Context, conv channels.Conversation, id channels.MessageID, state channels.TurnState) error {
	me, err := c.known(ctx)
	if err != nil {
		return err
	}
	op := "agents.sessions.setStatus"
	channel, thread, err := place(op, conv)
	if err != nil {
		return err
	}
	if me.agent() && thread != "" {
		_, err := c.call(ctx, op, wire.CallTimeout, wire.With((*slack.Client).SetAgentSessionStatusContext,
			slack.AgentSessionSetStatusParameters{Status: statuses[state], ChannelID: channel, ThreadTS: thread}))
		return err
	}
	if id == "" || readerOf(id) != "" {
		return nil
	}
	_, ts, err := message("reactions.add", conv, id)
	if err != nil {
		return err
	}
	return c.sign(ctx, state == channels.TurnWorking, atWork, slack.NewRefToMessage(channel, ts))
}

// sign puts an emoji on a message, or takes it off.
//
// Source: https://docs.slack.dev/reference/methods/reactions.add,
// https://docs.slack.dev/reference/methods/reactions.remove.
func (c *Client) sign(ctx context.Context, on bool, emoji string, at slack.ItemRef) error {
	op, change := "reactions.remove", (*slack.Client).RemoveReactionContext
	if on {
		op, change = "reactions.add", (*slack.Client).AddReactionContext
	}
	x, err := c.call(ctx, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error { return change(lib, ctx, emoji, at) })
	if x.refused("already_reacted", "no_reaction") {
		return nil
	}
	return err
}
