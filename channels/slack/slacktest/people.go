package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels/platformtest"
)

// people are those who write and press, with what came back to them.
type people struct {
	*events
	answered map[string]*Answer
	replies  map[string]*reply // by the path of a response_url
}

// AddUser adds a person to the workspace.
func (s *workspace) AddUser(name string) (u User) {
	s.Change(func() { u = *s.addUser(name, s.team) })
	return u
}

// AddGuest adds a person of another workspace, as they come by Slack Connect.
//
// Source: https://docs.slack.dev/apis/slack-connect/.
func (s *workspace) AddGuest(name, team string) (u User) {
	s.Change(func() { u = *s.addUser(name, team) })
	return u
}

// AddChannel adds a public channel with these people and the bot, AddPrivate one that is
// not, AddGroup a group message.
func (s *workspace) AddChannel(name string, people ...User) (c Channel) {
	return s.addPlace(Channel{Name: name, IsChannel: true}, true, people)
}

// AddPrivate adds a private channel with the bot.
func (s *workspace) AddPrivate(name string, people ...User) Channel {
	return s.addPlace(Channel{Name: name, IsChannel: true, IsPrivate: true}, true, people)
}

// AddGroup adds a group message with the bot.
func (s *workspace) AddGroup(people ...User) Channel {
	return s.addPlace(Channel{Name: "mpdm-fake", IsGroup: true, IsMPIM: true, IsPrivate: true}, true, people)
}

// AddForeign adds a public channel that the bot is not in.
func (s *workspace) AddForeign(name string, people ...User) Channel {
	return s.addPlace(Channel{Name: name, IsChannel: true}, false, people)
}

func (s *workspace) addPlace(c Channel, withBot bool, people []User) Channel {
	s.Change(func() {
		c.ID, c.Created = s.id("C"), s.Now().Unix()
		made := &place{Channel: c, members: map[string]bool{}}
		for _, u := range people {
			made.members[u.ID] = true
		}
		if withBot {
			made.members[s.bot.ID] = true
		}
		s.places[c.ID] = made
	})
	return c
}

// Direct is the ID of the direct conversation of a user with the bot.
func (s *workspace) Direct(user string) (id string) {
	s.Change(func() { id = s.direct(s.users[user]).ID })
	return id
}

// A Post is what somebody writes. Everything but Channel and User may be left empty.
type Post struct {
	Channel string
	User    string
	Thread  string // the ts of its first message
	Text    string // as people type it; @name of the bot becomes a mention
	Subtype string
	Files   []File
	Hidden  bool // messages tell no more of the files than their IDs
	Also    bool // a reply that is shown in the channel too
}

// Say makes a user write to the bot in their direct conversation.
func (s *people) Say(user, text string) Message {
	return s.Post(Post{Channel: s.Direct(user), User: user, Text: text})
}

// Post makes somebody write. It panics when the conversation or the user is not there,
// for that is a mistake of the test.
func (s *people) Post(p Post) (m Message) {
	s.Change(func() {
		c, u := s.places[p.Channel], s.users[p.User]
		if c == nil || u == nil {
			panic(fmt.Sprintf("slacktest: there is no %q or no user %q", p.Channel, p.User))
		}
		r := &record{Message: Message{User: u.ID, Team: u.Team, Subtype: p.Subtype, Text: s.escape(p.Text), ThreadTS: p.Thread}, by: u.ID}
		r.ClientMsgID = s.id("msg-")
		if u.Team != s.team {
			r.UserTeam, r.SourceTeam = u.Team, u.Team
		}
		if p.Also {
			r.Subtype = "thread_broadcast"
		}
		for _, f := range p.Files {
			kept := s.store(f, u.ID)
			kept.uploaded, kept.hidden = true, p.Hidden
			r.Files = append(r.Files, s.toldFile(kept, false))
			r.Subtype, r.Upload = "file_share", true
		}
		s.share(c, r)
		m = r.Message
		if !c.members[s.bot.ID] {
			return
		}
		if !c.IsIM && strings.Contains(m.Text, "<@"+s.bot.ID+">") {
			s.tellTwice(c, m)
		} else {
			s.event(s.told(c, m))
		}
	})
	return m
}

