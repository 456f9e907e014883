package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
)

// priced are settings with a planner of which a call is reserved at 4 EUR.
const priced = `[budget]
currency = "EUR"
%s
[scheduler]
timezone = "Europe/Rome"
[llm.models.dear]
model = "fake/model"
max_output_tokens = 4
price_in = 0
price_out = 1000000.0
[agent]
planner = "dear"
`

// costing answers as echo does, and bills 3 EUR.
func costing(req llmtest.Request) llmtest.Reply {
	reply := echo(req)
	reply.Usage = &llmtest.Usage{In: 100, Out: 3}
	return reply
}

// How a limit is reached: the admins are notified once as it is nearly spent and once as it is
// reached, the person reads which it is and until when, others go on, and no call is made.
//
// promise: P11.limits
func TestALimitIsReached(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1", "u2"}, fmt.Sprintf(priced, "per_person_day = 30.0"))
	r.model.Handle(costing)
	r.up()
	for range 9 {
		r.platform.Say("cu1", "u1", "hello")
	}
	count := func(like string) (n int) {
		for _, text := range r.shown("u1") {
			if regexp.MustCompile(like).MatchString(text) {
				n++
			}
		}
		return n
	}
	await := func(n int, like string) {
		t.Helper()
		r.await("u1 reads "+like, patience, func() bool { return count(like) >= n })
		if got := count(like); got != n {
			t.Errorf("u1 reads %d times %q:\n%s", got, like, strings.Join(r.shown("u1"), "\n"))
		}
	}
	const near = `^The limit of u1 for a day \(budget\.per_person_day\) is four fifths spent: 24\.00 EUR of 30\.00 EUR\. /budget`
	const reached = `^The limit of u1 for a day \(budget\.per_person_day\) is reached: 27\.00 EUR of 30\.00 EUR are spent, and another call may cost 4\.00 EUR\. ` +
		`Such calls are not made before \d{4}-\d\d-\d\d 00:00 CES?T\. /budget`
	const usedUp = `^I cannot answer any more today: what you may spend on language models in a day is used up\. It goes on at \d{4}-\d\d-\d\d 00:00 CES?T\.$`
	await(9, `^heard: hello$`)
	await(1, near)
	r.platform.Say("cu1", "u1", "more")
	await(1, usedUp)
	await(1, reached)
	turn := r.turnOf("more")
	if turn.State != "failed" || turn.Outcome != "over_limit" || turn.Calls != 0 || turn.Cost != 0 || r.model.Count() != 9 {
		t.Errorf("%+v, %d calls", turn, r.model.Count())
	}
	r.answers("u2", "hello", "heard: hello")
	r.kill()
	r.up()
	r.platform.Say("cu1", "u1", "still more")
	await(2, usedUp)
	time.Sleep(200 * time.Millisecond)
	await(1, reached)
	await(1, near)
	r.stop(20 * time.Second)
}
