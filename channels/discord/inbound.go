package discord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// events makes the events of a frame. What cannot be read becomes EventUndecodable; an error is
// not the frame's fault.
func (c *Client) events(ctx context.Context, l *connection, t told) ([]channels.Event, error) {
	h := reader{connection: l, told: t, bot: c.me().id}
	if t.err != nil {
		return h.odd(fmt.Errorf("it is no frame as documented: %w", t.err)), nil
	}
	read, known := kinds[t.frame.Type]
	_, odd := c.odd.Get(t.frame.Type)
	switch {
	case !known && !odd:
		c.odd.Put(t.frame.Type, true)
		return h.odd(errors.New("events of this kind are not known here; later ones are dropped")), nil
	case read == nil:
		return nil, nil
	}
	events, err := read(ctx, &h)
	if err, ok := errors.AsType[*again](err); ok {
		return nil, err
	}
	if err != nil {
		return h.odd(err), nil
	}
	return events, nil
}

// kinds says what each kind of event is for us; nil: nothing. READY and RESUMED are the
// session's. Each has a payload in testdata.
//
// Source: https://docs.discord.com/developers/events/gateway-events#receive-events.
var kinds = wire.Ignoring(map[string]func(context.Context, *reader) ([]channels.Event, error){
	"READY": ready, "RESUMED": resumed,
	"MESSAGE_CREATE": written, "MESSAGE_UPDATE": edited, "MESSAGE_DELETE": takenBack, "MESSAGE_DELETE_BULK": takenBack,
	"MESSAGE_REACTION_ADD": reacted, "MESSAGE_REACTION_REMOVE": reacted,
	"INTERACTION_CREATE": interacted,
	"GUILD_CREATE":       guildTold, "GUILD_DELETE": guildGone,
	"CHANNEL_CREATE": placeTold, "CHANNEL_UPDATE": placeTold, "THREAD_CREATE": placeTold, "THREAD_UPDATE": placeTold,
	"CHANNEL_DELETE": placeGone, "THREAD_DELETE": placeGone, "THREAD_LIST_SYNC": threadsTold,
}, `GUILD_UPDATE GUILD_AUDIT_LOG_ENTRY_CREATE GUILD_BAN_ADD GUILD_BAN_REMOVE GUILD_EMOJIS_UPDATE
	GUILD_STICKERS_UPDATE GUILD_INTEGRATIONS_UPDATE GUILD_MEMBER_ADD GUILD_MEMBER_REMOVE GUILD_MEMBER_UPDATE GUILD_MEMBERS_CHUNK
	GUILD_ROLE_CREATE GUILD_ROLE_UPDATE GUILD_ROLE_DELETE GUILD_SCHEDULED_EVENT_CREATE GUILD_SCHEDULED_EVENT_UPDATE
	GUILD_SCHEDULED_EVENT_DELETE GUILD_SCHEDULED_EVENT_USER_ADD GUILD_SCHEDULED_EVENT_USER_REMOVE GUILD_SOUNDBOARD_SOUND_CREATE
	GUILD_SOUNDBOARD_SOUND_UPDATE GUILD_SOUNDBOARD_SOUND_DELETE GUILD_SOUNDBOARD_SOUNDS_UPDATE SOUNDBOARD_SOUNDS
	CHANNEL_PINS_UPDATE CHANNEL_INFO THREAD_MEMBER_UPDATE THREAD_MEMBERS_UPDATE APPLICATION_COMMAND_PERMISSIONS_UPDATE
	AUTO_MODERATION_RULE_CREATE AUTO_MODERATION_RULE_UPDATE AUTO_MODERATION_RULE_DELETE AUTO_MODERATION_ACTION_EXECUTION
	ENTITLEMENT_CREATE ENTITLEMENT_UPDATE ENTITLEMENT_DELETE INTEGRATION_CREATE INTEGRATION_UPDATE INTEGRATION_DELETE
	INVITE_CREATE INVITE_DELETE MESSAGE_REACTION_REMOVE_ALL MESSAGE_REACTION_REMOVE_EMOJI MESSAGE_POLL_VOTE_ADD
	MESSAGE_POLL_VOTE_REMOVE PRESENCE_UPDATE STAGE_INSTANCE_CREATE STAGE_INSTANCE_UPDATE STAGE_INSTANCE_DELETE
	SUBSCRIPTION_CREATE SUBSCRIPTION_UPDATE SUBSCRIPTION_DELETE TYPING_START USER_UPDATE VOICE_CHANNEL_EFFECT_SEND
	VOICE_CHANNEL_START_TIME_UPDATE VOICE_CHANNEL_STATUS_UPDATE VOICE_STATE_UPDATE VOICE_SERVER_UPDATE WEBHOOKS_UPDATE RATE_LIMITED`)

