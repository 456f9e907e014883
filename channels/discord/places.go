package discord

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// The types of channels that differ for us.
//
// Source: https://docs.discord.com/developers/resources/channel#channel-object-channel-types.
const (
	typeText          = 0
	typeDirect        = 1
	typeNews          = 5
	typeThreadNews    = 10
	typeThread        = 11
	typeThreadPrivate = 12
)

// A place is a channel, a thread or a direct chat.
type place struct {
	ID     snowflake  `json:"id"`
	Type   int        `json:"type"`
	Guild  snowflake  `json:"guild_id"`
	Parent *snowflake `json:"parent_id"`
	Name   string     `json:"name"`
	Owner  snowflake  `json:"owner_id"`
	Last   *snowflake `json:"last_message_id"`
	again  time.Time  // when the platform is asked once more; zero: it told
	named  bool       // of a thread: a person named the bot in the message that it begins at
	look   time.Time  // when that message is read again; zero: it was not read
}

// thread says whether p is one; its posts are threads in a forum, too.
func (p *place) thread() bool {
	return p.Type == typeThread || p.Type == typeThreadNews || p.Type == typeThreadPrivate
}

// threads says whether a thread can begin at a message there.
func (p *place) threads() bool { return p.Type == typeText || p.Type == typeNews }

// mostPlaces bounds what is remembered.
const mostPlaces = 50_000

// placeWithin bounds the look-up of a place, which holds back what comes.
const placeWithin = 3 * time.Second

// places are what is known of the channels, threads and people of guilds.
type places struct {
	api   *api
	cfg   *Config
	known wire.Memory[snowflake, place] // what is missing is asked for
	roles wire.Memory[snowflake, role]
}

// remember notes a channel of a guild.
func (k *places) remember(p place) {
	p.Last = nil // it grows old
	k.known.Put(p.ID, p)
}

// place is what is known of a channel of a guild; the platform is asked where it never told. One
// that it cannot be asked about now is a plain channel for a minute: no other waits for it.
func (k *places) place(ctx context.Context, id snowflake) (place, error) {
	if p, ok := k.known.Get(id); ok && (p.again.IsZero() || time.Now().Before(p.again)) {
		return p, nil
	}
	return k.askPlace(ctx, id)
}

// askPlace asks the platform what a channel is.
func (k *places) askPlace(ctx context.Context, id snowflake) (place, error) {
	within, cancel := context.WithTimeout(ctx, placeWithin)
	defer cancel()
	p, err := wire.Retry(within, func() (place, error) { return ask[place](within, k.api, about(opChannel, id), nil) })
	switch {
	case ctx.Err() != nil, errors.Is(err, channels.ErrUnauthorized):
		return p, err
	case err != nil && !wire.Final(err):
		k.api.Log.WarnContext(ctx, "the platform does not say what a channel is; it is asked again", "conversation_id", id.String(), "error", err)
		p = place{Type: -1, again: time.Now().Add(time.Minute)} // of no type that is known
	}
	p.ID = id // of one that is closed to the bot nothing else is known
	k.remember(p)
	return p, nil
}

// unread says that the message which a thread of a person begins at must be read: with answers in
// threads, nobody needs to name the bot in one that begins at a mention.
func (k *places) unread(p *place) bool {
	return k.cfg.ReplyIn == InThread && (p.Type == typeThread || p.Type == typeThreadNews) && p.Parent != nil &&
		p.Owner != k.api.me().id && !time.Now().Before(p.look)
}

// readStarter reads the message that a thread begins at, which has the thread's number. One that
// the bot may not see is read again after a minute.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func (k *places) readStarter(ctx context.Context, p place) error {
	if !k.unread(&p) {
		return nil
	}
	up, err := k.place(ctx, *p.Parent)
	if err == nil && !up.again.IsZero() {
		err = errUnknownPlace
	}
	if err != nil {
		return err
	}
	p.look = time.Now().Add(24 * time.Hour)
	if up.threads() { // a forum has no messages of its own
		m, err := wire.Retry(ctx, func() (message, error) {
			return ask[message](ctx, k.api, about(opMessage, up.ID, "messages", p.ID.String()), nil)
		})
		switch {
		case err == nil:
			person := m.Author != nil && !m.Author.Bot && m.Webhook == ""
			p.named = person && k.content(&m).Mentioned
		case wire.Final(err):
			p.look = time.Now().Add(time.Minute)
		case !errors.Is(err, channels.ErrNoMessage):
			return err
		}
	}
	k.remember(p)
	return nil
}

// conversation is where something happened: in a direct chat, or in a channel or thread of a
// guild.
func (k *places) conversation(ctx context.Context, channel, guild snowflake, with *user) (channels.Conversation, place, error) {
	switch {
	case channel == 0:
		return channels.Conversation{}, place{}, errors.New("it names no channel")
	case guild == 0:
		id := conversationID(channel)
		conv := channels.Conversation{Channel: k.api.Name(), ID: id, Kind: channels.Direct, Place: string(id)}
		if with != nil {
			conv.Title = with.label()
		}
		return conv, place{ID: channel, Type: typeDirect}, nil
	}
	p, err := k.place(ctx, channel)
	if err != nil {
		return channels.Conversation{}, p, &again{err}
	}
	conv := k.inGuild(&p)
	conv.Within = guild.String()
	return conv, p, nil
}

// Within is the guild that a conversation is in.
func (k *places) Within(ctx context.Context, id channels.ConversationID) (string, error) {
	channel, err := parseConversation(id)
	if err != nil {
		return "", err
	}
	p, err := k.place(ctx, channel)
	if err == nil && !p.again.IsZero() {
		err = errors.New("the platform does not say now what the channel is")
	}
	return p.Guild.String(), err
}

// inGuild is the conversation that a channel or thread of a guild is.
func (k *places) inGuild(p *place) channels.Conversation {
	id := conversationID(p.ID)
	conv := channels.Conversation{Channel: k.api.Name(), ID: id, Kind: channels.Group, Place: string(id), Title: wire.Clean(p.Name)}
	if p.thread() && p.Parent != nil {
		conv.Kind, conv.Place = channels.Thread, p.Parent.String()
	}
	return conv
}

// A guild as GUILD_CREATE tells it.
//
// Source: https://docs.discord.com/developers/events/gateway-events#guild-create.
type guild struct {
	ID          snowflake `json:"id"`
	Name        string    `json:"name"`
	Unavailable bool      `json:"unavailable"`
	Channels    []place   `json:"channels"`
	Threads     []place   `json:"threads"`
	Roles       []role    `json:"roles"`
}

// Source: https://docs.discord.com/developers/topics/permissions#role-object.
type role struct {
	ID   snowflake `json:"id"`
	Name string    `json:"name"`
	Tags struct {
		Bot snowflake `json:"bot_id"` // that the role came with
	} `json:"tags"`
}

// serves says whether messages of a guild are handed in.
func (k *places) serves(guild snowflake) bool {
	return guild == 0 || len(k.cfg.Guilds) == 0 || slices.Contains(k.cfg.Guilds, guild.String())
}
