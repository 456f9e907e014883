// Package browsers knows which browsers are signed in to the page, and as whom: a browser has a secret in its cookie, of which a
// hash is kept. It is signed in by a link or a code, each good once and for ten minutes, or by an API token.
package browsers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/router/core"
)

const (
	// Lives is how long a browser stays signed in that is not used.
	Lives = 30 * 24 * time.Hour
	// LinkLives is how long a link or a code is good.
	LinkLives = 10 * time.Minute
	// usedEvery is how often at most it is noted that a browser was used.
	usedEvery = time.Hour
	// askEvery is how often at most a person is sent a code, and askMost how many in an hour: anybody can ask for one.
	askEvery, askMost = time.Minute, 3
	// Most is how many browsers a person can be signed in with: by one more, the one used longest ago goes.
	Most = 50
	// aboutLong bounds what a browser calls itself, in bytes.
	aboutLong = 300
)

// A Browser is one that is signed in.
type Browser struct {
	ID        int64     `json:"id,string"`
	Person    string    `json:"person"`
	About     string    `json:"about"` // what it calls itself; outside text
	Token     []byte    `json:"-"`     // the hash of the API token that signed it in, and with which it ends; nil: none did
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"` // to an hour
	ExpiresAt time.Time `json:"expires_at"`
}

// ErrNotSignedIn says that a secret opens nothing: it is nobody's, or was ended, or is too old.
var ErrNotSignedIn = errors.New("nobody is signed in")

// A Store keeps them.
type Store interface {
	// FindBrowser is the one whose secret has that hash. core.ErrNotFound: there is none, or its person is none any more.
	FindBrowser(ctx context.Context, hash []byte) (*Browser, error)
	// Browsers lists those of a person, the one used last first.
	Browsers(ctx context.Context, person string) ([]Browser, error)
	// BrowserUsed notes that one was used, and until when it is good now.
	BrowserUsed(ctx context.Context, id int64, until time.Time) error
	// ProposeSignIn keeps what signs a person in once, by its hash. Those that are too old go.
	ProposeSignIn(ctx context.Context, person string, hash []byte, until time.Time) error
	// SignInOf is the person whom what has that hash signs in; nothing is used up. core.ErrNotFound.
	SignInOf(ctx context.Context, hash []byte) (string, error)
}

// A Changer makes changes, with their audit rows.
type Changer interface {
	Change(ctx context.Context, change core.Change, by core.Actor) error
}

// A Service knows the browsers. Its methods may be called from several goroutines at once.
type Service struct {
	Store   Store
	Changer Changer
	// Tell says something to a person in the chat of a platform that they used last, once by the key. False: they have none.
	Tell func(ctx context.Context, person, key, text string) (bool, error)
	Log  *slog.Logger

	mu    sync.Mutex
	used  map[int64]time.Time
	asked map[string][]time.Time // when each person was sent codes
}

// Hash is what is kept of a secret, which has enough random bits to need no slow one.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte("browser\x00" + secret))
	return sum[:]
}

// Find is the browser with that secret. ErrNotSignedIn; another error says that the database cannot be asked now. It asks the
// database each time: what was ended, on whichever engine, opens nothing from then on.
func (s *Service) Find(ctx context.Context, secret string) (*Browser, error) {
	b, err := s.Store.FindBrowser(ctx, Hash(secret))
	if errors.Is(err, core.ErrNotFound) {
		return nil, ErrNotSignedIn
	} else if err != nil {
		return nil, err
	}
	now := time.Now()
	if !b.ExpiresAt.After(now) {
		return nil, ErrNotSignedIn
	}
	s.note(ctx, b, now)
	return b, nil
}

