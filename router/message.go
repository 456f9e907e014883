package router

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
	"switchboard/router/people"
)

// mostRecipients is how many a refusal lists of those who can be written to.
const mostRecipients = 20

// A recipient is a conversation that can be written to.
type recipient struct {
	core.Chat
	name string // the person's; that of a group is its title
	last bool   // it is the person's last used
}

func (c recipient) key() string { return core.SessionKey(c.Conversation) }

// String is how a refusal calls it. A title is what others gave it.
func (c recipient) String() string {
	switch {
	case c.last:
		return c.name
	case c.name != "":
		return fmt.Sprintf("%s (%s)", c.name, c.key())
	case c.Title != "":
		return fmt.Sprintf("%q (%s)", words.OneLine(c.Title, 60), c.key())
	}
	return c.key()
}

// A Messenger writes to others for a person. It is a tools.Messenger.
type Messenger struct {
	Roster      *people.Roster
	Channels    *Channels
	Connections *delivery.Connections
	Store       interface {
		Chats(context.Context) ([]core.Chat, error)
		Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (bool, error)
	}
	Log *slog.Logger
}

// SendMessage is that of tools.Messenger. It commits the message with its deliveries in one
// transaction, once, and leaves the rest to the database. Admins alone write to groups.
func (m *Messenger) SendMessage(ctx context.Context, call tools.Call, to, text string) tools.Result {
	sender := m.Roster.Named(call.Session.Person)
	if sender == nil {
		return *notSent("not_served", "tell the person so", "%s is not somebody I know", call.Session.Person)
	}
	chat, name, why := m.FindRecipient(ctx, sender, to)
	switch {
	case why != nil:
		return *why
	case core.SessionKey(chat) == call.Session.ID:
		return *notSent("this_conversation", "answer here with a msg task", "%s is the conversation that we speak in", to)
	}
	l := m.Connections.Connection(chat.Channel)
	reply, once := l.Relayed(chat, sender.Name, text, call.Taint), []byte("message.send "+rand.Text())
	err := core.Retry(ctx, func() error {
		_, err := m.Store.Notify(ctx, once, chat, reply)
		return err
	})
	if err != nil {
		m.Log.ErrorContext(ctx, "a message to others was not committed", "channel", chat.Channel, "conversation_id", chat.ID, "error", err)
		return tools.Result{
			End: tools.EndError, Code: "unavailable", Output: "the database does not answer, and nobody knows whether the message was sent",
			Hint: "tell the person, and do not send it again unasked",
		}
	}
	l.Committed(chat)
	return tools.Result{End: tools.EndOK, Output: fmt.Sprintf("sent to %s on %s\n", cmp.Or(name, to), chat.Channel)}
}

// Errors of Post, which did nothing.
var (
	// ErrGroupsAreAdmins: admins alone write to groups.
	ErrGroupsAreAdmins = errors.New("only admins may have the bot write to a group")
	// ErrNoFiles: the channel sends none.
	ErrNoFiles = errors.New("this channel sends no files")
	// ErrFileTooLarge: the platform takes none as large; the error names the file.
	ErrFileTooLarge = errors.New("a file is too large for this channel")
)

// Post has a program say something in a conversation of a channel: to is its ID there, or the name of a person, whose last used
// direct chat there is meant. To whoever reads it, it is what others wrote. core.ErrNotFound: nobody is served in such a
// conversation. ErrGroupsAreAdmins, unless admin; ErrNoFiles; ErrFileTooLarge. With files the text may be empty.
func (m *Messenger) Post(ctx context.Context, channel, to, text string, files []outbox.Upload, admin bool) (*outbox.Post, error) {
	chats, err := m.Store.Chats(ctx)
	if err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(m.recipients(chats, true), func(c recipient) bool { return c.Channel != channel })
	i := slices.IndexFunc(known, func(c recipient) bool { return c.key() == channel+":"+to })
	if i < 0 {
		i = slices.IndexFunc(known, func(c recipient) bool { return c.name != "" && strings.EqualFold(c.name, to) })
	}
	switch {
	case i < 0:
		return nil, core.ErrNotFound
	case known[i].Kind != channels.Direct && !admin:
		return nil, ErrGroupsAreAdmins
	}
	post, l := &outbox.Post{Conversation: known[i].Conversation, Person: known[i].name}, m.Connections.Connection(channel)
	var carried []channels.File
	features := l.Channel().Features(post.Conversation)
	for _, f := range files {
		switch {
		case !features.Files:
			return nil, ErrNoFiles
		case features.MaxFile > 0 && f.File.Size > features.MaxFile:
			return nil, fmt.Errorf("%w: %s has %s, and it takes %s", ErrFileTooLarge, f.File.Name, words.Size(f.File.Size), words.Size(features.MaxFile))
		}
		carried, post.Uploads = append(carried, f.File), append(post.Uploads, f.ID)
	}
	post.Reply = l.Told(post.Conversation, text, tools.Others, carried...)
	return post, nil
}

