package discord

import (
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// maxText is the longest text of a message. The platform says only "characters"; we count
	// UTF-16 code units, which are never fewer.
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message.
	maxText = 2000
	// maxFile and maxFiles bound what one message may carry; guilds with boosts allow more.
	//
	// Source: https://docs.discord.com/developers/reference#uploading-files.
	maxFile  = 10 << 20
	maxFiles = 10
	// typingFor is how long the platform shows typing.
	//
	// Source: https://docs.discord.com/developers/resources/channel#trigger-typing-indicator.
	typingFor = 10 * time.Second
	// draftEvery keeps the edits of a growing text within the bucket of a channel's edits, which
	// people measured as five in five seconds.
	draftEvery = 1200 * time.Millisecond
)

// rates leave a tenth of the global limit to what is not sent. A channel's own limit is told by
// headers and asked before each call.
//
// Source: https://docs.discord.com/developers/topics/rate-limits#global-rate-limit.
var rates = channels.Rates{PerSecond: 45, PerConversationSecond: 1}

// Features implements channels.Channel. What others wrote can be deleted with a permission of
// servers, which direct chats do not have.
//
// Source: https://docs.discord.com/developers/resources/message#delete-message.
func (c *Client) Features(channels.Conversation) channels.Features {
	return channels.Features{
		MaxText: maxText, Measure: measure,
		Files: true, FilesPerPart: maxFiles, MaxFile: maxFile,
		Buttons: true, MaxButtons: maxRows * maxInRow, Markdown: true,
		TypingFor: typingFor, DraftEvery: draftEvery, Rates: rates,
	}
}

// measure counts a text as it is sent when it is plain: with what keeps it from being markup.
func measure(text string) int { return render.Units(escape(text)) }
