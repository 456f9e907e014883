package slack

import (
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// maxText is the longest text of one message, in UTF-16 code units. The platform says
	// "characters", and recommends this for new messages; changed ones may not be longer.
	//
	// Source: https://docs.slack.dev/reference/methods/chat.postMessage "Truncating content",
	// https://docs.slack.dev/reference/methods/chat.update "msg_too_long".
	maxText = 4000
	// draftEvery is the least time between two changes of a draft: chat.update may be called
	// 50 times a minute over all.
	//
	// Source: https://docs.slack.dev/reference/methods/chat.update.
	draftEvery = 1200 * time.Millisecond
)

// rates are the sending limits: one message a second in a conversation, a few hundred a
// minute in the workspace.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits.
var rates = channels.Rates{PerSecond: 5, PerConversationSecond: 1}

// Features implements channels.Channel. In threads there are no slash commands: there people
// name the bot.
//
// Source: https://docs.slack.dev/interactivity/implementing-slash-commands. What others wrote a
// bot cannot delete: https://docs.slack.dev/reference/methods/chat.delete.
func (c *Client) Features(conv channels.Conversation) channels.Features {
	command := c.cfg.Command + " "
	if me := c.self.Load(); me != nil && conv.Kind == channels.Thread {
		command = "@" + me.Name + " /"
	}
	return channels.Features{
		Command: command,
		MaxText: maxText, Measure: render.Units,
		Files: true, FilesPerPart: maxFiles, MaxFile: maxFile,
		Buttons: true, MaxButtons: maxRows * maxInRow, Markdown: true,
		DraftEvery: draftEvery, Rates: rates,
	}
}
