package router

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/core"
)

// WriteIn takes a message that a person writes on the page into a direct chat of theirs on another channel. The chat is shown it
// first; then it is as if they had written it there. Who repeats it with the same key has it taken once. core.ErrNotFound: there is
// no such chat in which they are served.
func (r *Router) WriteIn(ctx context.Context, person, session, key, text string, files []channels.Attachment) (got channels.Receipt, err error) {
	chats, err := r.Store.PersonChats(ctx, person)
	if err != nil {
		return got, fmt.Errorf("write in %s: %w", session, err)
	}
	open := r.Messages.open(chats)
	i := slices.IndexFunc(open, func(c core.Chat) bool { return core.SessionKey(c.Conversation) == session })
	if i < 0 {
		return got, core.ErrNotFound
	}
	chat, line := open[i], r.Connections.Connection(open[i].Channel)
	shown := "You wrote on the page:\n\n> " + strings.ReplaceAll(render.Escape(text), "\n", "\n> ")
	once := sha256.Sum256([]byte("page\x00" + session + "\x00" + key))
	if _, err := r.Store.Notify(ctx, once[:], chat.Conversation, line.Alert(chat.Conversation, shown, tools.Clean)); err != nil {
		return got, fmt.Errorf("show in %s what was written: %w", session, err)
	}
	line.Committed(chat.Conversation)
	// The sender is who they are there: whether a chat is somebody's is seen by whose messages it has.
	_, id, _ := strings.Cut(chat.Identity, ":")
	sender := channels.Sender{ID: id, Label: person, Person: person, Browser: true}
	if team, id, has := strings.Cut(id, "/"); has {
		sender.Team, sender.ID = team, id
	}
	receipts, err := r.Accept(ctx, []channels.Event{{
		Kind: channels.EventMessage, Key: channels.EventKey("page:" + session + ":" + key), Conversation: chat.Conversation, Sender: sender,
		Message: channels.Message{Text: text, Attachments: files}, At: time.Now().UTC(),
	}})
	if err != nil {
		return got, err
	}
	return receipts[0], nil
}
