package slacktest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"switchboard/channels/platformtest"
)

// A place is a conversation with its messages, oldest first.
type place struct {
	Channel
	members  map[string]bool
	messages []*record
}

// A record is a message with what is not told.
type record struct {
	Message
	by      string
	before  []string // its former texts
	deleted bool
	only    string // an ephemeral one: who sees it
}

// scope is what the scopes of reading are called for this place.
func (c *place) scope() string {
	switch {
	case c.IsIM:
		return "im"
	case c.IsMPIM:
		return "mpim"
	case c.IsPrivate:
		return "groups"
	}
	return "channels"
}

// kind is the channel_type that events tell.
func (c *place) kind() string { return strings.TrimSuffix(c.scope(), "s") }

// find finds a message that everybody sees.
func (c *place) find(ts string) *record { return c.findFor("", ts) }

// findFor finds a message that everybody or this user alone sees.
func (c *place) findFor(user, ts string) *record {
	for _, r := range c.messages {
		if r.TS == ts && !r.deleted && (r.only == "" || r.only == user) {
			return r
		}
	}
	return nil
}

// root is the first message of the thread that ts is in.
func (c *place) root(ts string) *record {
	r := c.find(ts)
	if r != nil && r.ThreadTS != "" && r.ThreadTS != r.TS {
		return c.find(r.ThreadTS)
	}
	return r
}

// put adds a message and counts it in its thread.
func (s *workspace) put(c *place, r *record) {
	r.Type, r.TS = "message", s.stamp()
	if r.ThreadTS != "" {
		if root := c.find(r.ThreadTS); root != nil && r.only == "" {
			root.ThreadTS, root.ReplyCount, root.LatestReply = root.TS, root.ReplyCount+1, r.TS
			r.ParentUserID = root.User
		}
	}
	c.messages = append(c.messages, r)
}

// visible is a place that the bot may read or write.
func (s *calls) visible(p *params, name string) (*place, *Rejection) {
	c := s.places[p.values[name]]
	switch {
	case c == nil:
		return nil, refuse(p.method, "channel_not_found", p.values[name])
	case !c.members[s.bot.ID] && (c.IsPrivate || c.IsIM):
		return nil, refuse(p.method, "channel_not_found", p.values[name])
	}
	return c, nil
}

// member is a place that the bot is in.
func (s *calls) member(p *params, name string) (*place, *Rejection) {
	c, rejected := s.visible(p, name)
	if rejected == nil && !c.members[s.bot.ID] {
		return nil, refuse(p.method, "not_in_channel", p.values[name])
	}
	return c, rejected
}

