package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// The channel_type of a group message, and of a direct one; the type of a mention.
const (
	typeGroup   = "mpim"
	typeDirect  = "im"
	typeMention = "app_mention"
)

// kinds are the types of events that are read here. What is nil is nothing of ours: it is
// told along with what the app asks for, and acknowledged. What is not listed is kept raw. Each
// has a payload in testdata/events.json, with the page that shows it or lists its fields.
//
// Source: https://docs.slack.dev/reference/events.
var kinds = wire.Ignoring(map[string]func(*reader, context.Context, json.RawMessage) (item, error){
	"message":               (*reader).anyMessage,
	"app_mention":           (*reader).anyMessage,
	"reaction_added":        event((*reader).reacted),
	"reaction_removed":      event((*reader).reacted),
	"member_joined_channel": event((*reader).joined),
	"channel_left":          event((*reader).left),
	"group_left":            event((*reader).left),
	"channel_id_changed":    event((*reader).moved),
	"agent_session_stopped": event((*reader).stopped),
}, `app_home_opened app_context_changed app_uninstalled tokens_revoked app_rate_limited assistant_thread_started
	assistant_thread_context_changed agent_session_title_changed channel_archive channel_unarchive channel_created channel_deleted
	channel_rename channel_history_changed channel_shared channel_unshared group_archive group_unarchive group_rename group_deleted
	im_created im_close im_open member_left_channel file_created file_shared file_unshared file_change file_public file_deleted
	link_shared pin_added pin_removed emoji_changed user_change team_join message_metadata_posted message_metadata_updated
	message_metadata_deleted user_huddle_changed`)

// A verdict says what a subtype of a message is to us.
type verdict int

const (
	nothing verdict = iota // the platform itself says it, or a bot
	writes                 // somebody wrote
	changes                // somebody changed what they wrote
	removes                // somebody took back what they wrote
)

// subtypes are those of messages. Each has a payload in testdata/events.json, with the page
// that shows it.
//
// Source: https://docs.slack.dev/reference/events/message "Message subtypes",
// https://docs.rs/slack-morphism/2.23.0/slack_morphism/events/enum.SlackMessageEventType.html.
var subtypes = wire.Ignoring(map[string]verdict{
	"": writes, "file_share": writes, "me_message": writes, "thread_broadcast": writes,
	"message_changed": changes, "message_deleted": removes,
}, `bot_message bot_add bot_remove bot_enable bot_disable message_replied tombstone assistant_app_thread document_mention
	ekm_access_denied huddle_thread channel_archive channel_unarchive channel_join channel_leave channel_name channel_topic
	channel_purpose channel_posting_permissions channel_convert_to_private channel_convert_to_public channel_canvas_updated
	tabbed_canvas_updated group_archive group_unarchive group_join group_leave group_name group_topic group_purpose pinned_item
	unpinned_item reminder_add joiner_notification joiner_notification_for_inviter sh_room_created file_comment file_mention
	reply_broadcast slackbot_response app_conversation_leave`)

// A reader makes items of what the platform tells the bot, in one Run.
type reader struct {
	c     *Client
	me    *self
	acct  string // what every key begins with
	marks *marks
}

// callback reads what the Events API tells, which wraps an event.
//
// Source: https://docs.slack.dev/apis/events-api/ "Callback field".
func (r *reader) callback(raw json.RawMessage) (item, error) {
	var w struct {
		Event json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return item{}, err
	}
	if w.Event == nil {
		w.Event = raw // app_rate_limited has none inside
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(w.Event, &head); err != nil {
		return item{}, err
	}
	read, known := kinds[head.Type]
	switch {
	case !known:
		return item{}, fmt.Errorf("an event of the kind %.40q, which is not known here", head.Type)
	case read == nil:
		return item{}, nil
	}
	return read(r, context.Background(), w.Event)
}

func (r *reader) anyMessage(ctx context.Context, raw json.RawMessage) (item, error) {
	var m wireMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return item{}, err
	}
	if m.ChannelType == typeGroup {
		r.marks.group(m.Channel)
	}
	return r.message(ctx, &m)
}