// ready begins a session.
//
// Source: https://docs.discord.com/developers/events/gateway-events#ready.
func ready(_ context.Context, h *reader) ([]channels.Event, error) {
	type data struct {
		User      user    `json:"user"`
		Session   string  `json:"session_id"`
		ResumeURL string  `json:"resume_gateway_url"`
		Guilds    []guild `json:"guilds"`
	}
	d, err := parse[data](h)
	if err != nil || d.Session == "" || d.User.ID == 0 {
		return nil, &again{errors.Join(errors.New("the gateway begins no session"), err)}
	}
	s := h.session
	s.id, s.url = d.Session, d.ResumeURL
	s.guilds, s.untold = map[snowflake]bool{}, map[snowflake]bool{}
	for _, g := range d.Guilds {
		s.guilds[g.ID], s.untold[g.ID] = true, true
	}
	h.c.self.Store(&self{d.User.ID, d.User.Username})
	h.c.mu.Lock()
	h.c.session = s
	h.c.mu.Unlock()
	h.settle()
	return nil, nil
}

func resumed(_ context.Context, h *reader) ([]channels.Event, error) {
	h.settle()
	return nil, nil
}

// takenBack makes EventDeleted of each message that is gone. Who wrote it is not told.
func takenBack(ctx context.Context, h *reader) ([]channels.Event, error) {
	d, err := parse[head](h)
	if err != nil || !h.c.serves(d.Guild) {
		return nil, err
	}
	conv, _, err := h.c.conversation(ctx, d.Channel, d.Guild, nil)
	if err != nil {
		return nil, err
	}
	ids := d.IDs
	if d.ID != 0 {
		ids = append(ids, d.ID)
	}
	var events []channels.Event
	for _, id := range ids {
		events = append(events, channels.Event{
			Key: wire.Key(h.bot.String(), "deleted", string(conv.ID), id.String()), Kind: channels.EventDeleted,
			Conversation: conv, Message: channels.Message{ID: messageID(id)},
		})
	}
	return events, nil
}

// reacted makes EventReaction. A reaction has no number, so its key has the event's.
func reacted(ctx context.Context, h *reader) ([]channels.Event, error) {
	r, err := parse[reaction](h)
	if err != nil || r.User == h.bot || !h.c.serves(r.Guild) {
		return nil, err
	}
	if r.User == 0 || r.Message == 0 || r.Emoji.Name == "" && r.Emoji.ID == nil {
		return nil, errors.New("the reaction names nobody, no message or no sign")
	}
	conv, _, err := h.c.conversation(ctx, r.Channel, r.Guild, nil)
	if err != nil {
		return nil, err
	}
	sender := channels.Sender{ID: r.User.String()}
	if r.Member != nil && r.Member.User != nil {
		if r.Member.User.Bot {
			return nil, nil
		}
		sender.Label = r.Member.User.label()
	}
	sign := wire.Clean(r.Emoji.Name)
	if r.Emoji.ID != nil {
		sign = ":" + sign + ":"
	}
	e := channels.Event{
		Key: h.numbered("reaction", string(conv.ID), r.Message.String()), Kind: channels.EventReaction,
		Conversation: conv, Sender: sender, Reaction: channels.Reaction{MessageID: messageID(r.Message)},
	}
	if h.frame.Type == "MESSAGE_REACTION_ADD" {
		e.Reaction.Added = []string{sign}
	} else {
		e.Reaction.Removed = []string{sign}
	}
	return []channels.Event{e}, nil
}

