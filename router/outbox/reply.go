package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/secrets"
	"switchboard/router/core"
)

// A Formatter is a channel that shows more than plain text: it turns a parsed
// answer into parts within the conversation's limits.
type Formatter interface {
	Format(doc *render.Document, f channels.Features) []channels.Body
}

// choiceDeadline is how long a question can be answered by a button, or a command given.
const choiceDeadline = 24 * time.Hour

// Notice renders a fixed text of ours as the answer to an event.
func (l *Connection) Notice(event channels.Event, text string) *Reply {
	reply := l.reply(event.Conversation, text)
	reply.Notice = true
	reply.ReplyTo = l.replyTo(event.Conversation, event.Message.ID)
	return &reply
}

// Relayed renders what somebody has us tell another conversation than theirs. It is theirs
// alone: to everybody else it is what somebody else was answered, and taints.
func (l *Connection) Relayed(conv channels.Conversation, from, markdown string, taint tools.Taint) Reply {
	reply := l.reply(conv, "**"+render.Escape(from)+"** asked me to tell you:\n\n"+markdown)
	reply.Person, reply.Taint = from, taint
	return reply
}

// Told renders what we say unasked.
func (l *Connection) Told(conv channels.Conversation, markdown string, taint tools.Taint) Reply {
	reply := l.reply(conv, markdown)
	if len(reply.Parts) == 0 { // all of it is markup that shows nothing
		reply = l.reply(conv, render.Escape(markdown))
	}
	reply.Taint = taint
	return reply
}

// Command is what people write before a command's name in a conversation.
func (l *Connection) Command(conv channels.Conversation) string {
	return cmp.Or(l.channel().Features(conv).Command, "/")
}

// Masked is what the agent says without known secrets.
func (l *Connection) Masked(say agent.Say) agent.Say {
	say.Text = l.lines.Mask.Text(say.Text)
	choices := make([]string, len(say.Choices))
	for i, choice := range say.Choices {
		choices[i] = l.lines.Mask.Text(choice)
	}
	if say.Choices != nil {
		say.Choices = choices
	}
	return say
}

// Said renders what the agent says in a turn, with a line that opens it and buttons under it; below is instead of those
// that are not shown. Where its Markdown hides a secret, say becomes what is shown.
func (l *Connection) Said(ctx context.Context, data *core.TurnData, say *agent.Say, opening string, buttons []core.Button, below string) Reply {
	conv := data.Conversation
	features := l.features(conv)
	text := opening + say.Text + below
	if len(say.Choices) > 0 && !features.Buttons {
		text += "\n\n" + numbered(say.Choices)
	}
	shown := l.shown(text, false)
	doc := shown.doc
	files, notes := l.files(ctx, data.Turn.Session.Key, doc.Attachments(), features)
	if len(notes) > 0 {
		doc = doc.Annotate(notes)
	}
	reply := Reply{
		Text: text, Parts: l.parts(doc, features), Read: l.reader() != nil,
		Notice: say.Notice, Final: say.Final, Taint: say.Taint, Person: data.Turn.Person.Name, ReplyTo: l.Answers(data),
	}
	if shown.hid {
		reply.Text = render.Escape(doc.Plain())
		say.Text = reply.Text
	}
	if len(say.Choices) > 0 {
		offer(&reply, say.Choices, data.Turn.Person.Name, features.Buttons)
	} else {
		files = l.shorten(ctx, &reply, doc, data.Turn.Session.Key, *say, features, files)
		if len(buttons) > 0 {
			l.Offer(&reply, data.Turn.Person.Name, buttons, l.Offers(conv, buttons))
		}
	}
	for n := max(features.FilesPerPart, 1); len(files) > 0; files = files[min(n, len(files)):] {
		reply.Parts = append(reply.Parts, channels.Body{Files: files[:min(n, len(files))]})
	}
	return reply
}

// offer adds the actions by which the person can answer, and their buttons under
// the last part, which is text still.
func offer(r *Reply, choices []string, person string, buttons bool) {
	last := &r.Parts[len(r.Parts)-1]
	deadline := time.Now().Add(choiceDeadline)
	for i, choice := range choices {
		code := rand.Text()
		r.Actions = append(r.Actions, Action{
			Code: HashCode(code), Kind: ActionChoice, Person: person, Text: choice, Number: i + 1, ExpiresAt: deadline,
		})
		if buttons {
			last.Buttons = append(last.Buttons, channels.Button{Label: choice, Code: code})
		}
	}
}

