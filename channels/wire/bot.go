package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
)

const (
	// CallTimeout bounds a call.
	CallTimeout = 30 * time.Second
	// UploadTimeout bounds a call that carries files.
	UploadTimeout = 10 * time.Minute
	// connections are how many are kept open while idle.
	connections = 64
)

// A Token is one of a bot's credentials.
type Token struct {
	Setting string
	Shape   *regexp.Regexp // what does not look so is not sent
	Wrong   string         // what is said of it
}

// Tokens are all credentials of a bot.
type Tokens []Token

// Check says whether s looks like the token of that setting. The error does not repeat it.
func (ts Tokens) Check(setting string, s secrets.Secret) error {
	i := slices.IndexFunc(ts, func(t Token) bool { return t.Setting == setting })
	if i < 0 || ts[i].Shape.MatchString(s.Reveal()) {
		return nil
	}
	return errors.New(ts[i].Wrong)
}

// A Login is a library's client L for the tokens as they are now.
type Login[L any] struct {
	Token secrets.Secret // the first one
	All   secrets.Secret // all as one
	Lib   L
}

// A Bot is an account on a platform that is called through a library's client L. Its methods may
// be called from several goroutines at once.
type Bot[L any] struct {
	Log     *slog.Logger
	API     string // its address, without a slash at its end
	Wire    *Transport
	Refused *Rejection
	// Library makes the library's client. It does no I/O.
	Library func(tokens []secrets.Secret) (L, error)

	name, kind string
	tokens     Tokens
	settings   []*channels.Credential // of the tokens

	mu    sync.Mutex
	login Login[L] // of the tokens as they were last read
	made  bool
}

// NewBot makes a bot with its tokens in settings. Its Library is set before it is used.
func NewBot[L any](kind, name, api string, log *slog.Logger, tokens Tokens, settings ...*channels.Credential) *Bot[L] {
	return &Bot[L]{
		name: name, kind: kind, Log: log.With("channel", name), API: strings.TrimRight(api, "/"),
		Wire: New(connections), Refused: NewRejection(), tokens: tokens, settings: settings,
	}
}

// Name is the channel's, as in channels.Channel.
func (b *Bot[L]) Name() string { return b.name }

// Kind is the platform's, as in channels.Channel.
func (b *Bot[L]) Kind() string { return b.kind }

// Login reads the tokens and makes the library's client where they changed. It does no I/O besides
// reading them.
func (b *Bot[L]) Login() (Login[L], error) {
	given := make([]secrets.Secret, len(b.settings))
	for i, setting := range b.settings {
		var err error
		if given[i], err = setting.Read(); err != nil {
			return Login[L]{}, fmt.Errorf("%s: %w", b.tokens[i].Setting, err)
		}
	}
	all := given[0]
	for _, s := range given[1:] {
		all += " " + s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.made && b.login.All == all {
		return b.login, nil
	}
	for i, s := range given {
		if err := b.tokens.Check(b.tokens[i].Setting, s); err != nil {
			return Login[L]{}, fmt.Errorf("%s: %w: %w", b.tokens[i].Setting, channels.ErrUnauthorized, err)
		}
	}
	lib, err := b.Library(given)
	if err != nil {
		return Login[L]{}, fmt.Errorf("%s: %w", b.tokens[0].Setting, err)
	}
	b.login, b.made = Login[L]{Token: given[0], All: all, Lib: lib}, true
	return b.login, nil
}

// Known are the first tokens that texts may hold: as last used, and as given now.
func (b *Bot[L]) Known() []secrets.Secret {
	now, _ := b.settings[0].Read()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc([]secrets.Secret{b.login.Token, now}, func(s secrets.Secret) bool { return s == "" })
}

// Run calls connect, which blocks, with the tokens as they are now, unless the platform rejected
// them a moment ago.
func (b *Bot[L]) Run(ctx context.Context, connect func(Login[L]) error) error {
	login, err := b.Login()
	if err != nil {
		return err
	}
	return b.Refused.Try(ctx, login.All, func() error { return connect(login) })
}

// Call makes one call through the library, of which x is to know; what the library makes of the
// answer does not matter. limit, if any, says whether the call may be made now. An error says that it
// was not made.
func (b *Bot[L]) Call(ctx context.Context, op string, within time.Duration, x *Exchange, limit func() error, do func(context.Context, L) error) error {
	login, err := b.Login()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if limit != nil {
		if err := limit(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(x.In(ctx), within)
	defer cancel()
	x.Library = do(ctx, login.Lib)
	return nil
}

// With is the call of one of a library's methods.
func With[L, P, R any](method func(L, context.Context, P) (R, error), params P) func(context.Context, L) error {
	return func(ctx context.Context, lib L) error {
		_, err := method(lib, ctx, params)
		return err
	}
}

// Answer reads what a call was answered.
func Answer[T any](op string, raw []byte) (answer T, err error) {
	if err = json.Unmarshal(raw, &answer); err != nil {
		err = fmt.Errorf("%s: read the answer: %w", op, err)
	}
	return answer, err
}

// TooManyRequests is a 429 without more words.
func (x *Exchange) TooManyRequests(op string) error {
	return &channels.RateLimitError{Op: op, RetryAfter: x.RetryAfter(), Err: errors.New(strings.ToLower(http.StatusText(http.StatusTooManyRequests)))}
}

// Refused is an error reply of a known kind, in the platform's words.
func Refused(op string, kind error, words string) error {
	return fmt.Errorf("%s: %w: %s", op, kind, words)
}

// Err is the error of a library's method, behind results that do not matter.
func Err(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}
