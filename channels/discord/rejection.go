package discord

import (
	"fmt"
	"time"

	"switchboard/secrets"
)

// A rejection is how the platform rejected a credential. That may pass, so it is tried again,
// seldom, and asked nothing in between: each try counts against the limit of invalid requests.
type rejection struct {
	secret secrets.Secret
	err    error // of the latest rejection; nil: there is none
	known  bool  // the platform greeted the bot with it once: then it is tried sooner
	times  int   // since it was greeted last
	next   time.Time
}

// rests is the error that Run returns at once, without I/O, because the platform rejected the
// credential lately.
func (c *Client) rests(secret secrets.Secret, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.refused
	if r.secret != secret || r.err == nil || !now.Before(r.next) {
		return nil
	}
	return fmt.Errorf("%w; it is tried again when the token changes, and every %s", r.err, c.pace.rejected)
}

// rejected notes that the platform rejected the credential.
func (c *Client) rejected(secret secrets.Secret, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.refused
	if r.secret != secret {
		*r = rejection{secret: secret}
	}
	wait := c.pace.rejected
	if r.known && r.times < len(c.pace.rejectedKnown) {
		wait = c.pace.rejectedKnown[r.times]
	}
	r.err, r.times, r.next = err, r.times+1, now.Add(wait)
}

// greeted notes that the platform let the bot in: an earlier rejection is over.
func (c *Client) greeted(secret secrets.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = rejection{secret: secret, known: true}
}
