package discordtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"switchboard/channels/discord/discordtest"
)

func TestSessionIsResumedWithWhatWasMissed(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	ada := s.AddUser("Ada")
	s.AddChannel(s.AddGuild("Friends", ada), "general")
	b := connect(t, s)
	b.identify(s, everything)
	var ready struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal(b.until("READY").Data, &ready); err != nil || ready.Session == "" {
		t.Fatalf("%v: %+v", err, ready)
	}
	b.until("GUILD_CREATE")
	s.Say(ada.ID, "one")
	last := b.until("MESSAGE_CREATE")
	s.DropGateway()
	s.Say(ada.ID, "two")
	again := connect(t, s)
	again.say(6, map[string]any{"token": s.Token(), "session_id": ready.Session, "seq": *last.Seq})
	if f := again.next(); f.Type != "MESSAGE_CREATE" || *f.Seq != *last.Seq+1 {
		t.Errorf("%+v", f)
	}
	again.until("RESUMED")
	again.say(1, *last.Seq+1)
	if f := again.next(); f.Op != 11 || s.Unacknowledged() != 0 {
		t.Errorf("%+v, %d unacknowledged", f, s.Unacknowledged())
	}
}

// What the bot was told in a session that it gave up for another is owed to nobody.
func TestSessionThatWasGivenUpIsNotUnacknowledged(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.IdentifyEvery(0)
	ada := s.AddUser("Ada")
	s.Direct(ada.ID)
	b := connect(t, s)
	b.identify(s, everything)
	b.until("READY")
	s.Say(ada.ID, "one")
	b.until("MESSAGE_CREATE")
	s.DropGateway()
	if err := s.Await(t.Context(), func() bool { return !s.Connected() }); err != nil || s.Unacknowledged() == 0 {
		t.Fatalf("%d unacknowledged before another begins, %v", s.Unacknowledged(), err)
	}
	again := connect(t, s)
	again.identify(s, everything)
	again.say(1, *again.until("READY").Seq)
	if f := again.next(); f.Op != 11 || s.Unacknowledged() != 0 {
		t.Errorf("%+v, %d unacknowledged", f, s.Unacknowledged())
	}
}

func TestGatewayIsStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		do   func(*discordtest.Server, *bot)
	}{
		"nothing before identify":      {discordtest.CloseNoIdentify, func(_ *discordtest.Server, b *bot) { b.say(3, nil) }},
		"a wrong token":                {discordtest.CloseUnauthorized, func(_ *discordtest.Server, b *bot) { b.say(2, map[string]any{"token": "x", "intents": 0}) }},
		"no intents":                   {discordtest.CloseBadIntents, func(s *discordtest.Server, b *bot) { b.say(2, map[string]any{"token": s.Token()}) }},
		"members, a privileged intent": {discordtest.CloseIntentsDenied, func(s *discordtest.Server, b *bot) { b.identify(s, 1<<1) }},
		"content that is not allowed": {discordtest.CloseIntentsDenied, func(s *discordtest.Server, b *bot) {
			s.ForbidContent(true)
			b.identify(s, everything)
		}},
		"shards": {discordtest.CloseSharding, func(s *discordtest.Server, b *bot) {
			s.Shards(2)
			b.identify(s, 1)
		}},
		"twice": {discordtest.CloseTwice, func(s *discordtest.Server, b *bot) {
			b.identify(s, 1)
			b.identify(s, 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := discordtest.New(t)
			b := connect(t, s)
			c.do(s, b)
			if got := b.closed(); got != c.code {
				t.Errorf("closed with %d, want %d", got, c.code)
			}
		})
	}
}

func TestSessionsBeyondTheLimitAreInvalid(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	now := time.Now()
	s.SetClock(func() time.Time { return now })
	first := connect(t, s)
	first.identify(s, 1)
	first.until("READY")
	soon := connect(t, s)
	soon.identify(s, 1)
	if f := soon.next(); f.Op != 9 || string(f.Data) != "false" {
		t.Errorf("too soon: %+v", f)
	}
	b := connect(t, s)
	b.say(6, map[string]any{"token": s.Token(), "session_id": "no such", "seq": 1})
	if f := b.next(); f.Op != 9 {
		t.Errorf("%+v", f)
	}
	s.IdentifyEvery(0)
	s.Starts(0)
	token, last := s.Token(), connect(t, s)
	last.identify(s, 1)
	if code := last.closed(); code != discordtest.CloseUnauthorized || s.Token() == token {
		t.Errorf("one too many: closed with %d, and the token is the same: %t", code, s.Token() == token)
	}
}

// A session is told what its intents say, and without the message content only what concerns
// the bot.
func TestEventsFollowTheIntents(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	ada := s.AddUser("Ada")
	general := s.AddChannel(s.AddGuild("Friends", ada), "general").ID
	b := connect(t, s)
	b.identify(s, 1<<0|1<<9) // no direct chats, no content
	b.until("GUILD_CREATE")
	s.Say(ada.ID, "direct")
	for _, c := range []struct{ text, told string }{{"for all", ""}, {"<@" + s.Bot().ID + "> for us", "<@" + s.Bot().ID + "> for us"}} {
		s.SayIn(general, ada.ID, c.text)
		var m discordtest.Message
		if err := json.Unmarshal(b.until("MESSAGE_CREATE").Data, &m); err != nil || m.Content != c.told || m.ChannelID != general {
			t.Errorf("%q is told as %q in %s", c.text, m.Content, m.ChannelID)
		}
	}
}

func TestFrozenGatewayAcknowledgesNoHeartbeat(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	ada := s.AddUser("Ada")
	b := connect(t, s)
	b.identify(s, everything)
	b.until("READY")
	s.Freeze(true)
	b.say(1, 1)
	s.Say(ada.ID, "events go on")
	b.until("MESSAGE_CREATE")
	if err := s.Await(t.Context(), func() bool { return s.Unacknowledged() == 1 }); err != nil {
		t.Fatal(err)
	}
	s.Freeze(false)
	b.say(1, nil)
	if f := b.next(); f.Op != 11 {
		t.Errorf("%+v", f)
	}
	s.Reconnect()
	if f := b.next(); f.Op != 7 {
		t.Errorf("%+v", f)
	}
	s.Invalidate(true)
	if f := b.next(); f.Op != 9 || string(f.Data) != "true" {
		t.Errorf("%+v", f)
	}
}
