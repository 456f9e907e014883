package slack

import (
	"fmt"
	"time"

	"switchboard/secrets"
)

// A rejection is how the platform rejected the credentials. That may pass, as a platform
// that is ill rejects good ones too: they are tried again, seldom.
type rejection struct {
	bot, app secrets.Secret
	known    bool      // the platform greeted the bot with them once: then they are tried sooner
	err      error     // of the latest rejection; nil: there is none
	times    int       // since a connection was well
	next     time.Time // when they are tried again
}

func (r *rejection) of(acc credentials) bool { return r.bot == acc.bot && r.app == acc.app }

// rests is the error that Run returns at once, without I/O, because the platform rejected
// the credentials lately.
func (c *Client) rests(acc credentials, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.refused
	if !r.of(acc) || r.err == nil || !now.Before(r.next) {
		return nil
	}
	return fmt.Errorf("%w; they are tried again when they change, and every %s", r.err, c.pace.rejected)
}

// rejected notes that the platform rejected the credentials.
func (c *Client) rejected(acc credentials, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.refused
	if !r.of(acc) {
		*r = rejection{bot: acc.bot, app: acc.app}
	}
	wait := c.pace.rejected
	if r.known && r.times < len(c.pace.rejectedKnown) {
		wait = c.pace.rejectedKnown[r.times]
	}
	r.err, r.times, r.next = err, r.times+1, now.Add(wait)
}

// greeted notes that the platform knows the credentials.
func (c *Client) greeted(acc credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused.of(acc) {
		c.refused = rejection{bot: acc.bot, app: acc.app}
	}
	c.refused.known = true
}

// served notes that events come: an earlier rejection is over.
func (c *Client) served(acc credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = rejection{bot: acc.bot, app: acc.app, known: true}
}
