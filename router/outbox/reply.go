// Package outbox renders what is said for the channel that sends it: answers with their files,
// notices, and questions with their buttons. It sends nothing.
package outbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"switchboard/router/core"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/secrets"
)

// A Formatter is a channel that shows more than plain text: it turns a parsed
// answer into parts within the conversation's limits.
type Formatter interface {
	Format(doc *render.Document, f channels.Features) []channels.Body
}

// A Marker is a channel whose parts need more than text put to them to be marked.
type Marker interface {
	// Mark puts plain text before and after the text of a part; either may be empty.
	Mark(body channels.Body, before, after string) channels.Body
}

// A Composer renders what is said on one channel.
type Composer struct {
	Name     string                  // the channel's
	Channel  func() channels.Channel // the adapter that is served, or was until it was detached
	MaxParts func() int              // how many messages one answer may become; 0: any number
	Files    Attachments             // what is sent along
	Mask     *secrets.Masker         // takes known secrets out of what is said
	Log      *slog.Logger
}

// Reads says that the channel's clients read for themselves.
func (c *Composer) Reads() bool {
	_, reads := c.Channel().(channels.Reader)
	return reads
}

// Notice renders a fixed text of ours as the answer to an event.
func (c *Composer) Notice(event channels.Event, text string) *Reply {
	reply := c.Alert(event.Conversation, text, tools.Clean)
	reply.ReplyTo = replyTo(event.Conversation, event.Message.ID)
	return &reply
}

// Alert renders a notice of ours, which may name something that others called so.
func (c *Composer) Alert(conv channels.Conversation, text string, taint tools.Taint) Reply {
	reply := c.reply(conv, text)
	reply.Notice, reply.Taint = true, taint
	return reply
}

// Relayed renders what somebody has us tell another conversation than theirs. It is theirs
// alone: to everybody else it is what somebody else was answered, and taints.
func (c *Composer) Relayed(conv channels.Conversation, from, markdown string, taint tools.Taint) Reply {
	reply := c.reply(conv, "**"+render.Escape(from)+"** asked me to tell you:\n\n"+markdown)
	reply.Person, reply.Taint = from, taint
	return reply
}

// Told renders what we say unasked, with files that go along. Without files the text is not empty.
func (c *Composer) Told(conv channels.Conversation, markdown string, taint tools.Taint, files ...channels.File) Reply {
	reply := Reply{Read: c.Reads()}
	if markdown != "" {
		reply = c.reply(conv, markdown)
	}
	if len(reply.Parts) == 0 && markdown != "" { // all of it is markup that shows nothing
		reply = c.reply(conv, render.Escape(markdown))
	}
	reply.Taint = taint
	files = slices.Clone(files)
	for i := range files {
		files[i].Name = c.Mask.Text(files[i].Name)
	}
	reply.carry(files, c.Channel().Features(conv))
	return reply
}

// carry adds files in parts of their own.
func (r *Reply) carry(files []channels.File, features channels.Features) {
	for some := range slices.Chunk(files, max(features.FilesPerPart, 1)) {
		r.Parts = append(r.Parts, channels.Body{Files: some})
	}
}

// Command is what people write before a command's name in a conversation.
func (c *Composer) Command(conv channels.Conversation) string {
	return cmp.Or(c.Channel().Features(conv).Command, "/")
}

// Masked is what the agent says without known secrets.
func (c *Composer) Masked(say agent.Say) agent.Say {
	say.Text, say.Choices = c.Mask.Text(say.Text), slices.Clone(say.Choices)
	for i, choice := range say.Choices {
		say.Choices[i] = c.Mask.Text(choice)
	}
	return say
}

// Said renders what the agent says in a turn, with a line that opens it and buttons under it; below is instead of those
// that are not shown. Where its Markdown hides a secret, say becomes what is shown.
func (c *Composer) Said(ctx context.Context, data *core.TurnData, say *agent.Say, opening string, buttons []core.Button, below string) Reply {
	conv := data.Conversation
	features := c.features(conv)
	text := opening + say.Text + below
	if len(say.Choices) > 0 && !features.Buttons {
		text += "\n"
		for i, choice := range say.Choices {
			text += fmt.Sprintf("\n%d. %s", i+1, choice)
		}
	}
	shown := c.shown(text, false)
	doc := shown.doc
	files, notes := c.files(ctx, data.Turn.Session.Key, doc.Attachments(), features)
	if len(notes) > 0 {
		doc = doc.Annotate(notes)
	}
	reply := Reply{
		Text: text, Parts: c.parts(doc, features), Read: c.Reads(),
		Notice: say.Notice, Final: say.Final, Taint: say.Taint, Person: data.Turn.Person.Name, ReplyTo: Answers(data),
	}
	if shown.hid {
		reply.Text = render.Escape(doc.Plain())
		say.Text = reply.Text
	}
	if len(say.Choices) > 0 {
		offerChoices(&reply, say.Choices, features.Buttons)
	} else {
		files = c.shorten(ctx, &reply, doc, data.Turn.Session.Key, *say, features, files)
		if len(buttons) > 0 {
			c.Offer(&reply, reply.Person, buttons, c.Offers(conv, buttons))
		}
	}
	reply.carry(files, features)
	return reply
}

