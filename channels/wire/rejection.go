package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
)

// A Rejection is how the platform rejected a channel's credentials. That may pass: a
// platform that is ill, or a proxy before it, rejects good ones. So they are tried again,
// seldom, and nothing is asked in between. Its methods may be called from several goroutines
// at once.
type Rejection struct {
	// Every is the time after which rejected credentials are tried again; of those that the
	// platform knew, Known are the first ones.
	Every time.Duration
	Known []time.Duration

	mu sync.Mutex
	standing
}

// A standing is what is known of credentials.
type standing struct {
	secret secrets.Secret
	known  bool      // the platform greeted the bot with them once
	err    error     // of the latest rejection; nil: there is none
	times  int       // since the platform served the bot last
	next   time.Time // when they are tried again; zero: never
}

// NewRejection makes one of nothing yet: credentials are tried again every 5 min, and those
// that the platform knew after 15 s and 30 s first.
func NewRejection() *Rejection {
	return &Rejection{Every: 5 * time.Minute, Known: []time.Duration{15 * time.Second, 30 * time.Second}}
}

// Try calls run, which connects with the credentials in secret and blocks, and returns its
// error; nil when ctx ended it. While they rest, it returns the error of the rejection
// at once; after channels.ErrStopped always, until there are others.
func (r *Rejection) Try(ctx context.Context, secret secrets.Secret, run func() error) error {
	if err := r.rests(secret); err != nil {
		return err
	}
	err := run()
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, channels.ErrUnauthorized) || errors.Is(err, channels.ErrStopped) {
		r.note(secret, func() { r.rejected(err) })
	}
	return err
}

func (r *Rejection) rests(secret secrets.Secret) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.secret != secret || r.err == nil:
		return nil
	case r.next.IsZero():
		return r.err
	case !time.Now().Before(r.next):
		return nil
	}
	return fmt.Errorf("%w; it is tried again when the credentials change, and every %s", r.err, r.Every)
}

// rejected is called under the lock.
func (r *Rejection) rejected(err error) {
	if r.err = err; !errors.Is(err, channels.ErrUnauthorized) {
		r.next = time.Time{}
		return
	}
	wait := r.Every
	if r.known && r.times < len(r.Known) {
		wait = r.Known[r.times]
	}
	r.times, r.next = r.times+1, time.Now().Add(wait)
}

// note calls do under the lock; what was known of other credentials is forgotten.
func (r *Rejection) note(secret secrets.Secret, do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secret != secret {
		r.standing = standing{secret: secret}
	}
	do()
}

// Greeted notes that the platform knows the credentials.
func (r *Rejection) Greeted(secret secrets.Secret) { r.note(secret, func() { r.known = true }) }

// Served notes that the platform tells events for the credentials: an earlier rejection is
// over.
func (r *Rejection) Served(secret secrets.Secret) {
	r.note(secret, func() { r.standing = standing{secret: secret, known: true} })
}