// note writes that a browser was used. That it cannot is no reason to refuse anything.
func (s *Service) note(ctx context.Context, b *Browser, now time.Time) {
	s.mu.Lock()
	due := now.Sub(b.UsedAt) >= usedEvery && now.Sub(s.used[b.ID]) >= usedEvery
	if due {
		if s.used == nil {
			s.used = map[int64]time.Time{}
		}
		s.used[b.ID] = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.Store.BrowserUsed(ctx, b.ID, now.Add(Lives)); err != nil {
		s.Log.WarnContext(ctx, "the use of a browser could not be noted", "browser", b.ID, "error", err)
	}
}

// Link makes the secret of a link that signs a person in.
func (s *Service) Link(ctx context.Context, person string, by core.Actor) (secret string, err error) {
	secret = strings.ToLower(rand.Text() + rand.Text())
	c := &Change{Kind: MakeLink, Browser: Browser{Person: person, ExpiresAt: time.Now().Add(LinkLives)}, Used: Hash(linkOf(secret))}
	return secret, s.Changer.Change(ctx, c, by)
}

// LinkOf is the person whom the secret of a link signs in; it stays good. ErrNotSignedIn.
func (s *Service) LinkOf(ctx context.Context, secret string) (string, error) {
	person, err := s.Store.SignInOf(ctx, Hash(linkOf(secret)))
	if errors.Is(err, core.ErrNotFound) {
		err = ErrNotSignedIn
	}
	return person, err
}

// Ask sends a person a code, in the chat of a platform that they used last: on the page only who is signed in would read it, and a
// program that may read alone would be more by it. Whoever asks learns nothing of whether there is one.
func (s *Service) Ask(ctx context.Context, person *core.Person) {
	if person == nil || !s.due(person.Name, time.Now()) {
		return
	}
	code := rand.Text()[:codeLong]
	err := s.Store.ProposeSignIn(ctx, person.Name, Hash(codeOf(person.Name, code)), time.Now().Add(LinkLives))
	if err == nil {
		_, err = s.Tell(ctx, person.Name, "signin:"+code, fmt.Sprintf("Your code for the page is `%s-%s`. It is good for ten minutes, once. If you did not ask for it, ignore it, and give it to nobody.", code[:4], code[4:]))
	}
	if err != nil {
		s.Log.WarnContext(ctx, "no code for the page could be sent", "person", person.Name, "error", err)
	}
}

// due says whether a person may be sent a code now, and counts it.
func (s *Service) due(person string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string][]time.Time{}
	}
	lately := slices.DeleteFunc(s.asked[person], func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	due := len(lately) < askMost && (len(lately) == 0 || now.Sub(lately[len(lately)-1]) >= askEvery)
	if due {
		lately = append(lately, now)
	}
	s.asked[person] = lately
	return due
}

// codeLong is how many letters of 5 bits a code has: with ten tries a minute nobody guesses one in ten minutes.
const codeLong = 8

// linkOf is the secret of a link, as it is hashed: a code, which can be guessed, is good as a code alone.
func linkOf(secret string) string { return "link\x00" + secret }

// codeOf is a person's code, as it is hashed.
func codeOf(person, code string) string {
	return "code\x00" + person + "\x00" + strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
}

// ByLink signs a browser in by the secret of a link, which is used up. ErrNotSignedIn.
func (s *Service) ByLink(ctx context.Context, secret, about string) (string, *Browser, error) {
	return s.signIn(ctx, &Change{Kind: SignIn, Used: Hash(linkOf(secret))}, about, core.Actor{Rule: RuleLink})
}

// ByCode signs a browser in by a code that a person was sent, which is used up. ErrNotSignedIn.
func (s *Service) ByCode(ctx context.Context, person, code, about string) (string, *Browser, error) {
	return s.signIn(ctx, &Change{Kind: SignIn, Used: Hash(codeOf(person, code))}, about, core.Actor{Rule: RuleCode})
}

// ByToken signs a browser in as the person of an API token of that name and hash.
func (s *Service) ByToken(ctx context.Context, person, token string, hash []byte, about string) (string, *Browser, error) {
	return s.signIn(ctx, &Change{Kind: SignIn, Browser: Browser{Person: person, Token: hash}}, about, core.Actor{Person: person, Rule: "token:" + token})
}

func (s *Service) signIn(ctx context.Context, c *Change, about string, by core.Actor) (secret string, b *Browser, err error) {
	if c.Used != nil { // for the audit row
		if by.Person, err = s.Store.SignInOf(ctx, c.Used); errors.Is(err, core.ErrNotFound) {
			return "", nil, ErrNotSignedIn
		} else if err != nil {
			return "", nil, err
		}
	}
	secret = strings.ToLower(rand.Text() + rand.Text())
	c.Hash, c.Browser.About, c.Browser.ExpiresAt = Hash(secret), strings.ToValidUTF8(about[:min(len(about), aboutLong)], ""), time.Now().Add(Lives)
	err = s.Changer.Change(ctx, c, by)
	if errors.Is(err, core.ErrNotFound) {
		err = ErrNotSignedIn
	}
	return secret, &c.Browser, err
}

// End ends a browser of a person, or every one of theirs where id is 0. core.ErrNotFound: they have none of that number.
func (s *Service) End(ctx context.Context, id int64, person string, by core.Actor) error {
	return s.Changer.Change(ctx, &Change{Kind: SignOut, Browser: Browser{ID: id, Person: person}}, by)
}
