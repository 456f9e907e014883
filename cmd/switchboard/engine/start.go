package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/people"
)

// What the start says: who is there, what is missing, and how the channels connect.

// People are those whom the engine knows.
func (e *Engine) People() (people []core.Person) {
	for _, p := range e.router.Roster.Everybody() {
		people = append(people, *p)
	}
	return people
}

// JobsOff says that no jobs run; empty: they do.
func (e *Engine) JobsOff() string { return e.jobs.WhenOff() }

// Platforms are the names of the engine's channels besides the console.
func (e *Engine) Platforms() (names []string) {
	for _, s := range e.router.Connections.Statuses() {
		if !access.BuiltIn(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (e *Engine) platforms() []router.Attached {
	return slices.DeleteFunc(e.router.Channels.List(), func(at router.Attached) bool { return access.BuiltIn(at.Name()) })
}

// missing says what is not set up yet.
func (e *Engine) missing() (list []string) {
	if e.settings.Now().Agent.Planner == llm.Offline {
		list = append(list, "no language model is set up; write \"help\" to see what I can do without one")
	}
	people := e.People()
	for _, at := range e.platforms() {
		if fix := access.NoAdmin(people, at.Name(), at.Config); fix != "" {
			list = append(list, at.Name()+": no admin can write there; "+fix)
		}
	}
	for _, s := range e.router.Connections.Statuses() {
		if access.InTrouble(s) {
			list = append(list, access.State(s, time.Local))
		}
	}
	return list
}

// FirstClaim makes a code while no admin can write on any platform, and says what to write on
// each channel; nothing where there is one.
func (e *Engine) FirstClaim(ctx context.Context) (string, error) {
	persons := e.People()
	var places []string
	for _, at := range e.platforms() {
		switch {
		case at.Config.DM == "disabled":
		case access.NoAdmin(persons, at.Name(), at.Config) == "":
			return "", nil
		default:
			places = append(places, at.Name())
		}
	}
	if len(places) == 0 {
		return "", nil
	}
	made, until, err := e.router.Store.OpenClaim(ctx)
	if err == nil && !until.IsZero() { // which one nobody knows here any more
		return fmt.Sprintf("to be an admin, send the bot the claim code that was printed at %s; it is good until %s. \"switchboard person claim\" prints another",
			words.At(made), words.At(until)), nil
	}
	code, err := e.router.Asking.NewClaim(ctx, "", people.LocalActor(access.Owner))
	if err != nil {
		return "", err
	}
	typed := map[string][]string{} // where it is typed so
	for _, name := range places {
		command := e.router.Connections.Connection(name).Command(channels.Conversation{Channel: name, Kind: channels.Direct}) + "claim " + code
		typed[command] = append(typed[command], name)
	}
	var ways []string
	for _, command := range slices.Sorted(maps.Keys(typed)) {
		ways = append(ways, command+" on "+strings.Join(typed[command], ", "))
	}
	return fmt.Sprintf("to be an admin, send %s to the bot in a direct chat; the code is good once, for %s", strings.Join(ways, ", or "), ClaimLive()), nil
}

// ClaimLive is for how long a claim code is good, in words.
func ClaimLive() string { return words.Count(int(people.ClaimLive.Hours()), "hour") }

const (
	// troubleTime is for how long after the start a person on the terminal is told that a
	// channel does not connect; later the log and `channel list` tell.
	troubleTime = 15 * time.Second
	statePoll   = 50 * time.Millisecond
)

// TellStart tells notes, once each, which channels are connected at the start, and which have trouble.
func (e *Engine) TellStart(ctx context.Context, notes chan<- string) {
	ctx, cancel := context.WithTimeout(ctx, troubleTime)
	defer cancel()
	told := map[string]bool{access.Console: true, access.Programs: true, access.Page: true}
	for retry.Sleep(ctx, statePoll) {
		for _, s := range e.router.Connections.Statuses() {
			text := s.Name + " is connected."
			if access.InTrouble(s) {
				text = access.State(s, time.Local)
			} else if s.State != channels.StateConnected {
				continue
			}
			if told[s.Name] {
				continue
			}
			told[s.Name] = true
			select {
			case notes <- text:
			case <-ctx.Done():
			}
		}
	}
}
