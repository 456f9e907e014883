package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentinels that Models.Complete returns wrapped; test with errors.Is. What somebody has
// to set right comes as a *SetupError around one of them.
var (
	// ErrUnknownModel: the name is no alias and its first segment no provider, or
	// the provider does not know the model.
	ErrUnknownModel = errors.New("unknown model")
	// ErrNoKey: a role names a provider that has no key.
	ErrNoKey = errors.New("no key for this provider")
	// ErrContextTooLong: the prompt does not fit the model.
	ErrContextTooLong = errors.New("prompt too long for the model")
	// ErrUnauthorized: the provider rejected the key.
	ErrUnauthorized = errors.New("the provider rejected the key")
	// ErrNoCredit: the account at the provider is empty, or its quota used up.
	ErrNoCredit = errors.New("no credit at the provider")
	// ErrStalled: nothing came within the time; the next model may be tried.
	ErrStalled = errors.New("the model did not answer in time")
	// ErrRefused: the provider or the model refused this very request; trying the
	// same again does not help.
	ErrRefused = errors.New("the request was refused")
	// ErrNotAvailable: the settings name something this build does not have.
	ErrNotAvailable = errors.New("not available in this build")
	// ErrUnavailable: network fault, 5xx, or an answer that is no answer
	// (empty, truncated, not JSON); trying again may help.
	ErrUnavailable = errors.New("the model is not available")
	// ErrAway is an ErrUnavailable that passes by itself: no connection, one that broke off,
	// 408 or 5xx. The same request may be answered in a minute.
	ErrAway = fmt.Errorf("%w for now", ErrUnavailable)
)

// Away says that an error of Complete passes by itself: ErrAway, ErrStalled, a
// *RateLimitError, or the end of the time that the caller gave the call.
func Away(err error) bool {
	_, limited := errors.AsType[*RateLimitError](err)
	return limited || errors.Is(err, ErrAway) || errors.Is(err, ErrStalled) || errors.Is(err, context.DeadlineExceeded)
}

// An answerError is an ErrUnavailable whose server answered: what is wrong with its answer.
type answerError string

func (e answerError) Error() string { return "the model answers, but " + string(e) }

func (e answerError) Is(target error) bool { return target == ErrUnavailable }

// RateLimitError is returned when the provider said 429, or 5xx with a Retry-After,
// after the retries the client makes by itself.
type RateLimitError struct {
	RetryAfter time.Duration // zero if the provider gave none
	Err        error
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("the provider limits the rate, retry after %s: %v", e.RetryAfter, e.Err)
}

func (e *RateLimitError) Unwrap() error { return e.Err }

// A SetupError says that no call can succeed until somebody changes the settings, the
// provider's account or its server. Reason and Fix are for an administrator to read,
// half a sentence each; they hold no credential and nothing of the provider's words,
// which are in Err beside one of this package's sentinels.
type SetupError struct {
	Reason string // what is wrong
	Fix    string // what to do, naming the setting
	Err    error
}

func (e *SetupError) Error() string { return e.Err.Error() + "; " + e.Fix }

func (e *SetupError) Unwrap() error { return e.Err }

// setup makes a SetupError.
func setup(reason, fix string, err error) error { return &SetupError{reason, fix, err} }

// setKey is how to give the provider a key.
func (p *provider) setKey() string {
	key := "llm.providers." + p.name + ".api_key"
	switch from, name, _ := strings.Cut(p.keyFrom, ":"); from {
	case "env":
		return fmt.Sprintf("set the variable %s (%s) to a valid key", name, key)
	case "file":
		return fmt.Sprintf("write a valid key into %s (%s)", name, key)
	case "secret":
		return fmt.Sprintf("set the secret %s (%s) to a valid key: switchboard secret set %s", name, key, name)
	}
	return "set " + key + " to a valid key"
}

// setModel is where the model's name stands.
func (t target) setModel(role string) string {
	if t.alias != "" {
		return "llm.models." + t.alias + ".model"
	}
	return cmp.Or(t.provider.named[t.provider.name+"/"+t.id], "agent."+role)
}