// A Pair says how the app is told of a post that mentions it.
type Pair struct {
	Message bool          // the message comes first, and not the mention
	Lacks   string        // a field that the first one has not
	Apart   time.Duration // until the second one is told
	Alone   bool          // the second one is never told
}

func (s *workspace) mustFind(channel, ts string) (*place, *record) {
	return s.mustFindFor("", channel, ts)
}

func (s *workspace) mustFindFor(user, channel, ts string) (*place, *record) {
	c := s.places[channel]
	if c == nil || c.findFor(user, ts) == nil {
		panic(fmt.Sprintf("slacktest: there is no message %s in %q", ts, channel))
	}
	return c, c.findFor(user, ts)
}

// Edit makes the author change the text of a message.
func (s *people) Edit(channel, ts, text string) {
	s.Change(func() {
		c, r := s.mustFind(channel, ts)
		before := r.Message
		r.before = append(r.before, r.shown())
		r.Text, r.Edited = s.escape(text), &Edited{User: r.by, TS: s.stamp()}
		s.tellChanged(c, before, r.Message)
	})
}

// Reannounce tells a change of a message that changes nothing its author wrote, as the
// platform does when a link got its preview.
func (s *people) Reannounce(channel, ts string) {
	s.Change(func() {
		c, r := s.mustFind(channel, ts)
		s.tellChanged(c, r.Message, r.Message)
	})
}

// Delete makes the author take a message back.
func (s *people) Delete(channel, ts string) {
	s.Change(func() { s.remove(s.mustFind(channel, ts)) })
}

// React makes a user put a reaction on a message, or take it off.
//
// Source: https://docs.slack.dev/reference/events/reaction_added.
func (s *people) React(channel, user, ts, name string, off bool) {
	s.Change(func() {
		c, r := s.mustFind(channel, ts)
		if !r.react(user, name, off) {
			return
		}
		kind := "reaction_added"
		if off {
			kind = "reaction_removed"
		}
		s.event(map[string]any{
			"type": kind, "user": user, "reaction": name, "item_user": r.by, "event_ts": s.stamp(),
			"item": map[string]string{"type": "message", "channel": c.ID, "ts": ts},
		})
	})
}

// Invite lets the bot into a channel; Kick puts it out.
//
// Source: https://docs.slack.dev/reference/events/member_joined_channel, channel_left.
func (s *people) Invite(channel, by string) {
	s.Change(func() {
		c := s.places[channel]
		c.members[s.bot.ID] = true
		s.event(map[string]any{
			"type": "member_joined_channel", "user": s.bot.ID, "channel": c.ID, "channel_type": "C", "team": s.team, "inviter": by,
			"event_ts": s.stamp(),
		})
	})
}

// Kick puts the bot out of a channel.
func (s *people) Kick(channel, by string) {
	s.Change(func() {
		c := s.places[channel]
		delete(c.members, s.bot.ID)
		kind := "channel_left"
		if c.IsPrivate {
			kind = "group_left"
		}
		s.event(map[string]any{"type": kind, "channel": c.ID, "actor_id": by, "event_ts": s.stamp()})
	})
}

// Rename gives a channel a new ID.
//
// Source: https://docs.slack.dev/reference/events/channel_id_changed.
func (s *people) Rename(channel string) (now string) {
	s.Change(func() {
		c := s.places[channel]
		delete(s.places, channel)
		c.ID = s.id("C")
		s.places[c.ID] = c
		s.event(map[string]any{"type": "channel_id_changed", "old_channel_id": channel, "new_channel_id": c.ID, "event_ts": s.stamp()})
		now = c.ID
	})
	return now
}

// An Answer is what came back to whoever pressed a button or gave a command.
type Answer struct {
	Done bool   // it was acknowledged
	Text string // what only they see
}