// history returns what was written outside of threads, newest first.
//
// Source: https://docs.slack.dev/reference/methods/conversations.history.
func (s *calls) history(p *params) (map[string]any, *Rejection) {
	c, rejected := s.member(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	var list []*record
	for _, r := range slices.Backward(c.messages) {
		if r.ThreadTS == "" || r.ThreadTS == r.TS || r.Subtype == "thread_broadcast" {
			list = append(list, r)
		}
	}
	return s.page(p, list)
}

// threadReplies returns a thread with its first message, oldest first.
//
// Source: https://docs.slack.dev/reference/methods/conversations.replies.
func (s *calls) threadReplies(p *params) (map[string]any, *Rejection) {
	c, rejected := s.member(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	root := c.root(p.values["ts"])
	if root == nil {
		return nil, refuse(p.method, "thread_not_found", p.values["ts"])
	}
	var list []*record
	for _, r := range c.messages {
		if r == root || r.ThreadTS == root.TS {
			list = append(list, r)
		}
	}
	answer, rejected := s.page(p, list)
	return answer, rejected
}

// page cuts one page of list; the root of a thread is on every one.
func (s *calls) page(p *params, list []*record) (map[string]any, *Rejection) {
	limit, ok := p.number("limit", 100)
	if !ok || limit < 1 || limit > 999 {
		return nil, refuse(p.method, "invalid_limit", p.values["limit"])
	}
	if s.limits.history > 0 {
		limit = min(limit, s.limits.history)
	}
	oldest, latest := parseTS(p.values["oldest"]), parseTS(p.values["latest"])
	inclusive := p.flag("inclusive")
	list = slices.DeleteFunc(slices.Clone(list), func(r *record) bool {
		ts := parseTS(r.TS)
		out := oldest > 0 && (ts < oldest || ts == oldest && !inclusive) || latest > 0 && (ts > latest || ts == latest && !inclusive)
		return r.deleted || r.only != "" || out && !(p.method == "conversations.replies" && r.ThreadTS == r.TS)
	})
	from := 0
	if cursor := p.values["cursor"]; cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n > len(list) {
			return nil, refuse(p.method, "invalid_cursor", cursor)
		}
		from = n
	}
	to := min(from+limit, len(list))
	messages := []Message{}
	for _, r := range list[from:to] {
		m := r.Message
		if !p.flag("include_all_metadata") && m.Metadata != nil {
			m.Metadata = &Metadata{EventType: m.Metadata.EventType}
		}
		messages = append(messages, m)
	}
	next := ""
	if to < len(list) {
		next = strconv.Itoa(to)
	}
	return map[string]any{
		"messages": messages, "has_more": to < len(list), "response_metadata": map[string]string{"next_cursor": next},
	}, nil
}

func (s *calls) info(p *params) (map[string]any, *Rejection) {
	c, rejected := s.visible(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	shown := c.Channel
	shown.IsMember = c.members[s.bot.ID]
	return map[string]any{"channel": shown}, nil
}

// ownPlaces lists the conversations that the bot is in.
//
// Source: https://docs.slack.dev/reference/methods/users.conversations.
func (s *calls) ownPlaces(p *params) (map[string]any, *Rejection) {
	types := map[string]string{"public_channel": "channels", "private_channel": "groups", "mpim": "mpim", "im": "im"}
	list := []Channel{}
	for kind := range strings.SplitSeq(cmp.Or(p.values["types"], "public_channel"), ",") {
		scope := types[kind]
		if scope == "" {
			return nil, refuse(p.method, "invalid_types", kind)
		}
		if !slices.Contains(s.scopes, scope+":read") {
			r := refuse(p.method, "missing_scope")
			r.Needed = scope + ":read"
			return nil, r
		}
		for _, c := range s.places {
			if c.scope() == scope && c.members[s.bot.ID] {
				list = append(list, c.Channel)
			}
		}
	}
	return map[string]any{"channels": list, "response_metadata": map[string]string{"next_cursor": ""}}, nil
}

// open opens the direct conversation with a user.
//
// Source: https://docs.slack.dev/reference/methods/conversations.open.
func (s *calls) open(p *params) (map[string]any, *Rejection) {
	u := s.users[p.values["users"]]
	if u == nil || u.IsBot {
		return nil, refuse(p.method, "user_not_found", p.values["users"])
	}
	return map[string]any{"channel": map[string]string{"id": s.direct(u).ID}}, nil
}

// direct is the direct conversation of a user with the bot.
func (s *workspace) direct(u *User) *place {
	id := "D" + u.ID[1:]
	if s.places[id] == nil {
		s.places[id] = &place{
			Channel: Channel{ID: id, IsIM: true, User: u.ID, Created: s.Now().Unix()},
			members: map[string]bool{u.ID: true, s.bot.ID: true},
		}
	}
	return s.places[id]
}

// told is a message as an event tells it.
func (s *workspace) told(c *place, m Message) map[string]any {
	event := map[string]any{}
	data := platformtest.Encode(m)
	if json.Unmarshal(data, &event) != nil {
		panic("slacktest: a message cannot be encoded")
	}
	delete(event, "reactions")
	delete(event, "reply_count")
	delete(event, "latest_reply")
	event["channel"], event["channel_type"], event["event_ts"] = c.ID, c.kind(), cmp.Or(m.TS, s.stamp())
	return event
}

// react adds user to a reaction, or takes them away; false: nothing changed.
func (m *Message) react(user, name string, off bool) bool {
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Name == name })
	if i < 0 {
		if off {
			return false
		}
		m.Reactions = append(m.Reactions, Reaction{Name: name, Count: 1, Users: []string{user}})
		return true
	}
	r := &m.Reactions[i]
	if slices.Contains(r.Users, user) != off {
		return false
	}
	if off {
		r.Users = slices.DeleteFunc(r.Users, func(u string) bool { return u == user })
	} else {
		r.Users = append(r.Users, user)
	}
	if r.Count = len(r.Users); r.Count == 0 {
		m.Reactions = slices.Delete(m.Reactions, i, i+1)
	}
	return true
}

func (s *calls) addReaction(p *params) (map[string]any, *Rejection) {
	return s.botReacts(p, false)
}

func (s *calls) removeReaction(p *params) (map[string]any, *Rejection) { return s.botReacts(p, true) }

// botReacts puts a reaction of the bot on a message, or takes it off.
//
// Source: https://docs.slack.dev/reference/methods/reactions.add, reactions.remove.
func (s *calls) botReacts(p *params, off bool) (map[string]any, *Rejection) {
	c, rejected := s.visible(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	r := c.find(p.values["timestamp"])
	name := p.values["name"]
	switch {
	case r == nil:
		return nil, refuse(p.method, "message_not_found", p.values["timestamp"])
	case name == "" || !isName(name):
		return nil, refuse(p.method, "invalid_name", name)
	case r.react(s.bot.ID, name, off):
		return map[string]any{}, nil
	case off:
		return nil, refuse(p.method, "no_reaction")
	}
	return nil, refuse(p.method, "already_reacted")
}

// Reactions counts those of the bot on a message.
func (s *workspace) Reactions(channel, ts string) (n int) {
	s.Lock()
	defer s.Unlock()
	if r := s.places[channel].find(ts); r != nil {
		for _, one := range r.Reactions {
			if slices.Contains(one.Users, s.bot.ID) {
				n++
			}
		}
	}
	return n
}

// isName says whether name can be that of an emoji.
func isName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '+' && r != '\'' && r != ':' {
			return false
		}
	}
	return true
}
