package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/slack-go/slack"

	"switchboard/channels"
)

// angled is what the platform writes for a mention, a link or a date.
//
// Source: https://docs.slack.dev/messaging/formatting-message-text.
var angled = regexp.MustCompile(`<([^<>]*)>`)

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// names says whether a text, as the platform tells it, names a user.
func names(text, user string) bool {
	return user != "" && (strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|"))
}

// content is what m says.
func (c *Client) content(ctx context.Context, m *wireMessage, me *self) channels.Message {
	content := channels.Message{ID: channels.MessageID(m.TS), Mentioned: m.Type == "app_mention" || names(m.Text, me.User)}
	content.Text = clean(readText(m.Text, me, &content))
	for _, a := range m.Forwarded {
		if !a.IsShare && !a.IsUnfurl || content.Text != "" && !a.IsShare {
			continue
		}
		content.Forwarded, content.Origin = true, a.AuthorName
		content.Text = clean(strings.TrimSpace(content.Text + "\n" + readText(a.Text, me, &channels.Message{})))
	}
	for _, f := range m.Files {
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

// clean is a text without NUL, which no database of ours takes.
func clean(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

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
	kind := channels.Document
	switch {
	case f.Subtype == "slack_audio":
		kind = channels.Voice
	case f.Subtype == "slack_video", strings.HasPrefix(f.Type, "video/"):
		kind = channels.Video
	case strings.HasPrefix(f.Type, "image/"):
		kind = channels.Photo
	case strings.HasPrefix(f.Type, "audio/"):
		kind = channels.Audio
	}
	return channels.Attachment{ID: f.ID, Kind: kind, Name: clean(cmp.Or(f.Name, f.ID)), Type: f.Type, Size: max(f.Size, 0)}
}

// fileInfo asks for what is known of a file.
//
// Source: https://docs.slack.dev/reference/methods/files.info.
func (c *Client) fileInfo(ctx context.Context, id string) (*wireFile, error) {
	x, err := c.call(ctx, "files.info", nameWithin, func(ctx context.Context, lib *slack.Client) error {
		_, _, _, err := lib.GetFileInfoContext(ctx, id, 1, 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		File wireFile `json:"file"`
	}
	if err := json.Unmarshal(x.Body, &answer); err != nil {
		return nil, err
	}
	return &answer.File, nil
}