// Press makes a user press the button of that label under a message and returns the
// press, for Answered.
//
// Source: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload.
func (s *people) Press(channel, user, ts, label string) (press string) {
	s.Change(func() {
		c, r := s.mustFindFor(user, channel, ts)
		buttons := r.buttons()
		i := slices.IndexFunc(buttons, func(b button) bool { return b.Text.Text == label })
		if i < 0 {
			panic("slacktest: no button " + label)
		}
		press = s.id("press-")
		answer := &Answer{}
		s.answered[press] = answer
		b := buttons[i]
		address := "/actions/" + s.team + "/" + press
		s.replies[address] = &reply{channel: c.ID, user: user, thread: r.ThreadTS, press: press}
		s.tell("interactive", platformtest.Encode(map[string]any{
			"type": "block_actions", "team": map[string]string{"id": s.team, "domain": "fake"}, "api_app_id": s.app, "token": "fake",
			"user":       map[string]string{"id": user, "username": s.users[user].Name, "name": s.users[user].Name, "team_id": s.users[user].Team},
			"trigger_id": s.id("trigger."), "container": map[string]any{"type": "message", "message_ts": ts, "channel_id": c.ID, "is_ephemeral": r.only != ""},
			"channel": map[string]string{"id": c.ID, "name": c.Name}, "message": r.Message, "response_url": s.address() + address,
			"actions": []map[string]any{{
				"type": "button", "action_id": b.ActionID, "block_id": "b", "text": b.Text, "value": b.Value, "action_ts": s.stamp(),
			}},
		}), func(json.RawMessage) { answer.Done = true })
	})
	return press
}

// Command makes a user give the app's slash command.
//
// Source: https://docs.slack.dev/interactivity/implementing-slash-commands.
func (s *people) Command(channel, user, command, text string) (press string) {
	s.Change(func() {
		c := s.places[channel]
		press = s.id("press-")
		answer := &Answer{}
		s.answered[press] = answer
		address := "/actions/" + s.team + "/" + press
		s.replies[address] = &reply{channel: c.ID, user: user, press: press}
		s.tell("slash_commands", platformtest.Encode(map[string]string{
			"token": "fake", "team_id": s.team, "team_domain": "fake", "channel_id": c.ID, "channel_name": c.Name, "user_id": user,
			"user_name": s.users[user].Name, "command": command, "text": text, "api_app_id": s.app, "is_enterprise_install": "false",
			"response_url": s.address() + address, "trigger_id": s.id("trigger."),
		}), func(payload json.RawMessage) {
			answer.Done = true
			var said struct {
				Text string `json:"text"`
			}
			if len(payload) > 0 && json.Unmarshal(payload, &said) == nil {
				answer.Text = said.Text
			}
		})
	})
	return press
}

// Stop makes a user press the stop button of an agent session.
//
// Source: https://docs.slack.dev/reference/events/agent_session_stopped.
func (s *people) Stop(channel, user, thread string) {
	s.Change(func() {
		s.event(map[string]any{
			"type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": user, "event_ts": s.stamp(),
			"streaming_message_ts": []string{},
		})
	})
}

// Answered is what became of a press or command.
func (s *people) Answered(press string) Answer {
	s.Lock()
	defer s.Unlock()
	if a := s.answered[press]; a != nil {
		return *a
	}
	return Answer{}
}

// A Shown is a message as people see it.
type Shown struct {
	Message
	Seen    string // its text
	Buttons []string
	Only    string // who alone sees it
	Edits   int
}

// FromBot lists what the bot wrote in a conversation and everybody sees, in order.
func (s *workspace) FromBot(channel string) []Shown { return s.OnlyFor(channel, "") }

// OnlyFor lists what the bot wrote in a conversation and this user alone sees, in order.
func (s *workspace) OnlyFor(channel, user string) (list []Shown) {
	s.Lock()
	defer s.Unlock()
	c := s.places[channel]
	if c == nil {
		return nil
	}
	for _, r := range c.messages {
		if r.by == s.bot.ID && !r.deleted && r.only == user {
			list = append(list, s.onShow(r))
		}
	}
	return list
}

func (s *workspace) onShow(r *record) Shown {
	shown := Shown{Message: r.Message, Seen: s.unescape(r.shown()), Only: r.only, Edits: len(r.before)}
	if len(r.Blocks) > 0 {
		shown.Seen = r.shown()
	}
	for _, b := range r.buttons() {
		shown.Buttons = append(shown.Buttons, b.Text.Text)
	}
	return shown
}

// AddSilent puts a message into a conversation that the app is not told of, as one from
// before it came.
func (s *workspace) AddSilent(channel, user, text string) (m Message) {
	s.Change(func() {
		r := &record{Message: Message{User: user, Team: s.users[user].Team, Text: s.escape(text)}, by: user}
		s.put(s.places[channel], r)
		m = r.Message
	})
	return m
}
