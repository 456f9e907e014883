package router

import (
	"fmt"
	"strings"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
)

// A Formatter is a channel that shows more than plain text: it turns a parsed
// answer into parts within the conversation's limits.
type Formatter interface {
	Format(doc *render.Document, f channels.Features) []channels.Body
}

// notice renders a fixed text of ours as the answer to an event.
func (l *line) notice(event channels.Event, text string) *Reply {
	reply := l.reply(event.Conversation, text)
	reply.Notice = true
	reply.ReplyTo = l.replyTo(event.Conversation, event.Message.ID)
	return &reply
}

// said renders what the agent says in a turn.
func (l *line) said(conv channels.Conversation, to channels.MessageID, say agent.Say) Reply {
	text := say.Text
	if len(say.Choices) > 0 && !l.channel.Features(conv).Buttons {
		text += "\n\n" + numbered(say.Choices)
	}
	reply := l.reply(conv, text)
	reply.Notice, reply.Final, reply.Taint = say.Notice, say.Final, say.Taint
	reply.ReplyTo = l.replyTo(conv, to)
	return reply
}

// reply renders Markdown for a conversation.
func (l *line) reply(conv channels.Conversation, markdown string) Reply {
	features := l.channel.Features(conv)
	if features.MaxText > 0 {
		features.MaxText -= features.Len(repeatedMark) // so that a repeat fits as well
	}
	reply := Reply{Text: markdown, Read: l.reader != nil}
	if f, ok := l.channel.(Formatter); ok {
		reply.Parts = f.Format(render.Parse(markdown), features)
	} else {
		reply.Parts = render.Parts(markdown, features)
	}
	return reply
}

// replyTo is the message to hang an answer on: in a group, where others may have
// written meanwhile; in a direct chat there is no need.
func (l *line) replyTo(conv channels.Conversation, id channels.MessageID) channels.MessageID {
	if conv.Kind == channels.Direct {
		return ""
	}
	return id
}

func numbered(choices []string) string {
	lines := make([]string, len(choices))
	for i, c := range choices {
		lines[i] = fmt.Sprintf("%d. %s", i+1, c)
	}
	return strings.Join(lines, "\n")
}

// repeatedMark opens the one repeat of a part that may have arrived before.
const repeatedMark = "(repeated) "

// repeated marks a part as the repeat. The mark is plain text in front, which
// leaves the adapter's own markup in Rich to its Marker, where it has one.
func (l *line) repeated(body channels.Body) channels.Body {
	if m, ok := l.channel.(Marker); ok {
		return m.Mark(body, repeatedMark)
	}
	body.Text = repeatedMark + body.Text
	return body
}

// A Marker is a channel whose parts need more than text in front to be marked.
type Marker interface {
	Mark(body channels.Body, mark string) channels.Body
}