// reply renders Markdown for a conversation.
func (l *Connection) reply(conv channels.Conversation, markdown string) Reply {
	return l.rendered(conv, markdown, false)
}

// rendered renders Markdown, which may be the beginning of a text that grows.
func (l *Connection) rendered(conv channels.Conversation, markdown string, grows bool) Reply {
	markdown = l.lines.Mask.Text(markdown)
	shown := l.shown(markdown, grows)
	reply := Reply{Read: l.reader() != nil, Parts: l.parts(shown.doc, l.features(conv)), Text: markdown}
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
func (l *Connection) shown(markdown string, grows bool) *shown {
	s := &shown{doc: render.Parse(markdown)}
	if l.lines.Mask.Margin() == 0 { // none is known
		return s
	}
	s.doc = s.doc.Masked(&render.Mask{Placeholder: secrets.Placeholder, Find: func(text string) ([][2]int, int) {
		found, upTo := l.lines.Mask.Find(text, grows)
		s.hid = s.hid || len(found) > 0 || upTo < len(text)
		return found, upTo
	}})
	return s
}

// grown is the beginning of a text that grows for clients that lay Markdown out.
func (l *Connection) grown(markdown string) string {
	if l.lines.Mask.Margin() == 0 {
		return markdown
	}
	shown := l.shown(markdown, true)
	if plain := shown.doc.Plain(); shown.hid {
		return render.Escape(plain)
	}
	return markdown
}

func (l *Connection) parts(doc *render.Document, features channels.Features) []channels.Body {
	if f, ok := l.channel().(Formatter); ok {
		return f.Format(doc, features)
	}
	return doc.Parts(features)
}

// features is what a conversation accepts of a text, so that a repeat of it fits as
// well.
func (l *Connection) features(conv channels.Conversation) channels.Features {
	features := l.channel().Features(conv)
	if features.MaxText > 0 {
		features.MaxText -= features.Len(repeatedMark)
	}
	return features
}

// replyTo is the message to hang an answer on: in a group, where others may have
// written meanwhile; in a direct chat there is no need.
func (l *Connection) replyTo(conv channels.Conversation, id channels.MessageID) channels.MessageID {
	if conv.Kind == channels.Direct {
		return ""
	}
	return id
}

// Answers is the message to hang a turn's answer on.
func (l *Connection) Answers(data *core.TurnData) channels.MessageID {
	if data.Overtaken {
		return data.ReplyTo
	}
	return l.replyTo(data.Conversation, data.ReplyTo)
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

// repeated marks a part as the repeat. The mark is plain text in front, or in front
// of the first file's name, which leaves the adapter's own markup in Rich to its
// Marker, where it has one.
func (l *Connection) repeated(body channels.Body) channels.Body {
	return l.marked(body, repeatedMark, "")
}

// marked puts plain text before and after the text of a part.
func (l *Connection) marked(body channels.Body, before, after string) channels.Body {
	if m, ok := l.channel().(Marker); ok {
		return m.Mark(body, before, after)
	}
	if body.Text == "" && len(body.Files) > 0 {
		files := append([]channels.File(nil), body.Files...)
		files[0].Name = before + files[0].Name
		body.Files = files
		return body
	}
	body.Text = before + body.Text + after
	return body
}

// A Marker is a channel whose parts need more than text put to them to be marked.
type Marker interface {
	// Mark puts plain text before and after the text of a part; either may be empty.
	Mark(body channels.Body, before, after string) channels.Body
}

// Place says where a turn speaks.
func (l *Connection) Place(c channels.Conversation) agent.Place {
	f := l.channel().Features(c)
	_, streams := l.channel().(channels.Streamer)
	return agent.Place{
		Channel: l.Name, Direct: c.Kind == channels.Direct,
		MaxText: f.MaxText, Files: f.Files, Buttons: f.Buttons, Rich: f.Markdown, Streams: streams || l.drafts(f),
	}
}
