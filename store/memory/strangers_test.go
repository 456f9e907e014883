package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	routermemory "switchboard/router/memory"
	routersessions "switchboard/router/sessions"
	"switchboard/store/storetest"
)

// A room is a group in which ada speaks with the bot, and strangers speak.
type room struct {
	*storetest.House
	m *model
	r *routermemory.Rester
	n int
}

func newRoom(h *storetest.House) *room {
	c := &room{House: h, m: &model{says: map[string]any{"look": map[string]any{"learnings": []string{}}, "summary": map[string]any{"sentences": []string{"They spoke."}}}}}
	c.m.hook = func() { // a report for each message
		reports := []string{}
		for line := range strings.Lines(c.m.asked[len(c.m.asked)-1].User) {
			if raw, ok := strings.CutPrefix(line, "RAW"); ok {
				reports = append(reports, "Somebody says"+strings.TrimSpace(raw)+" hunter2.")
			}
		}
		c.m.says["paraphrase"] = map[string]any{"reports": reports}
	}
	c.r = resting(h, c.m)
	limits := c.r.Limits()
	c.r.Limits = func() routermemory.RestLimits { return limits }
	c.on(&limits, "tg")
	return c
}

func (c *room) on(l *routermemory.RestLimits, channels ...string) {
	l.Strangers = channels
	limits := *l
	c.r.Limits = func() routermemory.RestLimits { return limits }
}

func (c *room) in(e intake.Entry) intake.Entry {
	e.Event.Conversation.Kind = channels.Group
	return e
}

// says has strangers write, each a message whose ID is mKEY.
func (c *room) says(keys ...string) {
	c.Helper()
	for _, key := range keys {
		e := c.in(storetest.Stranger("g", key))
		e.Event.Message.Text, e.Sender.Rule = "RAW "+key, "people.unknown"
		c.Accept(e)
	}
}

// sees is what a turn of ada's, who writes now, is told of the strangers. It takes the turn for done.
func (c *room) sees() (texts []string) {
	c.Helper()
	c.n++
	e := storetest.Claiming(storetest.By(c.in(storetest.Entry("g", fmt.Sprint("ada", c.n), "hello")), "ada"))
	ref := c.Accept(e)[0].Claimed
	if ref == nil {
		c.Fatal("the turn is not claimed")
	}
	for _, line := range c.Load(ref.TurnRef).State.Reports {
		texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(line.Text, "Somebody says"), " [redacted]."))
	}
	c.Commit(ref.TurnRef, storetest.End("done", "answered"))
	return texts
}

func (c *room) want(what string, want ...string) {
	c.Helper()
	if got := c.sees(); !slices.Equal(got, want) {
		c.Errorf("%s: told of %q, want %q", what, got, want)
	}
}

// What strangers write is told once, at rest, in other words; nothing of it before that, and nothing of what is gone.
func TestStrangersAreReportedAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		c := newRoom(h)
		c.says("a", "b")
		c.want("before it rests")
		rest(h, c.r)
		c.want("then", "a", "b")
		h.WantCount(1, "SELECT calls FROM memory_days WHERE person = 'ada'")
		rest(h, c.r)
		if n := c.m.count("paraphrase"); n != 1 {
			t.Errorf("%d calls where nothing is new", n)
		}
		// Strangers alone go on: the session rests anew.
		c.says("c")
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE restless = TRUE")
		rested(c)
		c.want("later", "a", "b", "c")
		// An edit is told at the next rest; what was taken back is not told, and what it was does not go on.
		edit := c.in(storetest.Stranger("g", "edit"))
		edit.Event.Kind, edit.Event.Message.ID, edit.Event.Message.Text, edit.Sender.Rule = channels.EventEdited, "ma", "RAW a2", "people.unknown"
		h.Accept(edit, deleted(c, "b"))
		c.want("edited, deleted", "", "", "c")
		h.WantCount(1, "SELECT count(*) FROM messages WHERE report = ''")
		rested(c)
		c.want("edited", "", "", "c", "a2")
		h.Exec("UPDATE messages SET text = 'hello' WHERE text = ''")
		// Bots, commands, and what came while the group was not served.
		h.Exec("INSERT INTO messages (conversation_id, direction, class, rule, text, created_at) SELECT id, 'in', 'stranger', rule, text, 1 FROM conversations, " +
			"(SELECT 'sender.bot' AS rule, 'RAW bot' AS text UNION ALL SELECT 'channel.allow_conversations', 'RAW early' UNION ALL SELECT 'people.unknown', '/start RAW') x WHERE kind = 'group'")
		rested(c)
		c.want("none of theirs", "", "", "c", "a2")
		// What was taken back while a model was asked is not told.
		hook := c.m.hook
		c.m.hook = func() { hook(); h.Accept(deleted(c, "d")) }
		c.says("d", "e")
		rested(c)
		c.m.hook = hook
		c.want("taken back meanwhile", "", "", "c", "a2", "e")
		h.Exec("UPDATE sessions SET reset_message = (SELECT max(id) FROM messages)")
		c.want("reset")
		c.says("f")
		rested(c)
		c.want("since the reset", "f")
		if err := h.Router.ForgetSession(h.Ctx, "tg:g", core.Actor{Person: "ada"}); err != nil {
			t.Fatal(err)
		}
		rested(c)
		c.want("forgotten")
		h.WantCount(0, "SELECT count(*) FROM messages WHERE report IS NOT NULL")
		h.WantCount(1, "SELECT count(*) FROM messages WHERE text = 'RAW f'") // as it stands for the audit log
	})
}