// message reads a message, however it came. One that the platform or a bot wrote is
// nothing.
func (r *reader) message(ctx context.Context, m *wireMessage) (item, error) {
	what, known := subtypes[m.Subtype]
	if !known {
		return item{}, fmt.Errorf("a message of the kind %.40q, which is not known here", m.Subtype)
	}
	if what != nothing && (!idShape.MatchString(m.Channel) || !tsShape.MatchString(cmp.Or(m.TS, m.EventTS))) {
		return item{}, errors.New("it names no channel or no message")
	}
	switch what {
	case writes:
		return r.written(ctx, m)
	case changes:
		return r.changed(ctx, m)
	case removes:
		return r.removed(ctx, m)
	}
	return item{}, nil
}

// byPerson says whether a person wrote m, and neither this bot nor another.
func (r *reader) byPerson(m *wireMessage) bool {
	return m != nil && m.BotID == "" && m.User != "" && m.User != r.me.User && m.User != "USLACKBOT" && subtypes[m.Subtype] == writes
}

// written makes EventMessage of what somebody wrote. A message in a channel and the mention
// that it is are told apart by the platform; they have the same key.
func (r *reader) written(ctx context.Context, m *wireMessage) (item, error) {
	if m.Type == typeMention {
		m.Subtype = ""
	}
	if !r.byPerson(m) {
		return item{}, nil
	}
	if m.ThreadTS != "" {
		r.c.threads.Put(messageRef{m.Channel, m.TS}, m.ThreadTS)
	}
	it := item{message: m, event: &channels.Event{
		Key: wire.Key(r.acct, "message", m.Channel, m.TS), Kind: channels.EventMessage, Sender: r.sender(ctx, m),
		Message: r.c.content(ctx, m, r.me), At: instant(m.TS),
	}}
	r.put(&it, nil)
	return it, nil
}

// put says where an item's message stands, by what was taken and by ahead, which is to be.
func (r *reader) put(it *item, ahead notes) {
	if it.message == nil {
		return
	}
	e, named := it.event, names(it.message, r.me)
	at := r.place(it.message, named, ahead)
	it.history, e.Conversation = at.history, at.conversation
	if e.Kind == channels.EventMessage || e.Kind == channels.EventEdited {
		e.Message.Mentioned = named || at.named
	}
	if e.Kind != channels.EventMessage {
		return
	}
	if e.Mark = at.mark; it.unread {
		e.Mark = r.unmoved(at, ahead)
	}
}

// unmoved is a mark that says whether the thread is the bot's, and passes over nothing: what came before
// was not read. Without a thread there is none.
func (r *reader) unmoved(at where, ahead notes) channels.Mark {
	id := at.mark.Conversation
	read, ok := parseMark(at.mark.Value)
	_, thread, err := parseConversation(id)
	if !ok || err != nil || thread == "" || !read.mentioned {
		return channels.Mark{}
	}
	before, _ := r.marks.marked(id, ahead)
	read.ts, read.root = cmp.Or(before.ts, thread), before.root
	return channels.Mark{Conversation: id, Value: read.String()}
}

// A where is the place of a message: its conversation, and in whose history it is found.
type where struct {
	conversation channels.Conversation
	history      channels.ConversationID
	mark         channels.Mark
	named        bool // the bot was named in the thread before
}

