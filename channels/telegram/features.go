package telegram

import (
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// maxText is the longest text of one message, in UTF-16 code units after the
	// entities are taken out. The platform says only "characters"; we count as for the
	// offsets of entities, which is never less than the number of runes.
	//
	// Source: https://core.telegram.org/bots/api#sendmessage "text",
	// https://core.telegram.org/bots/api#messageentity "offset".
	maxText = 4096
	// maxAlbum is how many files one message may have.
	//
	// Source: https://core.telegram.org/bots/api#sendmediagroup "media".
	maxAlbum = 10
	// maxButtons is how many buttons a message may have. The platform does not say; more than 100
	// it refused ("reply markup is too long").
	maxButtons = 100
	// maxFile and maxPhoto bound what is sent, in bytes; a larger picture goes as a
	// document.
	//
	// Source: https://core.telegram.org/bots/api#sending-files.
	maxFile  = 50 << 20
	maxPhoto = 10 << 20
	// typingFor is how long "is typing" is shown.
	//
	// Source: https://core.telegram.org/bots/api#sendchataction.
	typingFor = 5 * time.Second
	// draftDirect and draftGroup are the least times between two edits of a draft.
	// Edits count against the limits of a chat, so a group gets few.
	draftDirect = time.Second
	draftGroup  = 6 * time.Second
)

// The sending limits: 30 messages a second in all, one a second in one chat, 20 a
// minute in one group.
//
// Source: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
var (
	ratesDirect = channels.Rates{PerSecond: 30, PerConversationSecond: 1}
	ratesGroup  = channels.Rates{PerSecond: 30, PerConversationSecond: 1, PerConversationMinute: 20}
)

// Features depend on whether somebody is alone with the bot.
func (c *Client) Features(conv channels.Conversation) channels.Features {
	f := channels.Features{
		MaxText: maxText, Measure: render.Units,
		Files: true, FilesPerPart: maxAlbum, MaxFile: maxFile,
		Buttons: true, MaxButtons: maxButtons, Markdown: true,
		TypingFor: typingFor, DraftEvery: draftDirect, Rates: ratesDirect,
	}
	// "Bots can delete incoming messages in private chats", for 48 hours; in groups that is for
	// administrators. Source: https://core.telegram.org/bots/api#deletemessage
	f.Removes = conv.Kind == channels.Direct
	if conv.Kind != channels.Direct {
		f.DraftEvery, f.Rates = draftGroup, ratesGroup
	}
	return f
}

// span finds the bytes of text that length UTF-16 units from offset on are. ok is
// false where they lie outside it or cut a character in two.
func span(text string, offset, length int) (from, to int, ok bool) {
	if offset < 0 || length <= 0 {
		return 0, 0, false
	}
	from, unit := -1, 0
	for at := 0; at <= len(text); {
		if unit == offset {
			from = at
		}
		if from >= 0 && unit-offset >= length {
			return from, at, unit-offset == length
		}
		if at == len(text) {
			break
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		unit += utf16.RuneLen(r)
		at += size
	}
	return 0, 0, false
}
