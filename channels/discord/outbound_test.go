package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/render"
)

func (r *rig) send(t *testing.T, out channels.Outbound) channels.MessageID {
	t.Helper()
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Nothing that a model or a person wrote mentions anybody, or has the platform fetch a page, in
// whichever way it is sent.
func TestNobodyIsMentioned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	here := conv(r.general, channels.Group)
	bad := "@everyone @here <@" + r.ada.ID + "> <@!" + r.ada.ID + "> <@&123> <#" + r.general + "> `@everyone` <@" + r.ada.ID
	// Entities that come back, names in two nodes, the text and the address of a link, a table.
	nodes := "&lt;@" + r.ada.ID + "&gt; &#64;everyone @**everyone** *@*here @every*one* @ev_eryone_ @h||ere|| <@**" + r.ada.ID + "**> [<@&1>](https://x.example/<@1>/@here) " +
		"https://x.example/@everyone @\u200beveryone @@everyone a@everyone\n\n| @here |\n|---|\n| <@!1> |\n\n# @everyone\n- <@&1>\n> @here\n"
	for name, body := range map[string]channels.Body{
		"plain":     {Text: bad},
		"nodes":     r.c.Format(render.Parse(nodes), r.c.Features(here))[0],
		"as typed":  {Text: nodes},
		"formatted": r.c.Format(render.Parse(bad+"\n\n```\n"+bad+"\n```\n\n["+bad+"](https://example.org/@everyone)"), r.c.Features(here))[0],
	} {
		out := outbound(here, "")
		out.Body, out.Nonce = body, name
		out.Body.Buttons = []channels.Button{{Label: bad, Code: "x"}}
		id := r.send(t, out)
		if err := r.c.Edit(t.Context(), here, id, out.Body); err != nil {
			t.Fatal(err)
		}
		if _, err := r.c.Draft(t.Context(), "", channels.Outbound{Conversation: here, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range r.Calls(discordtest.CreateMessage, discordtest.EditMessage) {
		var sent struct {
			Allowed struct {
				Parse []string `json:"parse"`
			} `json:"allowed_mentions"`
			Flags int `json:"flags"`
		}
		if err := json.Unmarshal([]byte(call.Values["body"]), &sent); err != nil || sent.Allowed.Parse == nil || len(sent.Allowed.Parse) > 0 {
			t.Errorf("%s allows mentions: %s", call.Method, call.Values["body"])
		}
		if sent.Flags&flagsPlain == 0 {
			t.Errorf("%s has pages behind links shown: %s", call.Method, call.Values["body"])
		}
	}
	for _, m := range r.FromBot(r.general) {
		outside := outsideCode(m.Content)
		if len(mentionPattern.FindAllString(strings.ReplaceAll(outside, `\<`, ""), -1)) > 0 || strings.Contains(outside, "@everyone") || strings.Contains(outside, "@here") {
			t.Errorf("sent %q", m.Content)
		}
	}
}

// A mention is answered in a thread that begins at it, where the settings say so.
func TestMentionIsAnsweredInAThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.ReplyIn = InThread
	r.run(t)
	asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
	r.SayIn(r.general, r.ada.ID, "not for us")
	e := r.Took(t, 2)
	where := e[0].Conversation
	if where.Kind != channels.Thread || where.Place != r.general || e[1].Conversation.Kind != channels.Group {
		t.Fatalf("%+v, %+v", where, e[1].Conversation)
	}
	if err := r.c.Typing(t.Context(), where); err != nil {
		t.Error(err)
	}
	if err := r.c.React(t.Context(), where, e[0].Message.ID, "👀"); err != nil {
		t.Error(err)
	}
	out := outbound(where, "Half past nine.\nMore.")
	out.ReplyTo = e[0].Message.ID
	r.send(t, out)
	out.Nonce = "n2"
	r.send(t, out)
	threads := r.Threads(r.general)
	if len(threads) != 1 || threads[0].ID != asked.ID || threads[0].Name != "what time is it?" || len(r.FromBot(asked.ID)) != 2 {
		t.Fatalf("threads %+v", threads)
	}
	r.SayIn(asked.ID, r.ada.ID, "and now?")
	if e := r.Took(t, 3)[2]; e.Conversation.ID != where.ID || e.Conversation.Kind != channels.Thread || !e.Message.Mentioned {
		t.Errorf("in the thread: %+v", e)
	}
}

func TestPartThatIsSentAgainWithItsNonceIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	out := outbound(r.direct(), "Done.")
	out.Nonce = "n1"
	r.Break(discordtest.Fault{Method: discordtest.CreateMessage, Lost: true})
	if _, err := r.c.Send(t.Context(), out); err == nil {
		t.Fatal("sent without an answer")
	}
	r.SetClock(func() time.Time { return time.Now().Add(window) })
	r.send(t, out)
	if n := len(r.FromBot(string(out.Conversation.ID))); n != 1 {
		t.Errorf("%d messages are shown", n)
	}
}

// A lost part is found by what it says and when it came; each message is one part's.
func TestLostPartIsFoundByTextAndTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.until(t, func() bool { return r.c.me().id != 0 })
	here := r.direct()
	old := outbound(here, "Done.")
	old.Nonce = "old"
	r.send(t, old)
	began := time.Now()
	r.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	lost := func(nonce string) channels.Outbound {
		r.Break(discordtest.Fault{Method: discordtest.CreateMessage, Lost: true})
		out := outbound(here, "Done.")
		out.Nonce, out.FirstTry = nonce, began.Add(time.Hour)
		if _, err := r.c.Send(t.Context(), out); err == nil {
			t.Fatal("sent without an answer")
		}
		return out
	}
	first, second := lost("a"), lost("b")
	never := outbound(here, "Done.")
	never.Nonce, never.FirstTry = "c", began.Add(time.Hour)
	ids := map[channels.MessageID]bool{}
	taken := func(_ context.Context, id channels.MessageID) (bool, error) { return ids[id], nil }
	c := client(t, r.APIURL(), r.Token()) // nothing is remembered, or known of the bot
	for _, out := range []channels.Outbound{first, second} {
		out.Taken = taken
		id, ok, err := c.Find(t.Context(), out)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", out.Nonce, ok, err)
		}
		ids[id] = true
	}
	never.Taken = taken
	if len(ids) != 2 {
		t.Errorf("two parts are %v", ids)
	}
	if id, ok, err := c.Find(t.Context(), never); ok || err != nil {
		t.Errorf("a part that was not sent: %s, %v, %v", id, ok, err)
	}
}

func TestLostFilesAreFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.until(t, func() bool { return r.c.me().id != 0 })
	out := outbound(r.direct(), "")
	out.FirstTry = time.Now()
	out.Body.Files = []channels.File{{Name: "größe <&>.txt", Type: "text/plain", Size: 5}, {Name: "job (7).txt", Type: "text/plain", Size: 5}}
	out.Open = func(channels.File) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("12345")), nil }
	r.Break(discordtest.Fault{Method: discordtest.CreateMessage, Lost: true})
	if _, err := r.c.Send(t.Context(), out); err == nil {
		t.Fatal("sent without an answer")
	}
	if id, ok, err := r.c.Find(t.Context(), out); err != nil || !ok || id == "" {
		t.Errorf("%q, %v, %v", id, ok, err)
	}
	for _, other := range []channels.File{{Name: "job (7).txt", Size: 6}, {Name: "job (8).txt", Size: 5}} {
		out.Body.Files[1] = other
		if _, ok, err := r.c.Find(t.Context(), out); err != nil || ok {
			t.Errorf("another file is found: %v, %v", ok, err)
		}
	}
}

// A bucket that is empty is not asked: the platform sees no call that it would refuse.
func TestBucketsAreAskedFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Limit(discordtest.Rates{Calls: 3, Window: time.Second, Global: 50})
	here, other := r.direct(), conv(r.general, channels.Group)
	sent, limited := 0, 0
	began := time.Now()
	for took := time.Duration(0); took < 4*time.Second || (sent < 6 || limited < 2) && took < patience; took = time.Since(began) { // a busy machine fills no bucket
		out := outbound(here, fmt.Sprint(sent))
		out.Nonce = fmt.Sprint(sent)
		_, err := r.c.Send(t.Context(), out)
		var wait time.Duration
		switch e, ok := errors.AsType[*channels.RateLimitError](err); {
		case err == nil:
			sent++
			continue
		case ok && !e.Channel && e.RetryAfter > 0:
			limited++
			wait = e.RetryAfter
		default:
			t.Fatal(err)
		}
		out.Conversation, out.Nonce = other, "other "+out.Nonce
		if limited == 1 {
			r.send(t, out) // another channel is not concerned
		}
		time.Sleep(wait)
	}
	if sent < 6 || limited < 2 || r.Refused() != 0 {
		t.Errorf("%d sent, %d times told to wait, %d refused by the platform", sent, limited, r.Refused())
	}
}

