package discord

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// content is what a message says.
func (k *places) content(m *message) channels.Message {
	me := k.api.me()
	content := channels.Message{ID: messageID(m.ID), Text: wire.Clean(m.Content), Attachments: attachments(m, m.Files)}
	if len(m.Snapshots) > 0 && m.Reference != nil && m.Reference.Type == referenceForward {
		s := &m.Snapshots[0].Message
		content.Forwarded = true
		content.Text, content.Attachments = k.named(m, wire.Clean(s.Content)), attachments(m, s.Files)
		if content.Text == "" && len(content.Attachments) == 0 {
			content.Text = cmp.Or(inBrackets(s), "[a message without words]")
		}
		return content
	}
	if content.Text == "" && len(content.Attachments) == 0 {
		content.Text = inBrackets(m)
		content.Enclosed = content.Text != ""
	}
	if m.Reference != nil && m.Reference.Message != 0 {
		content.ReplyTo = messageID(m.Reference.Message)
	}
	if r := m.Referenced; r != nil {
		content.Quote = k.named(r, wire.Clean(r.Content))
		content.Mentioned = r.Author != nil && r.Author.ID == me.id
	}
	k.mentions(&content, m)
	return content
}

// inBrackets says in brackets what somebody sent that is neither text nor a file.
func inBrackets(m *message) string {
	switch {
	case len(m.Stickers) > 0:
		return "[sticker " + wire.Clean(m.Stickers[0].Name) + "]"
	case m.Poll != nil:
		var options []string
		for _, a := range m.Poll.Answers {
			options = append(options, wire.Clean(a.Media.Text))
		}
		return fmt.Sprintf("[poll: %s (%s)]", wire.Clean(m.Poll.Question.Text), strings.Join(options, "; "))
	}
	return ""
}

// mentionPattern is a person who is named in a text.
//
// Source: https://docs.discord.com/developers/reference#message-formatting.
var mentionPattern = regexp.MustCompile(`<@!?([0-9]{1,20})>`)

// mentions finds out who is named, writes their names as people see them, and takes the bot's own
// out at the beginning, where it only says whom the text is for.
func (k *places) mentions(content *channels.Message, m *message) {
	me := k.api.me()
	for _, u := range m.Mentions {
		if u.ID == me.id {
			content.Mentioned = true
			continue
		}
		content.Mentions = append(content.Mentions, channels.Mention{ID: u.ID.String(), Label: "@" + u.label()})
	}
	for _, id := range m.Roles { // the role that the bot came with is called like it
		role, _ := k.roles.Get(id)
		content.Mentioned = content.Mentioned || role.Tags.Bot == me.id
	}
	text := content.Text
	if at := mentionPattern.FindStringSubmatchIndex(text); at != nil && strings.TrimSpace(text[:at[0]]) == "" && text[at[2]:at[3]] == me.id.String() {
		content.Mentioned = true
		text = wire.Addressed(text, at[1])
	}
	content.Text = k.named(m, text)
}

// numbered is what the platform writes with a number: a person, a role, a channel, an emoji.
var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(@[!&]?|#)[0-9]{1,20}>|<a?:[A-Za-z0-9_]{1,32}:[0-9]{1,20}>`)
})

// named is a text with names instead of the numbers, as people see it.
func (k *places) named(m *message, text string) string {
	me := k.api.me()
	return numbered().ReplaceAllStringFunc(text, func(found string) string {
		if _, emoji, ok := strings.Cut(found, ":"); ok {
			return ":" + emoji[:strings.Index(emoji, ":")+1]
		}
		var id snowflake
		_ = id.UnmarshalText([]byte(strings.Trim(found, "<@!&#>")))
		name := ""
		switch at := slices.IndexFunc(m.Mentions, func(u user) bool { return u.ID == id }); {
		case found[1] == '#':
			place, _ := k.known.Get(id)
			name = place.Name
		case found[2] == '&':
			role, _ := k.roles.Get(id)
			name = role.Name
		case id == me.id:
			name = me.name
		case at >= 0:
			name = m.Mentions[at].label()
		}
		if name == "" {
			return found
		}
		return found[1:2] + wire.Clean(name)
	})
}

// voiceFlag says that a message was spoken.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags.
const voiceFlag = 1 << 13

// attachments are the files of a message. Addresses expire, so that a file is known by the
// message that it came with.
//
// Source: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls.
func attachments(m *message, files []file) (list []channels.Attachment) {
	for i := range files {
		f := &files[i]
		a := channels.Attachment{
			ID: m.Channel.String() + "/" + m.ID.String() + "/" + f.ID.String(), Kind: wire.KindOf(f.Type),
			Name: f.name(), Type: wire.Clean(f.Type), Size: max(f.Size, 0),
		}
		if m.Flags&voiceFlag != 0 || f.Waveform != "" {
			a.Kind = channels.Voice
		}
		list = append(list, a)
	}
	return list
}

// name is what the file was called. Of a name with special characters the platform keeps a plain
// one, and the other as the title.
//
// Source: https://docs.discord.com/developers/resources/message#attachment-object.
func (f *file) name() string {
	plain := wire.Clean(cmp.Or(f.Filename, "file"))
	if f.Title == "" {
		return plain
	}
	title, ext := wire.Clean(f.Title), path.Ext(plain)
	if !strings.EqualFold(path.Ext(title), ext) {
		title += ext
	}
	return title
}