// place says where m stands. A mention in a channel begins a thread, which is its
// conversation; in a thread where the bot was named later messages need not name it.
func (r *reader) place(m *wireMessage, mentioned bool, ahead notes) where {
	channel := conversationID(m.Channel, "")
	group := m.ChannelType == typeGroup || r.marks.isGroup(m.Channel)
	direct := isDirect(m.Channel) || m.ChannelType == typeDirect
	inThread := m.ThreadTS != "" && m.ThreadTS != m.TS
	thread := conversationID(m.Channel, cmp.Or(m.ThreadTS, m.TS))
	before, _ := r.marks.marked(thread, ahead) // once the bot was named in a thread, later messages in it need not
	w := where{conversation: channels.Conversation{Channel: r.c.Name(), ID: channel, Kind: channels.Group, Place: m.Channel}, history: channel}
	read := mark{ts: m.TS, group: group}
	switch {
	case direct:
		w.conversation.Kind = channels.Direct
		if inThread {
			w.history = thread // a thread here is the same chat: it has one session
		}
	case inThread:
		w.conversation.ID, w.conversation.Kind, w.history = thread, channels.Thread, thread
		w.named = before.mentioned || m.ParentUser == r.me.User
		read.mentioned = mentioned || w.named
	case mentioned && r.c.cfg.ReplyIn == ReplyInThread && !group, before.mentioned:
		w.conversation.ID, w.conversation.Kind = thread, channels.Thread
		read.mentioned, read.root = true, true
		w.mark = r.marks.mark(thread, read, ahead)
		return w
	}
	w.mark = r.marks.mark(w.history, read, ahead)
	return w
}

// sender is who wrote m. An ID counts within its workspace; people of another one come by
// Slack Connect.
//
// Source: https://docs.slack.dev/apis/slack-connect/.
func (r *reader) sender(ctx context.Context, m *wireMessage) channels.Sender {
	return r.user(ctx, m.User, cmp.Or(m.UserTeam, m.SourceTeam, m.Team))
}

func (r *reader) user(ctx context.Context, id, team string) channels.Sender {
	who := r.senderOf(id, team)
	who.Label = r.c.nameOf(ctx, id)
	return who
}

// senderOf is the sender with an ID, without their name.
func (r *reader) senderOf(id, team string) channels.Sender {
	own := team == "" || team == r.me.Team || team == r.me.Enterprise
	if own {
		team = cmp.Or(r.me.Enterprise, r.me.Team)
	}
	return channels.Sender{ID: id, Team: team, Guest: !own}
}

// changed makes EventEdited of a message's new state. A preview that was loaded changes
// nothing that anybody wrote.
//
// Source: https://docs.slack.dev/reference/events/message/message_changed.
func (r *reader) changed(ctx context.Context, m *wireMessage) (item, error) {
	now, before := m.Now, m.Before
	if now == nil || !tsShape.MatchString(now.TS) {
		return item{}, errors.New("it does not say what was changed")
	}
	if now.Subtype == "tombstone" { // taken back, with answers in its thread
		return r.removed(ctx, &wireMessage{Channel: m.Channel, ChannelType: m.ChannelType, DeletedTS: now.TS, EventTS: m.EventTS, Before: before})
	}
	now.Channel, now.ChannelType = m.Channel, m.ChannelType
	same := before != nil && before.Text == now.Text && slices.EqualFunc(before.Files, now.Files, func(a, b wireFile) bool { return a.ID == b.ID })
	if same || now.Edited == nil || !r.byPerson(now) {
		return item{}, nil
	}
	it, err := r.written(ctx, now)
	if err != nil || it.event == nil {
		return it, err
	}
	return r.revision(it, m.Channel, now), nil
}

// revision makes of a message that it was changed to this state. It moves no mark.
func (r *reader) revision(it item, channel string, m *wireMessage) item {
	e := *it.event
	e.Kind, e.Key, e.At, e.Mark = channels.EventEdited, wire.Key(r.acct, "edited", channel, m.TS, m.Edited.TS), instant(m.Edited.TS), channels.Mark{}
	it.event, it.at = &e, e.At
	return it
}