// FindRecipient is the conversation to which person may have us write by that name, with whose it is
// (empty: a group's), or the refusal that says why there is none.
func (m *Messenger) FindRecipient(ctx context.Context, person *core.Person, to string) (channels.Conversation, string, *tools.Result) {
	chats, err := m.Store.Chats(ctx)
	if err != nil {
		m.Log.ErrorContext(ctx, "cannot list who can be written to", "error", err)
		return channels.Conversation{}, "", &tools.Result{
			End: tools.EndError, Code: "unavailable", Output: "the database does not answer; nothing was done", Hint: "try once more, then tell the person",
		}
	}
	chat, why := m.find(m.recipients(chats, person.Role == core.RoleAdmin), to)
	return chat.Conversation, chat.name, why
}

// Recipient says to whom SendMessage would write now, for whoever is asked to allow it, or why to nobody.
func (m *Messenger) Recipient(ctx context.Context, call tools.Call, to string) (means string, refusal *tools.Result) {
	sender := m.Roster.Named(call.Session.Person)
	if sender == nil {
		return "", nil
	}
	chat, name, why := m.FindRecipient(ctx, sender, to)
	switch {
	case why != nil:
		return "", why
	case chat.Kind == channels.Direct:
		return fmt.Sprintf("It would go to %s, in the chat %s.", name, core.SessionKey(chat)), nil
	}
	return fmt.Sprintf("It would go to the group %q, in the chat %s.", words.OneLine(chat.Title, 60), core.SessionKey(chat)), nil
}

// recipients are the conversations that somebody may write to by us, as far as their
// channels are here and serve there: direct chats of people, and of admins the others too.
func (m *Messenger) recipients(chats []core.Chat, admin bool) (list []recipient) {
	used := map[string]bool{}
	for _, c := range chats {
		l := m.Channels.here(c.Channel)
		switch {
		case l == nil:
		case c.Kind != channels.Direct:
			if admin && l.config.Groups != "disabled" {
				list = append(list, recipient{Chat: c})
			}
		default:
			p := m.Roster.Named(c.Person)
			if p == nil || l.config.DM == "disabled" || p.Source == core.FromOpen && l.config.DM != "open" || !l.IsOf(c, p) {
				continue
			}
			list = append(list, recipient{c, p.Name, !used[p.Name]})
			used[p.Name] = true
		}
	}
	return list
}

// open are those direct chats in which their person is served.
func (m *Messenger) open(chats []core.Chat) (list []core.Chat) {
	for _, c := range m.recipients(chats, false) {
		list = append(list, c.Chat)
	}
	return list
}

// find is the one recipient that is called so, or the result that says why there is none. A
// title never stands for a person: others choose it.
func (m *Messenger) find(known []recipient, to string) (recipient, *tools.Result) {
	matching := func(called func(recipient) bool) []recipient {
		return slices.DeleteFunc(slices.Clone(known), func(c recipient) bool { return !called(c) })
	}
	found := matching(func(c recipient) bool { return c.key() == to || c.last && c.name == to })
	if len(found) == 0 {
		found = matching(func(c recipient) bool { return c.last && strings.EqualFold(c.name, to) })
	}
	if len(found) == 0 {
		if slices.ContainsFunc(m.Roster.Everybody(), func(p *core.Person) bool { return strings.EqualFold(p.Name, to) }) {
			return recipient{}, notSent("no_chat", "tell the person that they have to write to me first", "%s has no direct chat with me that I can write to", to)
		}
		found = matching(func(c recipient) bool {
			return c.Kind == channels.Group && c.Title != "" && strings.EqualFold(c.Title, to)
		})
	}
	if len(found) == 1 {
		return found[0], nil
	}
	why := notSent("several_recipients", "ask the person which is meant", "%d are called %q: %s", len(found), to, listed(found))
	if len(found) == 0 {
		found = matching(func(c recipient) bool { return c.last })
		slices.SortFunc(found, func(a, b recipient) int { return cmp.Compare(a.name, b.name) })
		found = append(found, matching(func(c recipient) bool { return c.Kind == channels.Group })...)
		why = notSent("no_recipient", "ask the person whom they mean, or take a name of the list if one surely is meant",
			"I can write to nobody called %q; %sI can write to %s", to, didYouMean(found, to), listed(found))
	}
	why.Taint = titled(found)
	return recipient{}, why
}

// didYouMean asks for the person of a name like it; empty: there is none.
func didYouMean(list []recipient, to string) string {
	to = strings.ToLower(to)
	for _, c := range list {
		if name := strings.ToLower(c.name); name != "" && to != "" && !strings.Contains(to, ":") && (strings.HasPrefix(name, to) || strings.HasPrefix(to, name) || words.Nearest(to, []string{name}) != "") {
			return "did you mean " + c.name + "? "
		}
	}
	return ""
}

// listed names the first of them, and how many there are besides.
func listed(list []recipient) string {
	if len(list) == 0 {
		return "nobody"
	}
	names := make([]string, min(len(list), mostRecipients))
	for i := range names {
		names[i] = list[i].String()
	}
	more := ""
	if n := len(list) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}

// titled is the taint of a list: titles are what others call their groups.
func titled(list []recipient) tools.Taint {
	if slices.ContainsFunc(list, func(c recipient) bool { return c.name == "" && c.Title != "" }) {
		return tools.Label
	}
	return tools.Clean
}

func notSent(code, hint, format string, args ...any) *tools.Result {
	return &tools.Result{End: tools.EndRefused, Code: code, Output: fmt.Sprintf(format, args...), Hint: hint}
}