// What is not to be told is passed over, once, without a call.
func TestStrangersAreNotReported(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		c := newRoom(h)
		private := func(to string) {
			t.Helper()
			change := &routersessions.Change{Conversation: channels.Conversation{Channel: "tg", ID: "g", Kind: channels.Group}, Of: routersessions.Private, To: to}
			if err := h.Router.Change(h.Ctx, change, core.Actor{Person: "ada", Rule: "person"}); err != nil {
				t.Fatal(err)
			}
		}
		c.want("nothing")
		limits := c.r.Limits()
		c.on(&limits)
		c.says("off")
		rested(c)
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE reported_to > 0")
		c.on(&limits, "tg")
		private("on")
		c.says("private")
		rested(c)
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE reported_to > 0")
		c.says("private too")
		private("")
		rested(c)
		person := c.r.Person
		c.r.Person = func(string) *core.Person { return nil }
		c.says("nobody pays")
		rested(c)
		c.r.Person = person
		direct := storetest.Stranger("d", "direct")
		direct.Event.Message.Text, direct.Sender.Rule = "RAW direct", "people.unknown"
		h.Accept(direct, storetest.By(storetest.Entry("d", "own", "hello"), "ada"))
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
		rested(c)
		c.want("none of it")
		if len(c.m.asked) > 0 {
			t.Errorf("%d calls", len(c.m.asked))
		}
		// Of many the newest are told, and what no model can tell is left out in the end.
		for i := range 25 {
			c.says(fmt.Sprint("n", i))
		}
		rested(c)
		if got := c.sees(); len(got) != 20 || got[0] != "n5" || got[19] != "n24" {
			t.Errorf("told of %q", got)
		}
		c.m.hook, c.m.says["paraphrase"] = nil, map[string]any{"reports": []string{"See https://evil.example"}}
		c.says("last")
		for range 8 {
			rested(c)
			h.Exec("UPDATE sessions SET rest_after = 0")
		}
		if n := c.m.count("paraphrase"); n != 1+8*2 {
			t.Errorf("%d calls", n)
		}
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE restless = TRUE OR rest_fault <> ''")
		h.WantCount(0, "SELECT count(*) FROM messages WHERE text = 'RAW last' AND report IS NOT NULL")
		// It waits while models are away, and a late engine writes nothing.
		c.m.err = llm.ErrAway
		c.says("away")
		rested(c)
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE restless = TRUE AND rest_tries = 1")
		now, err := h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now())
		if err != nil || now == nil {
			t.Fatalf("%+v, %v", now, err)
		}
		h.Exec("UPDATE sessions SET reset_message = (SELECT max(id) FROM messages)")
		if err := h.Router.WriteReports(h.Ctx, now, 1<<40, nil); err == nil {
			t.Error("it is written after a reset")
		}
	})
}

// What is told goes out of prompts as the messages do that were said before it.
func TestReportsAreOfTheWindow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		c := newRoom(h)
		c.want("nothing")
		c.says("old")
		rested(c)
		for range 30 {
			c.want("in the window", "old")
		}
		h.Exec("UPDATE sessions SET summed_to = (SELECT max(id) FROM messages)")
		c.want("out of it")
	})
}

// rested looks once for what strangers said, and works until nothing is left to be done.
func rested(c *room) {
	c.Helper()
	limits := c.r.Limits()
	if len(limits.Strangers) > 0 {
		if err := c.Router.StrangersSpoke(c.Ctx, limits.Strangers, time.Now()); err != nil {
			c.Fatal(err)
		}
	}
	rest(c.House, c.r)
}

func deleted(c *room, key string) intake.Entry {
	e := c.in(storetest.Stranger("g", "deleted "+key))
	e.Event.Kind, e.Event.Message.ID, e.Intent = channels.EventDeleted, channels.MessageID("m"+key), &intake.NewsIntent{}
	return e
}
