package slack

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// angled is what the platform writes for a mention, a link or a date.
//
// Source: https://docs.slack.dev/messaging/formatting-message-text.
var angled = regexp.MustCompile(`<([^<>]*)>`)

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// names says whether a message names the bot.
func names(m *wireMessage, me *self) bool {
	return m.Type == typeMention || me.User != "" && (strings.Contains(m.Text, "<@"+me.User+">") || strings.Contains(m.Text, "<@"+me.User+"|"))
}

// content is what m says.
func (c *Client) content(ctx context.Context, m *wireMessage, me *self) channels.Message {
	content := channels.Message{ID: channels.MessageID(m.TS), Mentioned: names(m, me)}
	content.Text = wire.Clean(readText(m.Text, me, &content))
	files, shared := slices.Clip(m.Files), []string(nil)
	for _, a := range m.Forwarded {
		if !a.IsShare && !a.IsUnfurl || content.Text != "" && !a.IsShare {
			continue
		}
		files, content.Origin = append(files, a.Files...), a.AuthorName
		text := strings.TrimSpace(readText(a.Text, me, &channels.Message{}))
		if text == "" && len(a.Files) == 0 {
			text = "[a message without words]"
		}
		if content.Text != "" && a.AuthorName != "" && text != "" {
			text = a.AuthorName + ": " + text
		}
		shared = append(shared, text)
		content.Forwarded = true
	}
	if all := wire.Clean(strings.TrimSpace(strings.Join(shared, "\n\n"))); content.Text != "" { // the words are the person's, what they shared is not
		content.Quote, content.Forwarded, content.Origin = all, false, ""
	} else if content.Forwarded {
		content.Text = all
	}
	for _, f := range files {
		if f.ID == "" || f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		if f.Name == "" { // told before the file itself is known
			if whole, err := c.fileInfo(ctx, f.ID); err == nil {
				f = *whole
			}
		}
		content.Attachments = append(content.Attachments, f.attachment())
	}
	return content
}

// readText is a text as people read it; whom it mentions goes to m. The bot's own name at
// its beginning is left out.
func readText(text string, me *self, m *channels.Message) string {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "<@"+me.User+">"); ok && me.User != "" {
		text = strings.TrimLeft(rest, " ,:")
	}
	var b strings.Builder
	at := 0
	for _, found := range angled.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(unescaper.Replace(text[at:found[0]]))
		b.WriteString(readAngled(text[found[2]:found[3]], me, m))
		at = found[1]
	}
	b.WriteString(unescaper.Replace(text[at:]))
	return b.String()
}

// readAngled is what people see of what stands between angles.
func readAngled(inner string, me *self, m *channels.Message) string {
	body, label, labelled := strings.Cut(inner, "|")
	body, label = unescaper.Replace(body), unescaper.Replace(label)
	switch {
	case body == "@"+me.User && me.User != "":
		return "@" + me.Name
	case strings.HasPrefix(body, "@"):
		name := "@" + strings.TrimPrefix(cmp.Or(label, body[1:]), "@")
		m.Mentions = append(m.Mentions, channels.Mention{ID: body[1:], Label: name})
		return name
	case strings.HasPrefix(body, "#"):
		return "#" + strings.TrimPrefix(cmp.Or(label, body[1:]), "#")
	case strings.HasPrefix(body, "!subteam^"), strings.HasPrefix(body, "!date^"):
		return cmp.Or(label, body)
	case strings.HasPrefix(body, "!"):
		return "@" + strings.TrimPrefix(cmp.Or(label, body[1:]), "@")
	case !labelled, label == body, "http://"+label == body, "https://"+label == body, "mailto:"+label == body, "tel:"+label == body:
		return cmp.Or(label, body)
	}
	return label + " (" + body + ")"
}

// attachment is a file as the program knows it.
func (f *wireFile) attachment() channels.Attachment {
	kind := wire.KindOf(f.Type)
	switch f.Subtype {
	case "slack_audio":
		kind = channels.Voice
	case "slack_video":
		kind = channels.Video
	}
	return channels.Attachment{ID: f.ID, Kind: kind, Name: wire.Clean(cmp.Or(f.Name, f.ID)), Type: f.Type, Size: max(f.Size, 0)}
}

// emojiNames are the platform's names of emoji that people react with.
//
// Source: https://docs.slack.dev/reference/methods/reactions.add "name"; the names are
// those of https://github.com/iamcal/emoji-data.
var emojiNames = map[string]string{
	"👍": "+1", "👎": "-1", "❤": "heart", "🔥": "fire", "🎉": "tada", "👏": "clap", "🙏": "pray", "👀": "eyes", "✅": "white_check_mark",
	"❌": "x", "⏳": "hourglass_flowing_sand", "⌛": "hourglass", "🤔": "thinking_face", "😀": "grinning", "😁": "grin", "😄": "smile",
	"😂": "joy", "🙂": "slightly_smiling_face", "😉": "wink", "😍": "heart_eyes", "😢": "cry", "😭": "sob", "😡": "rage", "😮": "open_mouth",
	"🤯": "exploding_head", "🚀": "rocket", "💯": "100", "👌": "ok_hand", "✍": "writing_hand", "💩": "hankey", "⚡": "zap", "🏆": "trophy",
	"🤝": "handshake", "👋": "wave", "💔": "broken_heart", "⭐": "star", "⚠": "warning", "❓": "question", "❗": "exclamation", "🆗": "ok",
	"🤖": "robot_face", "😴": "sleeping", "⏰": "alarm_clock", "📌": "pushpin", "🐛": "bug", "💡": "bulb", "🛑": "octagonal_sign",
}

// aliases are other names of the same.
var aliases = map[string]string{"thumbsup": "+1", "thumbsdown": "-1", "thinking": "thinking_face", "poop": "hankey"}

var emojiByName = func() map[string]string {
	all := map[string]string{}
	for sign, name := range emojiNames {
		all[name] = sign
	}
	for alias, name := range aliases {
		all[alias] = all[name]
	}
	return all
}()

// emojiOf is the emoji of a name; the platform's own name in colons where it has none. A
// skin tone is left out.
func emojiOf(name string) string {
	base, _, _ := strings.Cut(name, "::")
	if sign := emojiByName[base]; sign != "" {
		return sign
	}
	return ":" + base + ":"
}

// nameOfEmoji is the reverse; empty: it has none.
func nameOfEmoji(sign string) string {
	if name, ok := strings.CutPrefix(sign, ":"); ok && strings.HasSuffix(name, ":") {
		return strings.TrimSuffix(name, ":")
	}
	return emojiNames[strings.TrimSuffix(sign, "\ufe0f")]
}