// removed makes EventDeleted of a message that its author took back.
//
// Source: https://docs.slack.dev/reference/events/message/message_deleted.
func (r *reader) removed(ctx context.Context, m *wireMessage) (item, error) {
	was := m.Before
	if was == nil {
		return item{}, nil // nobody knows whose it was
	}
	if !tsShape.MatchString(m.DeletedTS) {
		return item{}, errors.New("it does not say what was deleted")
	}
	was.Channel, was.ChannelType, was.TS = m.Channel, m.ChannelType, m.DeletedTS
	if !r.byPerson(was) {
		return item{}, nil
	}
	it := item{message: was, event: &channels.Event{
		Key: wire.Key(r.acct, "deleted", m.Channel, m.DeletedTS), Kind: channels.EventDeleted,
		Sender: r.sender(ctx, was), Message: channels.Message{ID: channels.MessageID(m.DeletedTS)}, At: instant(m.EventTS),
	}}
	r.put(&it, nil)
	return it, nil
}

// event reads an event that is no message.
func event(read func(*reader, context.Context, *wireEvent) (item, error)) func(*reader, context.Context, json.RawMessage) (item, error) {
	return func(r *reader, ctx context.Context, raw json.RawMessage) (item, error) {
		var w wireEvent
		if err := json.Unmarshal(raw, &w); err != nil {
			return item{}, err
		}
		if !tsShape.MatchString(w.EventTS) {
			return item{}, errors.New("it does not say when it happened")
		}
		return read(r, ctx, &w)
	}
}

// reacted makes EventReaction of an emoji that somebody put on a message.
//
// Source: https://docs.slack.dev/reference/events/reaction_added.
func (r *reader) reacted(ctx context.Context, w *wireEvent) (item, error) {
	if w.Item.Type != "message" || w.User == "" || w.User == r.me.User {
		return item{}, nil
	}
	if !idShape.MatchString(w.Item.Channel) || !tsShape.MatchString(w.Item.TS) {
		return item{}, errors.New("it names no message")
	}
	reaction := channels.Reaction{MessageID: channels.MessageID(w.Item.TS)}
	sign := []string{emojiOf(w.Reaction)}
	if w.Type == "reaction_added" {
		reaction.Added = sign
	} else {
		reaction.Removed = sign
	}
	it := item{message: r.reactedTo(ctx, w), event: &channels.Event{
		Key:  wire.Key(r.acct, w.Type, w.Item.Channel, w.Item.TS+"/"+w.EventTS+"/"+w.User),
		Kind: channels.EventReaction, Sender: r.user(ctx, w.User, ""), Reaction: reaction, At: instant(w.EventTS),
	}}
	r.put(&it, nil)
	it.history = ""
	return it, nil
}

// reactedTo is the message that somebody reacted to, as far as its place needs it. The platform does not
// say what thread that is in: it is remembered, and of the bot's own asked for.
func (r *reader) reactedTo(ctx context.Context, w *wireEvent) *wireMessage {
	m := &wireMessage{Channel: w.Item.Channel, TS: w.Item.TS}
	thread, known := r.c.threads.Get(messageRef{m.Channel, m.TS})
	if !known && w.ItemUser == r.me.User {
		ctx, cancel := context.WithTimeout(ctx, nameWithin)
		defer cancel()
		if whole := r.c.readOne(ctx, m); whole != nil {
			thread = whole.ThreadTS
		}
		r.c.threads.Put(messageRef{m.Channel, m.TS}, thread)
	}
	m.ThreadTS = thread
	return m
}

// joined says that the bot was let into a channel.
//
// Source: https://docs.slack.dev/reference/events/member_joined_channel.
func (r *reader) joined(ctx context.Context, w *wireEvent) (item, error) {
	if w.User != r.me.User {
		return item{}, nil
	}
	return r.membership(ctx, w, cmp.Or(w.Inviter, w.User), channels.Joined), nil
}

