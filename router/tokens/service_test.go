package tokens_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/tokens"
)

// kept is a store in memory.
type kept struct {
	mu    sync.Mutex
	by    map[string]tokens.Token // by hash
	notes int                     // of their use
	fault error                   // of noting it
}

func (k *kept) FindToken(_ context.Context, hash []byte) (*tokens.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.by[string(hash)]
	if !ok {
		return nil, core.ErrNotFound
	}
	return &t, nil
}

func (k *kept) Tokens(context.Context) (list []tokens.Token, err error) {
	for _, t := range k.by {
		list = append(list, t)
	}
	return list, nil
}

func (k *kept) TokenUsed(_ context.Context, name string, at time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes++
	for hash, t := range k.by {
		if t.Name == name && k.fault == nil {
			t.LastUsed = at
			k.by[hash] = t
		}
	}
	return k.fault
}

func service(store *kept, log *bytes.Buffer, configured *[]tokens.Configured) *tokens.Service {
	return &tokens.Service{
		Store: store, Configured: func() []tokens.Configured { return *configured },
		Mask: secrets.NewMasker(), Log: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// The settings count as they are now, and before what was made.
func TestTokensOfTheSettingsWin(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var configured []tokens.Configured
	store := &kept{by: map[string]tokens.Token{string(tokens.Hash("made")): {Name: "ci", Source: tokens.Made}}}
	s := service(store, &log, &configured)
	if found, err := s.Find(t.Context(), "made"); err != nil || found.Source != tokens.Made {
		t.Errorf("%+v, %v", found, err)
	}
	configured = []tokens.Configured{{Name: "ci", Value: "written", Scopes: []string{"read"}, People: []string{"ann"}}, {Name: "empty"}}
	found, err := s.Find(t.Context(), "written")
	if err != nil || found.Source != tokens.FromSettings || !slices.Contains(found.Scopes, "read") || found.People[0] != "ann" {
		t.Errorf("%+v, %v", found, err)
	}
	for _, secret := range []string{"made", "", "writte", "written "} {
		if _, err := s.Find(t.Context(), secret); !errors.Is(err, tokens.ErrUnknown) {
			t.Errorf("%q: %v", secret, err)
		}
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Overridden || !list[2].Overridden {
		t.Errorf("%+v, %v", list, err)
	}
	configured = nil
	if _, err := s.Find(t.Context(), "written"); !errors.Is(err, tokens.ErrUnknown) {
		t.Errorf("taken out of the settings: %v", err)
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &kept{by: map[string]tokens.Token{string(tokens.Hash("made")): {Name: "ci", ExpiresAt: time.Now().Add(time.Hour)}}}
		s := service(store, &log, new([]tokens.Configured))
		time.Sleep(time.Hour - time.Nanosecond)
		if _, err := s.Find(t.Context(), "made"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := s.Find(t.Context(), "made"); !errors.Is(err, tokens.ErrExpired) {
			t.Error(err)
		}
		if any, err := s.Any(t.Context()); any || err != nil {
			t.Error(any, err)
		}
	})
}

// Use is noted once a minute, however many calls there are at once, and a call does not fail for it.
func TestUseIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &kept{by: map[string]tokens.Token{string(tokens.Hash("made")): {Name: "ci"}}}
		s := service(store, &log, new([]tokens.Configured))
		calls := func(want int) {
			t.Helper()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if _, err := s.Find(t.Context(), "made"); err != nil {
						t.Error(err)
					}
				})
			}
			if wg.Wait(); store.notes != want {
				t.Errorf("noted %d times, want %d", store.notes, want)
			}
		}
		calls(1)
		time.Sleep(time.Minute - 1)
		calls(1)
		time.Sleep(1)
		store.fault = errors.New("the disk is full")
		calls(2)
		if !strings.Contains(log.String(), `token=ci error="the disk is full"`) || strings.Contains(log.String(), "made") {
			t.Error(log.String())
		}
	})
}

// A secret that was made is masked at once, and shown by nothing that prints or encodes its change.
func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	s := service(&kept{}, &bytes.Buffer{}, new([]tokens.Configured))
	c, err := s.Create(tokens.Token{Name: "ci", Scopes: []string{"send"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	secret := c.Secret.Reveal()
	for _, text := range []string{string(text), fmt.Sprintf("%v %+v %#v", c, c, c), s.Mask.Text("it is " + secret)} {
		if strings.Contains(text, secret) {
			t.Error(text)
		}
	}
	if action, target := c.Names(); action != "token.create" || target != "token ci" {
		t.Error(action, target)
	}
}
