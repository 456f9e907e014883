//go:build soak

package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/store/storetest"
)

// TestSoakThreePlatforms is two engines on one PostgreSQL that serve Telegram, Slack and
// Discord at once, while the platforms fail at random and engines are killed, stopped and
// frozen. Each bot has one connection, and that of a killed engine is replaced soon.
func TestSoakThreePlatforms(t *testing.T) {
	t.Parallel()
	inner, deadline := soakOf(t, 20*time.Minute)
	three := newThreePlatforms(inner)
	inner.people, inner.pause, inner.burst = three, 600*time.Millisecond, 3*len(three.places)*crashUsers
	s := soakEngines(inner, storetest.NewServer(t))
	s.fleet.up()
	happened, slowest := map[string]int{}, time.Duration(0)
	for round := 1; time.Now().Before(deadline); round++ {
		s.faults.Store(true)
		s.busy(soakRound)
		victim := s.any()
		switch name := [...]string{"kill", "holder", "stop", "freeze"}[s.random.IntN(4)]; name {
		case "holder":
			if holder := s.fleet.holder("slack"); holder != nil {
				victim = holder
			}
			fallthrough
		case "kill":
			happened[name]++
			slowest = max(slowest, three.kill(s, victim))
			s.busy(soakRound / 2)
			victim.up()
		case "stop":
			happened[name]++
			victim.stop()
			s.busy(soakRound)
			victim.up()
		case "freeze":
			happened[name]++
			victim.freeze()
			s.busy(time.Duration(s.random.Int64N(int64(20 * time.Second))))
			victim.thaw()
		}
		for _, m := range s.fleet.engines {
			m.mustLive()
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
	telegram *telegramPlace
	slack    *slackPlace
	discord  *discordPlace
	places   []place
}

// newThreePlatforms adds the platforms to the settings. Every tenth answer to a text is lost on
// Slack and Discord; of all other calls a few fail while faults are on.
func newThreePlatforms(s *soak) *threePlatforms {
	p := &threePlatforms{telegram: newTelegramPlace(s.t, false), slack: newSlackPlace(s.t, true), discord: newDiscordPlace(s.t, true)}
	p.places = []place{p.telegram, p.slack, p.discord}
	for i, place := range p.places {
		s.rig.append(strings.ReplaceAll(place.settings(), `name = "u`, fmt.Sprintf(`name = "p%d_`, i)))
	}
	fault := platformtest.BadGateway(-1)
	fault.When = func(platformtest.Call) bool { return s.faults.Load() && rand.IntN(100) == 0 }
	p.telegram.server.Break(fault)
	p.slack.server.Break(fault)
	p.discord.server.Break(fault)
	return p
}

// say lets each person write three times before the next one on the same platform does.
func (p *threePlatforms) say(n int, text string) {
	place := p.places[n%len(p.places)]
	place.say(n/len(p.places)/3%crashUsers, text)
}

func (p *threePlatforms) drop() {
	p.slack.server.DropSockets()
	p.discord.server.DropGateway()
}

func (p *threePlatforms) pending() bool {
	return slices.ContainsFunc(p.places, place.pending)
}

func (p *threePlatforms) shown() map[string][]string {
	texts := map[string][]string{}
	for i, place := range p.places {
		for user := range crashUsers {
			texts[fmt.Sprintf("%d/%d", i, user)] = place.shown(user)
		}
	}
	return texts
}

// kill kills an engine, waits until each platform has a connection again, and says how long
// that took.
func (p *threePlatforms) kill(s *soakTwo, victim *member) time.Duration {
	polling := s.fleet.holder("telegram") != victim
	victim.kill()
	began := time.Now()
	s.rig.await("each platform has a connection again", patience, func() bool {
		calls := p.telegram.server.Calls("getUpdates")
		polling = polling || len(calls) > 0 && calls[len(calls)-1].At.After(began)
		return polling && p.slack.server.Sockets() > 0 && p.discord.server.Connected()
	})
	took := time.Since(began)
	if took > 30*time.Second {
		s.t.Errorf("a killed holder was replaced after %s", took)
	}
	return took
}

// one wants one connection for each bot.
func (p *threePlatforms) one(s *soakTwo) {
	s.rig.await("each bot has one connection", patience, func() bool {
		return p.slack.server.Sockets() == 1 && p.discord.server.Connections() == 1
	})
}
