package engine

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"

	web "switchboard/channels/api"
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

// Address is where the HTTP API is; empty: no port is open.
func (e *Engine) Address() string {
	if e.tcp == nil {
		return ""
	}
	return e.tcp.Address()
}

// door is how the API is reached from elsewhere, by the settings as they are now.
func (e *Engine) door() web.Door {
	return web.Door{
		Tokens: e.tokens,
		Hosts: func() (names []string) {
			s := e.settings.Now().Server
			if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" {
				names = append(names, strings.ToLower(u.Hostname()))
			}
			if name, _, found := strings.Cut(s.Listen, ":"); found && name != "" && name != "0.0.0.0" {
				names = append(names, strings.ToLower(name))
			}
			return names
		},
		Proxies: func() (list []netip.Prefix) {
			for _, cidr := range e.settings.Now().Server.TrustedProxies {
				if p, err := netip.ParsePrefix(cidr); err == nil {
					list = append(list, p)
				}
			}
			return list
		},
	}
}
