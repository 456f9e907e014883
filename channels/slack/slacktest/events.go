package slacktest

import (
	"encoding/json"
	"time"

	"switchboard/channels/platformtest"
)

// events are what the app is told, on its sockets.
type events struct {
	*workspace
	wire     intake
	pairs    *Pair
	mentions int
}

// tellChanged tells that a message has a new state.
//
// Source: https://docs.slack.dev/reference/events/message/message_changed.
func (s *events) tellChanged(c *place, before, now Message) {
	ts := s.stamp()
	s.event(map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.ID, "channel_type": c.kind(),
		"ts": ts, "event_ts": ts, "message": now, "previous_message": before,
	})
}

// remove takes a message away and tells of it.
//
// Source: https://docs.slack.dev/reference/events/message/message_deleted.
func (s *events) remove(c *place, r *record) {
	r.deleted = true
	ts := s.stamp()
	s.event(map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.ID, "channel_type": c.kind(),
		"ts": ts, "event_ts": ts, "deleted_ts": r.TS, "previous_message": r.Message,
	})
}

// Pairs says how the app is told of posts that mention it from now on. By default the two come at
// once, each time the other one first.
func (s *events) Pairs(p Pair) { s.Change(func() { s.pairs = &p }) }

// tellTwice tells the app of a post that mentions it: as a mention, which names no files, and as a
// message, in either order.
//
// Source: https://docs.slack.dev/reference/events/app_mention, https://github.com/openclaw/openclaw/pull/34937,
// https://github.com/NousResearch/hermes-agent/pull/77141.
func (s *events) tellTwice(c *place, m Message) {
	s.mentions++
	p := Pair{Message: s.mentions%2 == 0}
	if s.pairs != nil {
		p = *s.pairs
	}
	first, second := s.told(c, m), s.told(c, m)
	mention := first
	if p.Message {
		mention = second
	}
	mention["type"] = "app_mention"
	for _, field := range []string{"channel_type", "subtype", "files", "upload"} {
		delete(mention, field)
	}
	delete(first, p.Lacks)
	s.event(first)
	switch {
	case p.Alone:
	case p.Apart == 0:
		s.event(second)
	default:
		s.Go(func() {
			select {
			case <-s.Context().Done():
			case <-time.After(p.Apart):
				s.Change(func() { s.event(second) })
			}
		})
	}
}

// tell queues something for the app. It is called under the lock.
func (s *events) tell(kind string, payload []byte, done func(json.RawMessage)) {
	for range s.wire.repeat {
		s.wire.queue = append(s.wire.queue, &envelope{id: s.id("env-"), kind: kind, payload: payload, done: done})
		if kind != "events_api" {
			return
		}
	}
}

// event tells the app of event, which came about in the workspace team.
//
// Source: https://docs.slack.dev/apis/events-api/ "Callback field".
func (s *events) event(event any) {
	s.tell("events_api", platformtest.Encode(map[string]any{
		"token": "fake", "team_id": s.team, "context_team_id": s.team, "api_app_id": s.app, "type": "event_callback",
		"event": event, "event_id": s.id("Ev"), "event_time": s.Now().Unix(),
		"authorizations": []map[string]any{{
			"enterprise_id": nil, "team_id": s.team, "user_id": s.bot.ID, "is_bot": true, "is_enterprise_install": false,
		}},
	}), nil)
}
