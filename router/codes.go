package router

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

const (
	// ClaimLive is how long a claim code is good.
	ClaimLive = 24 * time.Hour
	// codeTries are how many codes, of all kinds, one identity may try within codeWindow.
	codeTries  = 5
	codeWindow = time.Hour
	// codeLetters are the letters of a code, of 5 bits each: with so few tries nobody
	// guesses one.
	codeLetters = 12
	codeDigits  = "234567"
)

// NewClaim makes a code that makes whoever sends it in a direct chat an admin, once.
func (r *Router) NewClaim(ctx context.Context, by core.Actor) (code string, err error) {
	text := newCode()
	if err := r.Ledger.ProposeClaim(ctx, outbox.HashCode(text), time.Now().Add(ClaimLive), by); err != nil {
		return "", err
	}
	return hyphens(text), nil
}

// hyphens is a code as it is shown.
func hyphens(text string) string { return text[:4] + "-" + text[4:8] + "-" + text[8:] }

// newCode is a text of codeLetters, a digit among them: so it is never taken for words.
func newCode() (text string) {
	for !strings.ContainsAny(text, codeDigits) {
		text = rand.Text()[:codeLetters]
	}
	return text
}

var (
	codeShape    = regexp.MustCompile(`^[A-Z2-7]{12}$`) // of claim and link codes
	pairingShape = regexp.MustCompile(`^[A-Z2-7]{8}$`)
)

// longCode is the claim or link code that a person means; empty: it is none.
func longCode(text string) string {
	code := commands.BareCode(text)
	if !codeShape.MatchString(code) {
		return ""
	}
	return code
}

// bringsCode are the commands that a code may follow, by the kind of code; a link brings
// one of any kind by /start.
var bringsCode = map[string]string{"claim": people.ActionClaim, "link": people.ActionLink, "start": ""}

// A brought code came with a command.
type brought struct {
	kind string // see bringsCode; ActionApproval: it answers a question
	code string // empty: none
	pair bool   // it is one that a stranger was shown
	does outbox.Does
}

// hideCode takes the codes out of what is kept of a message, as of the message it answers,
// and returns that of a message which is the command that brings one.
func hideCode(m *channels.Message) (b brought) {
	if name, args, ok := command(*m); ok && !m.Elsewhere {
		if kind, brings := bringsCode[name]; brings {
			b = brought{kind: kind, code: longCode(args)}
			if pair := commands.BareCode(args); name == "start" && pairingShape.MatchString(pair) {
				b.code, b.pair = pair, true
			}
		}
	}
	m.Text, m.Quote = withoutCodes(m.Text), withoutCodes(m.Quote)
	return b
}

// hyphened finds words with their hyphens, of which a code is a whole one: it is no part of
// a UUID or of an address.
var hyphened = regexp.MustCompile(`[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*`)

const redacted = "[redacted]"

// withoutCodes is a text without the codes in it, and without all that follows a command
// that brings one, which may be a code with a slip in it.
func withoutCodes(text string) string {
	if name, args, ok := commandIn(text); ok && args != "" {
		if _, brings := bringsCode[name]; brings {
			return "/" + name + " " + redacted
		}
	}
	return hyphened.ReplaceAllStringFunc(text, func(word string) string {
		if len(word) == codeLetters+2 && word[4] == '-' && word[9] == '-' && longCode(word) != "" && strings.ContainsAny(word, codeDigits) {
			return redacted
		}
		return word
	})
}

// named says whether an entry may make its sender somebody: it comes from whom a platform
// names, in a chat with us alone.
func (l *channel) named(event *channels.Event) bool {
	return event.Kind == channels.EventMessage && l.knows(event)
}

// knows is named, also of a button that is pressed.
func (l *channel) knows(event *channels.Event) bool {
	s := &event.Sender
	return event.Conversation.Kind == channels.Direct && l.config.DM != "disabled" && !s.Bot &&
		s.ID != "" && s.Person == "" && !(s.Guest && s.Team == "")
}

