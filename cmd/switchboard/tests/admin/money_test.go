package admin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/money"
)

// costing answers as echo does, and bills 3 EUR.
func costing(req llmtest.Request) llmtest.Reply {
	reply := programtest.Echo(req)
	reply.Usage = &llmtest.Usage{In: 100, Out: 3}
	return reply
}

// What was spent is shown by /budget, usage, turn show and the doctor, with what the provider's
// cache served at its own price.
func TestWhatWasSpentIsShown(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1", "u2"}, strings.Replace(fmt.Sprintf(programtest.Priced, "per_day = 100.0"), "price_in = 0", "price_in = 1000.0\nprice_cached = 500.0", 1))
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := programtest.Echo(req)
		reply.Usage = &llmtest.Usage{In: 100, Out: 1, Cached: 40}
		return reply
	})
	r.Up()
	budget := func(user string, wants ...string) {
		t.Helper()
		text := r.Ask(user, "/budget")
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("no %q in %q", want, text)
			}
		}
	}
	budget("u1", `in all, limit 100\.00 EUR \(budget\.per_day\):\n+- nothing\n`)
	r.Answers("u1", "hello", "heard: hello") // (60 * 1000 + 40 * 500 + 1 * 1000000) / 1000000
	r.Answers("u1", "again", "heard: again")
	r.Answers("u2", "hi", "heard: hi")
	budget("u2", `^Spent on models on \d{4}-\d\d-\d\d, until 00:00 CES?T`, `\n- 3\.24 EUR, 3 %`, `- u1: 2\.16 EUR\n+- u2: 1\.08 EUR\n`, `- play:cu1: 2\.16 EUR\n`)
	if turn := r.TurnOf("again"); turn.PromptTokens != 100 || turn.BilledTokens != 101 || turn.Cost != 1.08 || turn.LLM[0].CachedTokens != 40 {
		t.Errorf("%+v", turn)
	}
	r.Prints("turn show 1", 0, "100 tokens in (40 cached), 1 out, 1.080000 EUR")
	for by, want := range map[string]string{
		"day": `(?m)^\d{4}-\d\d-\d\d +3 +303 +300 +120 +3 +3\.24 EUR$`, "person": `(?m)^u1 +2 +202 +200 +80 +2 +2\.16 EUR$`,
		"model": `(?m)^fake/model +3 `, "role": `(?m)^planner +3 `,
	} {
		out, errs, code := r.Command("usage", "--by", by)
		if code != 0 || !regexp.MustCompile(want).MatchString(out) || !regexp.MustCompile(`(?m)^in all +3 .* 3\.24 EUR$`).MatchString(out) {
			t.Errorf("usage --by %s: exit %d\n%s%s", by, code, out, errs)
		}
	}
	if rows := programtest.List[[]money.Usage](r, "usage", "--by", "person", "--json", "--since", "24h"); len(rows) != 2 || rows[0].Name != "u1" || rows[0].CachedTokens != 80 {
		t.Errorf("%+v", rows)
	}
	r.Prints("doctor", 0, "at most 100.00 EUR a day")

	// A limit that is set while it runs is used at once, with what was spent before.
	r.Ask("u1", "/config set budget.per_person_day 20")
	r.Await("the limit counts", programtest.Patience, func() bool { return strings.Contains(r.Ask("u1", "/budget"), "each person, limit 20.00 EUR") })
	r.Answers("u2", "hi again", "heard: hi again")
	for strings.HasPrefix(r.Ask("u1", "and now"), "heard") {
	}
	r.Await("the last one is refused", programtest.Patience, func() bool { return r.Turns()[0].Outcome == "over_limit" })
	r.Prints("config set budget.currency CHF", 0)
	r.Counts("budget.currency", "CHF")
	r.Prints("usage", 0, " CHF")
	r.Stop(20 * time.Second)
}

// How a limit is reached: the admins are notified once as it is nearly spent and once as it is
// reached, the person reads which it is and until when, others go on, and no call is made.
func TestALimitIsReached(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1", "u2"}, fmt.Sprintf(programtest.Priced, "per_person_day = 30.0"))
	r.Model.Handle(costing)
	r.Up()
	for range 9 {
		r.Platform.Say("cu1", "u1", "hello")
	}
	count := func(like string) (n int) {
		for _, text := range r.Shown("u1") {
			if regexp.MustCompile(like).MatchString(text) {
				n++
			}
		}
		return n
	}
	await := func(n int, like string) {
		t.Helper()
		r.Await("u1 reads "+like, programtest.Patience, func() bool { return count(like) >= n })
		if got := count(like); got != n {
			t.Errorf("u1 reads %d times %q:\n%s", got, like, strings.Join(r.Shown("u1"), "\n"))
		}
	}
	const near = `^The limit of u1 for a day \(budget\.per_person_day\) is 80 % spent: 24\.00 EUR of 30\.00 EUR\. /budget`
	const reached = `^The limit of u1 for a day \(budget\.per_person_day\) is reached: 27\.00 EUR of 30\.00 EUR are spent, and another call may cost 4\.00 EUR\. ` +
		`Such calls are not made before \d{4}-\d\d-\d\d 00:00 CES?T\. /budget`
	const usedUp = `^I cannot answer any more today: what you may spend on language models in a day is used up\. I answer again from \d{4}-\d\d-\d\d 00:00 CES?T\.$`
	await(9, `^heard: hello$`)
	await(1, near)
	r.Platform.Say("cu1", "u1", "more")
	await(1, usedUp)
	await(1, reached)
	turn := r.TurnOf("more")
	if turn.State != "failed" || turn.Outcome != "over_limit" || turn.Calls != 0 || turn.Cost != 0 || r.Model.Count() != 9 {
		t.Errorf("%+v, %d calls", turn, r.Model.Count())
	}
	r.Answers("u2", "hello", "heard: hello")
	r.Kill()
	r.Up()
	r.Platform.Say("cu1", "u1", "still more")
	await(2, usedUp)
	time.Sleep(200 * time.Millisecond)
	await(1, reached)
	await(1, near)
	r.Stop(20 * time.Second)
}
