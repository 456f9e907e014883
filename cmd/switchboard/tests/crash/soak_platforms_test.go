//go:build soak

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// TestSoakThreePlatforms is two engines on one PostgreSQL that serve Telegram, Slack and
// Discord at once, while the platforms fail at random and engines are killed, stopped and
// frozen. Each bot has one connection, and that of a killed engine is replaced soon.
func TestSoakThreePlatforms(t *testing.T) {
	t.Parallel()
	inner, deadline := soakOf(t, 20*time.Minute)
	three := newThreePlatforms(inner)
	inner.people, inner.pause, inner.burst = three, 600*time.Millisecond, 3*len(three.places)*programtest.Users
	s := soakEngines(inner, storetest.NewServer(t))
	s.fleet.Up()
	happened, slowest := map[string]int{}, time.Duration(0)
	for round := 1; time.Now().Before(deadline); round++ {
		s.faults.Store(true)
		s.busy(soakRound)
		victim := s.any()
		switch name := [...]string{"kill", "holder", "stop", "freeze"}[s.random.IntN(4)]; name {
		case "holder":
			if holder := s.fleet.Holder("slack"); holder != nil {
				victim = holder
			}
			fallthrough
		case "kill":
			happened[name]++
			slowest = max(slowest, three.kill(s, victim))
			s.busy(soakRound / 2)
			victim.Up()
		case "stop":
			happened[name]++
			victim.Stop()
			s.busy(soakRound)
			victim.Up()
		case "freeze":
			happened[name]++
			victim.Freeze()
			s.busy(time.Duration(s.random.Int64N(int64(20 * time.Second))))
			victim.Thaw()
		}
		for _, m := range s.fleet.Engines {
			m.MustLive()
		}
		if round%5 == 0 {
			s.calm(3 * time.Minute)
			three.one(s)
			s.rest()
		}
	}
	s.calm(5 * time.Minute)
	three.one(s)
	s.leaks()
	s.check()
	three.one(s)
	t.Logf("%d messages; %v; the slowest replacement of a killed holder took %s", s.written, happened, slowest.Round(time.Millisecond))
}

// threePlatforms are people on Telegram, Slack and Discord.
type threePlatforms struct {
	telegram *programtest.TelegramPlace
	slack    *programtest.SlackPlace
	discord  *programtest.DiscordPlace
	places   []programtest.Place
}

// newThreePlatforms adds the platforms to the settings. Every tenth answer to a text is lost on
// Slack and Discord; of all other calls a few fail while faults are on.
func newThreePlatforms(s *soak) *threePlatforms {
	p := &threePlatforms{telegram: programtest.NewTelegramPlace(s.t, false), slack: programtest.NewSlackPlace(s.t, true), discord: programtest.NewDiscordPlace(s.t, true)}
	p.places = []programtest.Place{p.telegram, p.slack, p.discord}
	for i, place := range p.places {
		s.rig.Append(strings.ReplaceAll(place.Settings(), `name = "u`, fmt.Sprintf(`name = "p%d_`, i)))
	}
	fault := platformtest.BadGateway(-1)
	fault.When = func(platformtest.Call) bool { return s.faults.Load() && rand.IntN(100) == 0 }
	p.telegram.Server.Break(fault)
	p.slack.Server.Break(fault)
	p.discord.Server.Break(fault)
	return p
}

// say lets each person write three times before the next one on the same platform does.
func (p *threePlatforms) say(n int, text string) {
	place := p.places[n%len(p.places)]
	place.Say(n/len(p.places)/3%programtest.Users, text)
}

func (p *threePlatforms) drop() {
	p.slack.Server.DropSockets()
	p.discord.Server.DropGateway()
}

func (p *threePlatforms) pending() bool {
	return slices.ContainsFunc(p.places, programtest.Place.Pending)
}

func (p *threePlatforms) shown() map[string][]string {
	texts := map[string][]string{}
	for i, place := range p.places {
		for user := range programtest.Users {
			texts[fmt.Sprintf("%d/%d", i, user)] = place.Shown(user)
		}
	}
	return texts
}

// kill kills an engine, waits until each platform has a connection again, and says how long
// that took.
func (p *threePlatforms) kill(s *soakTwo, victim *programtest.Member) time.Duration {
	polling := s.fleet.Holder("telegram") != victim
	victim.Kill()
	began := time.Now()
	s.rig.Await("each platform has a connection again", programtest.Patience, func() bool {
		calls := p.telegram.Server.Calls("getUpdates")
		polling = polling || len(calls) > 0 && calls[len(calls)-1].At.After(began)
		return polling && p.slack.Server.Sockets() > 0 && p.discord.Server.Connected()
	})
	took := time.Since(began)
	if took > 30*time.Second {
		s.t.Errorf("a killed holder was replaced after %s", took)
	}
	return took
}

// one wants one connection for each bot.
func (p *threePlatforms) one(s *soakTwo) {
	s.rig.Await("each bot has one connection", programtest.Patience, func() bool {
		return p.slack.Server.Sockets() == 1 && p.discord.Server.Connections() == 1
	})
}
