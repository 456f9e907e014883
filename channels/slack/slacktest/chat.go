package slacktest

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	// maxText is the longest text of a new message before it is cut, maxEdit of one that is
	// changed; in characters.
	//
	// Source: https://docs.slack.dev/reference/methods/chat.postMessage "text" and
	// https://docs.slack.dev/reference/methods/chat.update "msg_too_long".
	maxText = 40_000
	maxEdit = 4000
	// maxMetadata bounds what is kept with a message, in bytes.
	maxMetadata = 16 << 10
)

// content reads what chat.postMessage and its like are to show.
func (s *calls) content(p *params, r *record, limit int) *Rejection {
	r.Text = p.values["text"]
	blocks, rejected := s.checkBlocks(p)
	switch {
	case rejected != nil:
		return rejected
	case strings.TrimSpace(r.Text) == "" && len(blocks) == 0:
		return refuse(p.method, "no_text")
	case utf8.RuneCountInString(r.Text) > limit:
		return refuse(p.method, "msg_too_long")
	case strings.ContainsRune(r.Text, 0):
		return refuse(p.method, "invalid_arguments", "a NUL in the text")
	}
	r.Blocks = blocks
	if text := p.values["metadata"]; text != "" {
		var m Metadata
		switch err := json.Unmarshal([]byte(text), &m); {
		case err != nil || m.EventType == "" || m.EventPayload == nil:
			return refuse(p.method, "invalid_metadata_format", err)
		case len(text) > maxMetadata:
			return refuse(p.method, "metadata_too_large")
		}
		r.Metadata = &m
	}
	return nil
}

// postMessage posts as the bot.
//
// Source: https://docs.slack.dev/reference/methods/chat.postMessage.
func (s *calls) postMessage(p *params) (map[string]any, *Rejection) {
	c, rejected := s.member(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	r := s.byBot()
	if rejected := s.content(p, r, maxText); rejected != nil {
		return nil, rejected
	}
	if c.IsArchived {
		return nil, refuse(p.method, "is_archived")
	}
	if thread := p.values["thread_ts"]; thread != "" {
		root := c.root(thread)
		if root == nil {
			return nil, refuse(p.method, "thread_not_found", thread)
		}
		r.ThreadTS = root.TS
	}
	s.put(c, r)
	s.event(s.told(c, r.Message)) // an app is told of its own messages too
	return map[string]any{"channel": c.ID, "ts": r.TS, "message": r.Message}, nil
}

func (s *workspace) byBot() *record {
	return &record{Message: Message{User: s.bot.ID, BotID: s.bot.bot, AppID: s.app, Team: s.team}, by: s.bot.ID}
}

// postEphemeral shows something to one user.
//
// Source: https://docs.slack.dev/reference/methods/chat.postEphemeral.
func (s *calls) postEphemeral(p *params) (map[string]any, *Rejection) {
	c, rejected := s.member(p, "channel")
	if rejected != nil {
		return nil, rejected
	}
	if !c.members[p.values["user"]] {
		return nil, refuse(p.method, "user_not_in_channel")
	}
	r := s.byBot()
	if rejected := s.content(p, r, maxText); rejected != nil {
		return nil, rejected
	}
	r.only, r.ThreadTS = p.values["user"], p.values["thread_ts"]
	s.put(c, r)
	return map[string]any{"message_ts": r.TS}, nil
}

// own is a message of the bot that a call names.
func (s *calls) own(p *params, denied string) (*place, *record, *Rejection) {
	c, rejected := s.visible(p, "channel")
	if rejected != nil {
		return nil, nil, rejected
	}
	r := c.find(p.values["ts"])
	switch {
	case r == nil:
		return nil, nil, refuse(p.method, "message_not_found", p.values["ts"])
	case r.by != s.bot.ID:
		return nil, nil, refuse(p.method, denied)
	}
	return c, r, nil
}

// update changes a message of the bot.
//
// Source: https://docs.slack.dev/reference/methods/chat.update.
func (s *calls) update(p *params) (map[string]any, *Rejection) {
	c, r, rejected := s.own(p, "cant_update_message")
	if rejected != nil {
		return nil, rejected
	}
	now := record{}
	if rejected := s.content(p, &now, maxEdit); rejected != nil {
		return nil, rejected
	}
	before, shown := r.Message, r.shown()
	r.Text, r.Blocks = now.Text, now.Blocks
	if r.shown() != shown {
		r.before = append(r.before, shown)
	}
	if now.Metadata != nil {
		r.Metadata = now.Metadata
	}
	r.Edited = &Edited{User: s.bot.bot, TS: s.stamp()}
	s.tellChanged(c, before, r.Message)
	return map[string]any{"channel": c.ID, "ts": r.TS, "text": r.Text, "message": r.Message}, nil
}

// deleteMessage takes a message of the bot back.
//
// Source: https://docs.slack.dev/reference/methods/chat.delete.
func (s *calls) deleteMessage(p *params) (map[string]any, *Rejection) {
	c, r, rejected := s.own(p, "cant_delete_message")
	if rejected != nil {
		return nil, rejected
	}
	s.remove(c, r)
	return map[string]any{"channel": c.ID, "ts": r.TS}, nil
}

// A reply is where an app answers an interaction.
type reply struct {
	channel, user string
	thread        string
	press         string
}

// serveReply serves a response_url: an ephemeral message, here.
//
// Source: https://docs.slack.dev/interactivity/handling-user-interaction "response_url".
func (s *people) serveReply(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Text string `json:"text"`
		Type string `json:"response_type"`
	}
	to := s.replyTo(r.URL.Path)
	if to == nil || json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body) != nil {
		http.Error(w, "used_url", http.StatusNotFound)
		return
	}
	s.Change(func() {
		if a := s.answered[to.press]; a != nil {
			a.Text = body.Text
		}
		m := s.byBot()
		m.Text, m.only, m.ThreadTS = body.Text, to.user, to.thread
		if body.Type == "in_channel" {
			m.only = ""
		}
		s.put(s.places[to.channel], m)
	})
	_, _ = w.Write([]byte("ok"))
}

func (s *people) replyTo(path string) *reply {
	s.Lock()
	defer s.Unlock()
	return s.replies[path]
}