// guildTold notes a guild's channels; one that the session did not begin with let the bot in now.
func guildTold(ctx context.Context, h *reader) ([]channels.Event, error) {
	g, err := parse[guild](h)
	if err == nil {
		h.learn(g)
	}
	delete(h.session.untold, g.ID)
	if err != nil || h.session.guilds[g.ID] || g.Unavailable || !h.c.serves(g.ID) {
		return nil, err
	}
	h.session.guilds[g.ID] = true
	return h.membership(ctx, g, channels.Joined)
}

// guildGone: an outage of a guild is told in the same way as being put out, but for a field.
//
// Source: https://docs.discord.com/developers/events/gateway-events#guild-delete.
func guildGone(ctx context.Context, h *reader) ([]channels.Event, error) {
	g, err := parse[guild](h)
	if err != nil || g.Unavailable || !h.c.serves(g.ID) {
		return nil, err
	}
	delete(h.session.guilds, g.ID)
	return h.membership(ctx, g, channels.Left)
}

// membership tells what became of the bot in a guild, and in each channel of it where anything
// was read: what waits there is closed or open with the guild.
func (h *reader) membership(ctx context.Context, g guild, what channels.Membership) ([]channels.Event, error) {
	marks, err := h.sink.Marks(ctx)
	if err != nil {
		return nil, &again{err}
	}
	id := channels.ConversationID("guild/" + g.ID.String()) // nothing can be said there
	whole := channels.Conversation{Channel: h.c.Name(), ID: id, Kind: channels.Group, Place: string(id), Title: wire.Clean(g.Name)}
	events := []channels.Event{h.member(whole, what)}
	for _, m := range marks {
		s, err := parseMark(m)
		if p, ok := h.c.known.Get(s.channel); err == nil && ok && p.Guild == g.ID {
			events = append(events, h.member(h.c.inGuild(&p), what))
		}
	}
	return events, nil
}

func (h *reader) member(conv channels.Conversation, what channels.Membership) channels.Event {
	return channels.Event{Key: h.numbered(string(what), string(conv.ID)), Kind: channels.EventMember, Member: what, Conversation: conv}
}

func placeTold(_ context.Context, h *reader) ([]channels.Event, error) {
	p, err := parse[place](h)
	if err == nil && p.ID != 0 {
		h.c.remember(p)
	}
	return nil, err
}

// placeGone says that a channel or thread was deleted: nothing can be sent there any more.
func placeGone(_ context.Context, h *reader) ([]channels.Event, error) {
	p, err := parse[place](h)
	if err != nil || p.ID == 0 || !h.c.serves(p.Guild) {
		return nil, err
	}
	h.c.known.Forget(p.ID)
	return []channels.Event{h.member(h.c.inGuild(&p), channels.Left)}, nil
}

// threadsTold notes the threads of channels that the bot sees now.
func threadsTold(_ context.Context, h *reader) ([]channels.Event, error) {
	g, err := parse[guild](h)
	for _, p := range g.Threads {
		h.c.remember(p)
	}
	return nil, err
}

// learn notes the channels of a guild, and which of them have messages that were not taken.
func (l *connection) learn(g guild) {
	for _, r := range g.Roles {
		l.c.roles.Put(r.ID, r)
	}
	var lately snowflake
	if l.session.untold[g.ID] { // the bot was there before
		lately = l.session.gaps.lately
	}
	for _, p := range slices.Concat(g.Channels, g.Threads) {
		p.Guild = g.ID
		if p.Last != nil && l.c.serves(g.ID) {
			l.session.gaps.newest(p.ID, *p.Last, lately)
		}
		l.c.remember(p)
	}
}
