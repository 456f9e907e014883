package slacktest

import (
	"net/http"
	"slices"
	"strings"

	"switchboard/channels/platformtest"
)

// calls are what the app asks the platform to do.
type calls struct {
	*events
	statuses map[string]string // of agent sessions, by channel and thread
	limits   limiter
}

// A method is one of the Web API: which token and scope it needs, how often it may be
// called, and what it does, under the lock.
type method struct {
	scope string // empty: none; "app": an app-level token
	tier  int    // calls a minute; 0: special
	do    func(s *calls, p *params) (map[string]any, *Rejection)
}

// methods are all that the platform knows here. Tiers are calls a minute.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits, and each method's page.
var methods = map[string]method{
	"auth.test":                    {"", 600, (*calls).authTest},
	"apps.connections.open":        {"app", 50, (*calls).openConnection},
	"chat.postMessage":             {"chat:write", 0, (*calls).postMessage},
	"chat.postEphemeral":           {"chat:write", 100, (*calls).postEphemeral},
	"chat.update":                  {"chat:write", 50, (*calls).update},
	"chat.delete":                  {"chat:write", 50, (*calls).deleteMessage},
	"conversations.history":        {"history", 50, (*calls).history},
	"conversations.replies":        {"history", 50, (*calls).threadReplies},
	"conversations.info":           {"read", 50, (*calls).info},
	"conversations.open":           {"im:write", 50, (*calls).open},
	"users.info":                   {"users:read", 100, (*calls).userInfo},
	"users.conversations":          {"", 50, (*calls).ownPlaces},
	"reactions.add":                {"reactions:write", 50, (*calls).addReaction},
	"reactions.remove":             {"reactions:write", 20, (*calls).removeReaction},
	"files.getUploadURLExternal":   {"files:write", 100, (*calls).uploadURL},
	"files.completeUploadExternal": {"files:write", 100, (*calls).completeUpload},
	"files.info":                   {"files:read", 100, (*calls).fileInfo},
	"files.delete":                 {"files:write", 50, (*calls).deleteFile},
	"agents.sessions.setStatus":    {"chat:write", 50, (*calls).setStatus},
}

// serveCall serves /api/<method>.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	p, err := parse(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller went away in the middle
	}
	call := Call{Method: p.method, Values: p.values}
	s.Lock()
	s.host = r.Host
	m, known := methods[p.method]
	var rejected *Rejection
	if !known {
		rejected = &Rejection{Code: "unknown_method", Page: "https://docs.slack.dev/apis/web-api/"}
	} else {
		rejected = s.admit(m, p)
	}
	scopes := strings.Join(s.scopes, ",")
	s.Unlock()
	if rejected != nil {
		call.Rejected = rejected
	}
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		s.Lock()
		defer s.Unlock()
		if rejected := s.limit(m, p); rejected != nil {
			return nil, rejected
		}
		answer, rejected := m.do(s.calls, p)
		if rejected != nil {
			return nil, rejected
		}
		answer["ok"] = true
		w.Header().Set("X-OAuth-Scopes", scopes)
		s.Wake()
		return platformtest.Encode(answer), nil
	})
}

// admit checks the token on every call, and its scopes.
//
// Source: https://docs.slack.dev/reference/methods/auth.test "Errors".
func (s *calls) admit(m method, p *params) *Rejection {
	switch {
	case p.token == "":
		return refuse(p.method, "not_authed")
	case p.token != s.botToken && p.token != s.appToken:
		return refuse(p.method, "invalid_auth")
	case s.revoked:
		return refuse(p.method, "token_revoked")
	case (m.scope == "app") != (p.token == s.appToken):
		return refuse(p.method, "not_allowed_token_type")
	}
	needed := m.scope
	switch {
	case needed == "" || needed == "app":
		return nil
	case needed == "history" || needed == "read":
		c := s.places[p.values["channel"]]
		if c == nil {
			return nil // told below
		}
		needed = c.scope() + ":" + needed
	}
	if !slices.Contains(s.scopes, needed) {
		r := refuse(p.method, "missing_scope")
		r.Needed = needed
		return r
	}
	return nil
}

func (s *calls) authTest(p *params) (map[string]any, *Rejection) {
	if p.token == s.appToken {
		return map[string]any{"app_name": "switchboard", "app_id": s.app}, nil
	}
	return map[string]any{
		"url": s.URL() + "/", "team": "Fake", "user": s.bot.Name, "team_id": s.team, "user_id": s.bot.ID, "bot_id": s.bot.bot,
		"is_enterprise_install": false,
	}, nil
}

func (s *calls) userInfo(p *params) (map[string]any, *Rejection) {
	u := s.users[p.values["user"]]
	if u == nil {
		return nil, refuse(p.method, "user_not_found")
	}
	return map[string]any{"user": u}, nil
}

// statusNames are what an agent session may be.
var statusNames = []string{"active", "processing", "suspended", "closed"}

// setStatus sets an agent session's status.
//
// Source: https://docs.slack.dev/reference/methods/agents.sessions.setStatus.
func (s *calls) setStatus(p *params) (map[string]any, *Rejection) {
	status, channel, thread := p.values["status"], p.values["channel_id"], p.values["thread_ts"]
	switch {
	case !slices.Contains(statusNames, status):
		return nil, refuse(p.method, "invalid_arguments", "status ", status)
	case !slices.Contains(s.scopes, "assistant:write"):
		return nil, refuse(p.method, "not_allowed", "the app is no agent")
	case s.places[channel] == nil:
		return nil, refuse(p.method, "channel_not_found")
	case thread == "" || s.places[channel].find(thread) == nil:
		return nil, refuse(p.method, "invalid_thread_ts")
	}
	s.statuses[channel+"/"+thread] = status
	return map[string]any{"status": status}, nil
}

// Status is that of the agent session of a thread; empty: there is none.
func (s *calls) Status(channel, thread string) string {
	s.Lock()
	defer s.Unlock()
	return s.statuses[channel+"/"+thread]
}