// strangersAnswer is what a stranger answers to the question whether their account is to become
// somebody's, by its code or its button; no code: it is no such answer.
func (l *channel) strangersAnswer(event *channels.Event) (b brought) {
	name, args, typed := command(event.Message)
	switch {
	case !l.knows(event) || event.Message.Elsewhere:
	case event.Kind == channels.EventAction:
		b.code = event.Action.Code
	case event.Kind == channels.EventMessage && typed && (name == "approve" || name == "deny"):
		b.code, _ = commands.CodeIn(args)
		if b.does = outbox.DoesOnce; name == "deny" {
			b.does = outbox.DoesDeny
		}
	}
	b.kind = outbox.ActionApproval
	return b
}

// bring makes the entry of a code; person may be nil. Too many tries are kept like
// anything else that a stranger writes.
func (s *classifier) bring(ctx context.Context, entry classified, line *channel, person *core.Person, b brought) (classified, error) {
	identity := entry.Sender.Identity
	left := codeTries - s.tries.within(identity, time.Now()) - s.tried[identity]
	if person == nil {
		if left <= 0 {
			entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
			return entry, nil
		}
	} else if text, refused := s.refuseFast(&entry, person, 1); refused {
		return line.noticed(entry, text), nil
	} else if left <= 0 {
		return line.noticed(entry, "You have tried five codes within an hour. Please wait before you try another."), nil
	}
	s.tried[identity]++
	as := &people.CodeIntent{Code: outbox.HashCode(b.code), Kind: b.kind, Does: b.does, Identity: ownIdentity(&entry, line), Name: commands.NameFrom(entry.Event.Sender.Label)}
	entry.Intent = as
	if b.kind == people.ActionLink || b.kind == "" {
		link, err := s.Ledger.LinkOf(ctx, as.Code, entry.Sender.Person)
		if err != nil {
			return entry, err
		} else if link != nil {
			s.askLink(&entry, as, link)
		}
	}
	return entry, nil
}

// ownIdentity is what a sender is to be known by.
func ownIdentity(entry *classified, line *channel) string {
	known := entry.Event.Sender.Identities(line.Name, line.Kind)
	if entry.Event.Sender.Team != "" {
		return known[1] // an ID without its team may be somebody else's on another channel
	}
	return known[len(known)-1]
}

// followCode counts a try, and has everybody know a new admin. A stranger for whom the
// code did nothing is one like any other from here on.
func (r *Router) followCode(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if _, ok := entry.Intent.(*people.CodeIntent); !ok || acc.Duplicate {
		return
	}
	r.tries.count(entry.Sender.Identity, time.Now())
	log := r.Log.With("channel", entry.Event.Conversation.Channel, "identity", entry.Sender.Identity)
	switch {
	case acc.Admin != "":
		log.InfoContext(ctx, "a claim code made somebody an admin", "person", acc.Admin)
		entry.Sender.Person = acc.Admin
		r.learn(ctx, acc.Admin)
		r.wakeForPeople()
	case acc.Outcome == "":
		log.WarnContext(ctx, "a stranger sent a code that is not good")
		entry.Intent = &intake.AuditIntent{Why: intake.AuditStranger}
	}
}

// triedCodes remembers who tried codes within codeWindow. The zero value knows of nobody.
type triedCodes struct {
	mu    sync.Mutex
	at    map[string][]time.Time // by identity
	swept time.Time
}

// within is how many codes an identity tried lately.
func (c *triedCodes) within(identity string, now time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.at[identity] {
		if now.Sub(at) < codeWindow {
			n++
		}
	}
	return n
}

func (c *triedCodes) count(identity string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept) > time.Minute {
		c.swept = now
		for who, tries := range c.at {
			if now.Sub(tries[len(tries)-1]) >= codeWindow {
				delete(c.at, who)
			}
		}
	}
	if c.at == nil {
		c.at = map[string][]time.Time{}
	}
	tries := append(c.at[identity], now)
	c.at[identity] = tries[max(0, len(tries)-codeTries):]
}