// reply renders Markdown for a conversation.
func (c *Composer) reply(conv channels.Conversation, markdown string) Reply {
	return c.rendered(conv, markdown, false)
}

// rendered renders Markdown, which may be the beginning of a text that grows.
func (c *Composer) rendered(conv channels.Conversation, markdown string, grows bool) Reply {
	markdown = c.Mask.Text(markdown)
	shown := c.shown(markdown, grows)
	reply := Reply{Read: c.Reads(), Parts: c.parts(shown.doc, c.features(conv)), Text: markdown}
	if shown.hid {
		reply.Text = render.Escape(shown.doc.Plain())
	}
	return reply
}

// A shown is Markdown as people are to see it: without known secrets, which markup, escapes or
// entities within them hide from who looks at the Markdown.
type shown struct {
	doc *render.Document
	hid bool // something was left out of what was laid out so far
}

// shown reads Markdown. Where it grows, an end that may be the beginning of a secret is left out.
func (c *Composer) shown(markdown string, grows bool) *shown {
	s := &shown{doc: render.Parse(markdown)}
	if c.Mask.Margin() == 0 { // none is known
		return s
	}
	s.doc = s.doc.Masked(&render.Mask{Placeholder: secrets.Placeholder, Find: func(text string) ([][2]int, int) {
		found, upTo := c.Mask.Find(text, grows)
		s.hid = s.hid || len(found) > 0 || upTo < len(text)
		return found, upTo
	}})
	return s
}

// Grown is the beginning of a text that grows for clients that lay Markdown out.
func (c *Composer) Grown(markdown string) string {
	if c.Mask.Margin() == 0 {
		return markdown
	}
	shown := c.shown(markdown, true)
	if plain := shown.doc.Plain(); shown.hid {
		return render.Escape(plain)
	}
	return markdown
}

func (c *Composer) parts(doc *render.Document, features channels.Features) []channels.Body {
	if f, ok := c.Channel().(Formatter); ok {
		return f.Format(doc, features)
	}
	return doc.Parts(features)
}

// features is what a conversation accepts of a text, so that a repeat of it fits as
// well.
func (c *Composer) features(conv channels.Conversation) channels.Features {
	features := c.Channel().Features(conv)
	if features.MaxText > 0 {
		features.MaxText -= features.Len(repeatedMark)
	}
	return features
}

// replyTo is the message to hang an answer on: in a group, where others may have
// written meanwhile; in a direct chat there is no need.
func replyTo(conv channels.Conversation, id channels.MessageID) channels.MessageID {
	if conv.Kind == channels.Direct {
		return ""
	}
	return id
}

// Answers is the message to hang a turn's answer on.
func Answers(data *core.TurnData) channels.MessageID {
	if data.Overtaken {
		return data.ReplyTo
	}
	return replyTo(data.Conversation, data.ReplyTo)
}

// repeatedMark opens the one repeat of a part that may have arrived before.
const repeatedMark = "(repeated) "

// Repeated marks a part as the repeat.
func (c *Composer) Repeated(body channels.Body) channels.Body {
	return c.Marked(body, repeatedMark, "")
}

// Marked puts plain text before and after the text of a part, or in front of the first file's name
// where it has none. A channel with markup of its own does so by its Marker.
func (c *Composer) Marked(body channels.Body, before, after string) channels.Body {
	if m, ok := c.Channel().(Marker); ok {
		return m.Mark(body, before, after)
	}
	if body.Text == "" && len(body.Files) > 0 {
		body.Files = slices.Clone(body.Files)
		body.Files[0].Name = before + body.Files[0].Name
		return body
	}
	body.Text = before + body.Text + after
	return body
}
