package faults_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/cmd/switchboard/programtest"
)

// An outaged bot is one whose platform is away for a time, in one way. One person is answered
// while that begins, another after it began.
type outagedBot struct {
	*bot
	host interface {
		Break(platformtest.Fault)
		Mend()
		Drop()
		URL() string
	}
	does  string
	send  string              // the method that shows a message
	proxy *platformtest.Proxy // where connections are refused
}

const (
	duringSend = 0 // the person whose answer is being sent when the outage begins
	beforeSend = 1
)

// outaged adds a bot for each way of being away to the settings, on one platform.
func outaged(r *programtest.Rig, kind string) (bots []*outagedBot) {
	for _, does := range []string{"hang", "502", "closed", "refused", "slow"} {
		b := &outagedBot{bot: &bot{name: kind + "-" + does}, does: does}
		switch kind {
		case "telegram":
			p := programtest.NewTelegramPlace(r.T, false)
			b.Place, b.host, b.send = p, p.Server, "sendMessage"
		case "slack":
			p := programtest.NewSlackPlace(r.T, false)
			b.Place, b.host, b.send = p, p.Server, "chat.postMessage"
		case "discord":
			p := programtest.NewDiscordPlace(r.T, false)
			b.Place, b.host, b.send = p, p.Server, discordtest.CreateMessage
		}
		table := b.table(kind)
		if does == "refused" {
			b.proxy = platformtest.NewProxy(r.T, b.host.URL(), "")
			table = strings.ReplaceAll(table, b.host.URL(), b.proxy.URL())
		}
		r.Append(table)
		b.host.Mend() // a place's sends take a while by a fault
		bots = append(bots, b)
	}
	return bots
}

// begin has the platform be away.
func (b *outagedBot) begin(t *testing.T) {
	switch b.does {
	case "hang":
		b.host.Break(platformtest.Fault{Times: -1, Silent: true})
	case "502":
		b.host.Break(platformtest.BadGateway(-1))
		b.host.Drop() // its answer comes no more
	case "closed":
		b.host.Break(platformtest.Fault{Times: -1, Cut: true})
		b.host.Drop()
	case "refused":
		b.proxy.Down()
	case "slow":
		b.host.Break(platformtest.Fault{Times: -1, Delay: 4 * time.Second})
	}
}

func (b *outagedBot) end(t *testing.T) {
	b.host.Mend()
	if b.proxy != nil {
		b.proxy.Up(t)
	}
}

// check wants the answer to be seen once, or again with its mark, or to be named.
func (b *outagedBot) check(t *testing.T, user int, answer string) {
	t.Helper()
	plain, marked, named := 0, 0, 0
	shown := b.Shown(user)
	for _, text := range shown {
		switch {
		case text == answer:
			plain++
		case text == "(repeated) "+answer:
			marked++
		case strings.Contains(text, "may not have reached you"):
			named++
		}
	}
	if plain > 1 || marked > 1 || plain+marked+named == 0 || b.Place.Exact() && (plain != 1 || marked+named > 0) {
		t.Errorf("%s: %q is wanted, and the chat reads %q", b.name, answer, shown)
	}
}

// platformsAway is one engine with a bot for each way of being away, on each of the platforms, that
// are all away for so long at once: no answer is lost, and none is there twice without its mark.
func platformsAway(t *testing.T, r *programtest.Rig, last time.Duration, kinds ...string) {
	model := programtest.NewSlowModel()
	r.Model.Handle(model.Think)
	r.Append("[router]\nrate_person = \"off\"\nworkers = 64\n")
	var bots []*outagedBot
	for _, kind := range kinds {
		bots = append(bots, outaged(r, kind)...)
	}
	r.Up()
	var release []func()
	for _, b := range bots {
		b.Say(2, "first")
		release = append(release, model.Hold(t, programtest.WhilePlanning, "before "+b.name))
	}
	for _, b := range bots {
		r.Await(b.name+" answers", time.Minute, func() bool { return slices.Contains(b.Shown(2), "heard: first") })
		lost := platformtest.Fault{Method: b.send, Mute: true}
		if b.does == "slow" {
			lost = platformtest.Fault{Method: b.send, Slow: 12 * time.Second}
		}
		b.host.Break(lost)
		b.Say(duringSend, "during "+b.name)
	}
	for _, b := range bots {
		r.Await(b.name+" sends", time.Minute, func() bool { return slices.Contains(b.Shown(duringSend), "heard: during "+b.name) })
		b.Say(beforeSend, "before "+b.name)
	}
	for _, b := range bots {
		r.Await(b.name+" is thinking", time.Minute, model.Thinks(programtest.WhilePlanning, "before "+b.name))
	}
	var all sync.WaitGroup
	for i, b := range bots {
		b.begin(t)
		release[i]()
		all.Go(func() {
			time.Sleep(last)
			b.end(t)
		})
	}
	all.Wait()
	for _, b := range bots {
		r.Await(b.name+" has answered", 2*time.Minute, func() bool {
			return slices.ContainsFunc(b.Shown(beforeSend), func(text string) bool {
				return strings.HasSuffix(text, "heard: before "+b.name) || strings.Contains(text, "may not have reached you")
			})
		})
	}
	r.Await("nothing is on its way", 3*time.Minute, func() bool {
		for _, d := range r.Deliveries() {
			switch d.State {
			case "pending", "sending":
				return false
			case "unknown":
				if d.Outcome != "unknown_twice" && d.Outcome != "cannot_ask" {
					return false
				}
			}
		}
		return true
	})
	for _, b := range bots {
		b.check(t, duringSend, "heard: during "+b.name)
		b.check(t, beforeSend, "heard: before "+b.name)
	}
}

func TestPlatformsAwayForTenSecondsLoseNoAnswer(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		platformsAway(t, programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n"), 10*time.Second, "telegram", "slack", "discord")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		platformsAway(t, onPostgres(t), 10*time.Second, "telegram", "slack", "discord")
	})
}

func TestPlatformsAwayForAMinuteLoseNoAnswer(t *testing.T) {
	t.Parallel()
	platformsAway(t, onPostgres(t), time.Minute, "telegram", "slack")
}