// left says that the bot was put out of a channel.
//
// Source: https://docs.slack.dev/reference/events/channel_left.
func (r *reader) left(ctx context.Context, w *wireEvent) (item, error) {
	return r.membership(ctx, w, cmp.Or(w.Actor, r.me.User), channels.Left), nil
}

func (r *reader) membership(ctx context.Context, w *wireEvent, by string, what channels.Membership) item {
	return item{event: &channels.Event{
		Key: wire.Key(r.acct, "member", w.Channel, w.EventTS), Kind: channels.EventMember, Member: what, Conversation: r.channel(w.Channel),
		Sender: r.user(ctx, by, ""), At: instant(w.EventTS),
	}}
}

func (r *reader) channel(id string) channels.Conversation {
	return channels.Conversation{Channel: r.c.Name(), ID: conversationID(id, ""), Kind: channels.Group, Place: id}
}

// moved says that a channel has a new ID.
//
// Source: https://docs.slack.dev/reference/events/channel_id_changed.
func (r *reader) moved(_ context.Context, w *wireEvent) (item, error) {
	if !idShape.MatchString(w.Old) || !idShape.MatchString(w.New) {
		return item{}, errors.New("it names no channels")
	}
	return item{event: &channels.Event{
		Key: wire.Key(r.acct, "moved", w.Old, w.New), Kind: channels.EventMoved, Former: conversationID(w.Old, ""), Conversation: r.channel(w.New), At: instant(w.EventTS),
	}}, nil
}

// stopped makes of the stop button of an agent session that somebody said /cancel.
//
// Source: https://docs.slack.dev/reference/events/agent_session_stopped.
func (r *reader) stopped(ctx context.Context, w *wireEvent) (item, error) {
	if !idShape.MatchString(w.Channel) || w.User == "" {
		return item{}, errors.New("it names no channel or nobody")
	}
	at := r.place(&wireMessage{Channel: w.Channel, TS: w.EventTS, ThreadTS: w.Thread}, true, nil)
	return item{event: &channels.Event{
		Key: wire.Key(r.acct, "stopped", w.Channel, w.EventTS), Kind: channels.EventMessage, Conversation: at.conversation,
		Sender: r.user(ctx, w.User, ""), At: instant(w.EventTS),
		Message: channels.Message{ID: channels.MessageID(w.EventTS), Text: "/cancel", Mentioned: true},
	}}, nil
}

// undecodable is an event that cannot be read.
func (r *reader) undecodable(raw []byte, why error) *channels.Event {
	var head struct {
		ID string `json:"event_id"`
	}
	_ = json.Unmarshal(raw, &head)
	return wire.Undecodable(r.c.Name(), r.acct, "event", head.ID, raw, why)
}

// merge makes one message of one that is told twice: what either says of it counts. What else they differ in is
// as first says it.
func (r *reader) merge(ctx context.Context, first, second item) item {
	if first.message == nil || second.message == nil || first.event.Kind != channels.EventMessage || second.event.Kind != channels.EventMessage {
		return first
	}
	m, other := *first.message, second.message
	if len(other.Files) > len(m.Files) {
		m.Files = other.Files
	}
	if len(other.Forwarded) > len(m.Forwarded) {
		m.Forwarded = other.Forwarded
	}
	if other.Type == typeMention {
		m.Type = typeMention
	}
	for _, field := range [][2]*string{
		{&m.Text, &other.Text},
		{&m.ThreadTS, &other.ThreadTS},
		{&m.ParentUser, &other.ParentUser},
		{&m.ChannelType, &other.ChannelType},
		{&m.UserTeam, &other.UserTeam},
		{&m.SourceTeam, &other.SourceTeam},
		{&m.Team, &other.Team},
	} {
		*field[0] = cmp.Or(*field[0], *field[1])
	}
	it, err := r.written(ctx, &m)
	if err != nil || it.event == nil {
		return first
	}
	it.envelope, it.came, it.unread = first.envelope, first.came, first.unread || second.unread
	return it
}