// Long before the platform would shut this address out, nothing is asked any more.
func TestInvalidRequestsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Deny(r.general, discordtest.SendMessages)
	var err error
	for range invalidMost + 50 {
		if _, err = r.c.Send(t.Context(), outbound(conv(r.general, channels.Group), "x")); err == nil {
			t.Fatal("sent without the permission")
		}
	}
	if limited, ok := errors.AsType[*channels.RateLimitError](err); !ok || !limited.Channel || limited.RetryAfter <= 0 {
		t.Errorf("at the end: %v", err)
	}
	if n := r.Invalid(); n != invalidMost {
		t.Errorf("%d invalid requests", n)
	}
}

func TestErrorsOfSendsSayWhetherThePlaceIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob")
	r.Block(bob.ID, true)
	hidden, mute := r.AddChannel(r.guild, "hidden").ID, r.AddChannel(r.guild, "mute").ID
	r.Deny(hidden, discordtest.ViewChannel)
	r.Deny(mute, discordtest.SendMessages)
	for name, c := range map[string]struct {
		conv channels.Conversation
		gone bool
	}{
		"blocked":       {conv(r.Direct(bob.ID).ID, channels.Direct), true},
		"no access":     {conv(hidden, channels.Group), true},
		"no such place": {conv("5", channels.Group), true},
		"not allowed":   {conv(mute, channels.Group), false},
	} {
		_, err := r.c.Send(t.Context(), outbound(c.conv, "x"))
		_, refused := errors.AsType[*channels.RefusedError](err)
		if errors.Is(err, channels.ErrGone) != c.gone || refused == c.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, fault := range map[string]discordtest.Fault{
		"a proxy's page":  {Status: 502, Body: "<html>bad gateway</html>"},
		"half an answer":  {Half: true},
		"cut before":      {Cut: true},
		"no answer":       {Lost: true},
		"another service": {Status: 500, Body: "oops"},
	} {
		fault.Method = discordtest.CreateMessage
		r.Break(fault)
		_, err := r.c.Send(t.Context(), outbound(r.direct(), name))
		_, refused := errors.AsType[*channels.RefusedError](err)
		if err == nil || refused || errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrGone) {
			t.Errorf("%s: %v, which says what became of it", name, err)
		}
	}
}

// The fault of a file is not the platform's: the part is refused, and nothing arrives.
func TestUnreadableFileRefusesThePart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out := outbound(r.direct(), "")
	out.Body.Files = []channels.File{{Name: "a.txt", Size: 1 << 20}}
	broken := errors.New("the disk is broken")
	for name, open := range map[string]func(channels.File) (io.ReadCloser, error){
		"open": func(channels.File) (io.ReadCloser, error) { return nil, broken },
		"read": func(channels.File) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 1<<19)), broke{broken})), nil
		},
	} {
		out.Open = open
		_, err := r.c.Send(t.Context(), out)
		if refused, ok := errors.AsType[*channels.RefusedError](err); !ok || !strings.Contains(refused.Reason, "the disk is broken") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(r.FromBot(string(r.direct().ID))); n != 0 {
		t.Errorf("%d messages arrived", n)
	}
}

type broke struct{ err error }

func (b broke) Read([]byte) (int, error) { return 0, b.err }

// Whoever presses a button while nothing can be committed learns it in time.
func TestPressThatIsNotCommittedIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.press = 50 * time.Millisecond
	r.run(t)
	out := outbound(r.direct(), "Which?")
	out.Body.Buttons = []channels.Button{{Label: "Left", Code: "l"}}
	id := r.send(t, out)
	release := r.Sink.Hold()
	defer release()
	press := r.Press(string(r.direct().ID), r.ada.ID, string(id), "Left")
	r.until(t, func() bool { return len(r.Answers(press)) == 1 })
	if a := r.Answers(press)[0]; a.Data.Content != textLate || a.Data.Flags&64 == 0 {
		t.Errorf("shown %+v", a)
	}
	release()
	if e := r.Took(t, 1)[0]; e.Kind != channels.EventAction || e.Action.Code != "l" {
		t.Errorf("%+v", e)
	}
}

func TestCommandsAreRegisteredOnceAndTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.until(t, func() bool { return r.c.me().id != 0 })
	sets := []channels.CommandSet{
		{Kind: channels.Direct, Commands: []channels.Command{{Name: "help", About: "what I can do"}, {Name: "status", About: "how I am"}}},
		{Kind: channels.Group, Commands: []channels.Command{{Name: "help", About: "what I can do"}, {Name: "Bad Name", About: "no"}}},
		{Kind: channels.Direct, Language: "de", Commands: []channels.Command{{Name: "help", About: "was ich kann"}}},
		{Kind: channels.Direct, Sender: r.ada.ID, Commands: []channels.Command{{Name: "secret", About: "for Ada"}}},
	}
	for range 2 {
		if err := r.c.SetCommands(t.Context(), sets); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Calls(discordtest.CreateCommand)); n != 2 {
		t.Errorf("%d commands were registered", n)
	}
	have := r.Commands()
	if len(have) != 2 || have[0].Name != "help" || have[0].Localizations["de"] != "was ich kann" || !cmp.Equal(have[0].Contexts, []int{0, 1}) || !cmp.Equal(have[1].Contexts, []int{1}) {
		t.Errorf("registered %+v", have)
	}
	if err := r.c.SetCommands(t.Context(), sets[1:2]); err != nil || len(r.Commands()) != 1 {
		t.Errorf("%v: %+v", err, r.Commands())
	}
	given := r.Give(string(r.direct().ID), r.ada.ID, "help", "me now")
	e := r.Took(t, 1)[0]
	if e.Kind != channels.EventMessage || e.Message.Text != "/help me now" || e.Sender.ID != r.ada.ID {
		t.Errorf("%+v", e)
	}
	r.until(t, func() bool { return len(r.Answers(given)) == 1 })
	if a := r.Answers(given)[0]; a.Type != 4 || a.Data.Flags&64 == 0 || a.Data.Content != textGiven {
		t.Errorf("answered %+v", a)
	}
	out := outbound(r.direct(), "Help.")
	out.ReplyTo = e.Message.ID
	r.send(t, out)
}

func TestExamineNamesWhatHasToBeMended(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := r.c.Examine(t.Context())
	last := all[len(all)-1]
	if !strings.Contains(last.Text, "client_id="+r.AppID()) || !strings.Contains(last.Text, "permissions=309237746752") || r.Identifies() != 0 {
		t.Errorf("%+v", all)
	}
	r.Revoke()
	if f := r.c.Examine(t.Context())[0]; f.OK || !strings.Contains(f.Fix, r.AppID()+"/bot") {
		t.Errorf("%+v", f)
	}
	c := client(t, r.APIURL(), "")
	if f := c.Examine(t.Context())[0]; !f.OK || !f.Warn {
		t.Errorf("%+v", f)
	}
}

func TestConfigFaultsNameTheirKeys(t *testing.T) {
	t.Parallel()
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	bad := Config{ReplyIn: "dm", ApplicationID: "x", Guilds: []string{"1", "y"}, APIURL: "ftp://x"}
	err := bad.Validate()
	for _, key := range []string{"reply_in: ", "application_id: ", "guilds: ", "api_url: "} {
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if DefaultConfig().CheckCredential("token", "no token") == nil || DefaultConfig().CheckCredential("token", "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gx.abcdefghijklmnop") != nil {
		t.Error("the shape of a token")
	}
}

// Messages of guilds that are not listed are not handed in.
func TestMessagesOfOtherGuildsAreNotTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := r.AddChannel(r.AddGuild("Others", r.ada), "general").ID
	r.c.cfg.Guilds = []string{r.guild}
	r.run(t)
	r.SayIn(other, r.ada.ID, "there")
	r.SayIn(r.general, r.ada.ID, "here")
	r.Say(r.ada.ID, "direct")
	r.Took(t, 2)
	if diff := cmp.Diff([]string{"here", "direct"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}
