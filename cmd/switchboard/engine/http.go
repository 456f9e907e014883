package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"switchboard/agent/tools"
	web "switchboard/channels/api"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/plain"
	"switchboard/store/database"
)

// errNoPlace says that this engine may do nothing for now: others may have declared it dead.
var errNoPlace = errors.New("this engine cannot show the database that it lives")

// Ready implements web.Ready.
func (e *Engine) Ready(ctx context.Context) error {
	if !e.owner.Safe() {
		return errNoPlace
	}
	_, err := database.Value[int](ctx, e.db.DB, "ask whether the database answers", "SELECT 1")
	return err
}

// openPort serves the HTTP API over TCP, where this engine serves everything. Another program may have the port that
// nobody chose: then it stays closed, and the log says so.
func (e *Engine) openPort(ctx context.Context) error {
	s := e.settings.Now()
	if e.mode.Channels == nil || s.Server.Listen == "" {
		return nil
	}
	if !s.Server.Loopback() {
		if some, err := e.tokens.Any(ctx); err != nil {
			return err
		} else if !some {
			return configs.Usage(fmt.Errorf("server.listen %q can be reached from elsewhere and needs at least one token: make one with \"switchboard token create NAME\", or add [[server.tokens]]", s.Server.Listen))
		}
	}
	tcp, err := api.ListenTCP(ctx, s.Server.Listen, e.api.TCP(e.door()), e.log)
	if err != nil && s.Server.Listen == configs.Defaults().Server.Listen {
		e.log.WarnContext(ctx, "the HTTP API is off: another program has its port; what calls this port does not reach the bot", "address", s.Server.Listen, "error", err,
			"mend", "end that program, or set server.listen to another port, and start the bot again")
		return nil
	}
	e.tcp = tcp
	return err
}

// Address is where the HTTP API is; empty: no port is open.
func (e *Engine) Address() string {
	if e.tcp == nil {
		return ""
	}
	return e.tcp.Address()
}

// PageURL is where people find the page, without a slash at its end; empty: nowhere.
func (e *Engine) PageURL() string {
	s := e.settings.Now().Server
	at := cmp.Or(e.Address(), s.Listen)
	if s.PublicURL != "" || at == "" {
		return strings.TrimSuffix(s.PublicURL, "/")
	}
	return "http://" + at
}

// SignInLink makes a link that signs a person in to the page; empty: there is none.
func (e *Engine) SignInLink(ctx context.Context, person string, by core.Actor) (string, error) {
	if e.Address() == "" {
		return "", nil
	}
	secret, err := e.browsers.Link(ctx, person, by)
	return e.PageURL() + "/signin#" + secret, err
}

// door is how the API is reached from elsewhere. Names and proxies are those of the start: changes of [server] count from the next one.
func (e *Engine) door() web.Door {
	s := e.settings.Now().Server
	door := web.Door{Tokens: e.tokens, InternalToken: func() string { return e.settings.Now().Server.InternalToken.Reveal() }}
	if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" {
		door.Hosts = append(door.Hosts, strings.ToLower(u.Hostname()))
	}
	if name, _, err := net.SplitHostPort(s.Listen); err == nil && name != "" && name != "0.0.0.0" {
		door.Hosts = append(door.Hosts, strings.ToLower(name))
	}
	for _, cidr := range s.TrustedProxies {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			door.Proxies = append(door.Proxies, p)
		}
	}
	door.Page = func(visits web.Visits) http.Handler { return e.site(s.PublicURL, visits).Handler() }
	return door
}

// plain asks the model that writes the answers.
func (e *Engine) plain() *plain.Service {
	return &plain.Service{Log: e.log, Store: e.db.Router(), Settings: func() plain.Settings {
		s := e.settings.Now()
		return plain.Settings{
			Models: e.agents.now.Load().counted, Model: cmp.Or(s.Agent.Worker, s.Agent.Planner), Timeout: s.Agent.LLMTimeout, Budget: s.Limits(), Mask: s.Mask,
		}
	}}
}

// usedTools are what turns of the engine use; it is web.Tools.
type usedTools struct{ *Engine }

func (u usedTools) Tools() []tools.Tool { return u.agents.now.Load().Tools() }

func (u usedTools) Usable(person, channel string) []string {
	return u.agents.usable(tools.Question{Person: person, Channel: channel, Direct: true, Mode: u.settings.Now().Router.DefaultMode})
}

func (u usedTools) Typed(tool string, args json.RawMessage) (json.RawMessage, string, error) {
	return u.agents.typed(tool, args)
}
