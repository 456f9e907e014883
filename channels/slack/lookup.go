package slack

import (
	"cmp"
	"context"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels/wire"
)

// nameWithin bounds the look-up of a name, which holds back what comes; after one without an
// answer none is made for restNames.
const nameWithin, restNames = 2 * time.Second, time.Minute

// name is what a user is called; their ID where that cannot be told now.
//
// Source: https://docs.slack.dev/reference/methods/users.info.
func (a *api) nameOf(ctx context.Context, user string) string {
	if name, known := a.names.Get(user); known {
		return name
	}
	if time.Since(time.Unix(0, a.nameless.Load())) < restNames {
		return user
	}
	type info struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	answer, x, err := ask[info](ctx, a, "users.info", nameWithin, func(ctx context.Context, lib *slack.Client) error { return wire.Err(lib.GetUserInfoContext(ctx, user)) })
	if err != nil && x.reply == nil {
		a.nameless.Store(time.Now().UnixNano())
		return user // it is asked again
	}
	name := cmp.Or(answer.User.Profile.Display, answer.User.Real, answer.User.Name, user)
	a.names.Put(user, name)
	return name
}

// fileInfo asks for what is known of a file.
//
// Source: https://docs.slack.dev/reference/methods/files.info.
func (a *api) fileInfo(ctx context.Context, id string) (*wireFile, error) {
	known, _, err := ask[struct{ File wireFile }](ctx, a, "files.info", nameWithin, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.GetFileInfoContext(ctx, id, 1, 1))
	})
	return &known.File, err
}

// isIn says whether the bot is in a channel; where nobody knows, it is. Commands come from
// direct conversations of two people, too: those it does not know.
//
// Source: https://docs.slack.dev/reference/methods/conversations.info.
func (a *api) isIn(ctx context.Context, channel string) bool {
	type info struct {
		Channel struct {
			In    *bool `json:"is_member"`
			Group bool  `json:"is_mpim"`
		} `json:"channel"`
	}
	answer, x, err := ask[info](ctx, a, "conversations.info", nameWithin,
		wire.With((*slack.Client).GetConversationInfoContext, &slack.GetConversationInfoInput{ChannelID: channel}))
	if err != nil || answer.Channel.In == nil || answer.Channel.Group || isDirect(channel) {
		return !x.refused("channel_not_found")
	}
	return *answer.Channel.In
}
