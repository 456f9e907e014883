package scripted

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"switchboard/channels"
)

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	post := postOf(out)
	for _, f := range out.Body.Files {
		data, err := readFile(out, f)
		if err != nil { // nothing left this machine
			return "", &channels.RefusedError{Op: PathPost, Reason: err.Error()}
		}
		post.Files = append(post.Files, File{Name: f.Name, Type: f.Type, Data: data})
	}
	if c.notes(out) && out.Note != nil {
		post.Nonce = rand.Text()
		if err := out.Note(ctx, post.Nonce); err != nil {
			return "", &channels.RefusedError{Op: PathPost, Reason: err.Error(), Temporary: true}
		}
	}
	return c.link.Post(ctx, post)
}

func postOf(out channels.Outbound) Post {
	return Post{
		Conversation: out.Conversation.ID, Text: out.Body.Text, Rich: out.Body.Rich,
		Buttons: out.Body.Buttons, ReplyTo: out.ReplyTo, Nonce: out.Nonce,
	}
}

// notes says whether the part goes under a nonce of its own, which is noted: files do, where
// the platform has no place for ours.
func (c *Channel) notes(out channels.Outbound) bool {
	return len(out.Body.Files) > 0 && c.cfg.Finder && !c.cfg.Deduper
}

func readFile(out channels.Outbound, f channels.File) ([]byte, error) {
	r, err := out.Open(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name, err)
	}
	return data, nil
}

// Features implements channels.Channel.
func (c *Channel) Features(conv channels.Conversation) channels.Features {
	minute := c.cfg.PerConversationMinute
	if conv.Kind != channels.Direct && c.cfg.PerGroupMinute > 0 {
		minute = c.cfg.PerGroupMinute
	}
	return channels.Features{
		MaxText: c.cfg.MaxText, Buttons: c.cfg.Buttons, Files: c.cfg.Files > 0, FilesPerPart: c.cfg.Files,
		Removes: c.cfg.Removes && conv.Kind == channels.Direct, Command: c.cfg.Command, TypingFor: c.cfg.TypingFor, DraftEvery: c.cfg.DraftEvery,
		Rates: channels.Rates{
			PerSecond: c.cfg.PerSecond, PerConversationSecond: c.cfg.PerConversationSecond,
			PerConversationMinute: minute,
		},
	}
}

// rich is what a channel can do whose Config says Rich.
type rich struct{ of *Channel }

var (
	_ channels.Editor     = rich{}
	_ channels.Drafter    = rich{}
	_ channels.Deleter    = rich{}
	_ channels.Unbuttoner = rich{}
	_ channels.Typer      = rich{}
	_ channels.Commander  = rich{}
	_ channels.TurnShower = rich{}
	_ channels.Pulse      = rich{}
)

func (r rich) Edit(ctx context.Context, conv channels.Conversation, id channels.MessageID, body channels.Body) error {
	return r.of.change(ctx, Change{Op: OpEdit, ID: id, Post: Post{Conversation: conv.ID, Text: body.Text, Rich: body.Rich, Buttons: body.Buttons}})
}

func (r rich) Draft(ctx context.Context, id channels.MessageID, out channels.Outbound) (channels.MessageID, error) {
	out.Body.Buttons = nil
	reply, err := r.of.link.Change(ctx, Change{Op: OpDraft, ID: id, Post: postOf(out)})
	return reply.ID, err
}

func (r rich) Delete(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	return r.of.change(ctx, Change{Op: OpDelete, ID: id, Post: Post{Conversation: conv.ID}})
}

func (r rich) RemoveButtons(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	return r.of.change(ctx, Change{Op: OpUnbutton, ID: id, Post: Post{Conversation: conv.ID}})
}

func (r rich) Typing(ctx context.Context, conv channels.Conversation) error {
	return r.of.change(ctx, Change{Op: OpTyping, Post: Post{Conversation: conv.ID}})
}

func (r rich) ShowTurn(ctx context.Context, conv channels.Conversation, message channels.MessageID, state channels.TurnState) error {
	return r.of.change(ctx, Change{Op: OpTurn, ID: message, Post: Post{Conversation: conv.ID, Text: string(state)}})
}

func (r rich) SetCommands(ctx context.Context, sets []channels.CommandSet) error {
	return r.of.change(ctx, Change{Op: OpCommands, Commands: sets})
}

func (r rich) Silence() time.Duration { return r.of.cfg.Silence }
