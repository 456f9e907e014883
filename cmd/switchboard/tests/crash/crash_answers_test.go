package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/platformtest"
	"switchboard/cmd/switchboard/programtest"
)

// grows and sends say what kind of job n is.
func (c *crash) grows(n int) bool { return c.mixed && n%5 == 1 }

func (c *crash) sends(n int) bool { return c.mixed && n%5 > 2 }

// grown is what an answer says that grows, behind what every answer does.
const grown = " and it grew word by word until it was all there"

// finals are what the answer to job n may say: its file is not made where the command was cut off.
func (c *crash) finals(n int) []string {
	done := fmt.Sprintf("done job %d", n)
	switch {
	case c.grows(n):
		return []string{done + grown}
	case c.sends(n):
		return []string{done, done + " with " + jobFile(n)}
	}
	return []string{done}
}

func jobFile(n int) string { return fmt.Sprintf("job-%d.txt", n) }

// checkOnce wants something shown once; where the platform cannot be asked, it may be there once
// more with the mark, or be listed.
func (c *crash) checkOnce(what string, plain, marked int, listed bool) {
	c.t.Helper()
	switch {
	case c.place.Exact() && (plain != 1 || marked > 0):
		c.t.Errorf("%s is shown %d times, and %d times with a mark", what, plain, marked)
	case plain+marked == 0 && !listed:
		c.t.Errorf("%s was never shown", what)
	case plain > 1 || marked > 1:
		c.t.Errorf("%s is shown %d times without a mark, and %d times with one", what, plain, marked)
	}
}

// answered counts what is shown of the answer to a job, without and with the mark.
type answered struct {
	plain, marked      int
	files, markedFiles int
	withFile           bool // the text speaks of its file
}

func (c *crash) answers(n int) (a answered) {
	for _, shown := range c.place.Shown(n % programtest.Users) {
		text, marked := strings.CutPrefix(strings.TrimSpace(shown), "(repeated)")
		text = strings.TrimSpace(text)
		one, other := &a.plain, &a.marked
		switch {
		case slices.Contains(c.finals(n), text):
			a.withFile = a.withFile || strings.HasSuffix(text, jobFile(n))
		case strings.HasSuffix(text, jobFile(n)+">"):
			marked = marked || strings.Contains(text, "(repeated)")
			one, other = &a.files, &a.markedFiles
		default:
			continue
		}
		if marked {
			one = other
		}
		*one++
	}
	return a
}

// left is what stands in the chats and is no answer, or one shown before.
func (c *crash) left() (left []string) {
	for user := range programtest.Users {
		known := []string{}
		for n := user; n < c.written; n += programtest.Users {
			known = append(known, append(c.finals(n), "<"+jobFile(n)+">")...)
		}
		for _, text := range c.place.Shown(user) {
			text = strings.TrimSpace(text)
			if i := slices.Index(known, text); i >= 0 {
				known = slices.Delete(known, i, i+1)
				continue
			}
			left = append(left, fmt.Sprintf("user %d: %s", user, text))
		}
	}
	return left
}

// A draft of which nobody knows that it is there stays, and shows nothing of the answer; one that may
// show all of it, by a change that is in doubt, is taken back. Neither is an answer that was shown twice.
func TestDraftInDoubtShowsNoAnswerTwice(t *testing.T) {
	t.Parallel()
	c := newCrash(t, 1, func(r *programtest.Rig) programtest.Place { return programtest.NewTelegramPlace(t, false) }, "")
	p := c.place.(*programtest.TelegramPlace)
	p.Server.Mend()
	for user, method := range map[int]string{0: "sendMessage", 3: "editMessageText"} {
		p.Server.Break(platformtest.Fault{Method: method, Lost: true, When: func(call platformtest.Call) bool {
			return call.Int("chat_id") == p.Users[user].ID
		}})
	}
	p.Server.Break(platformtest.Fault{Method: "deleteMessage", Delay: time.Second})
	c.rig.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := c.think(req)
		reply.NoUsage = true
		switch job := programtest.Said(req); {
		case req.Role != "planner":
		case job == "job 0": // the draft shows all of it at once
			reply.Pieces, reply.Pause = []string{reply.Text}, 1500*time.Millisecond
		case job == "job 3": // and here by its first change
			before, after, _ := strings.Cut(reply.Text, " "+job)
			reply.Pieces, reply.Pause = []string{before, " " + job + after}, 2*time.Second
		}
		return reply
	})
	c.rig.Up()
	c.write(4)
	c.settle()
	t.Logf("shown are %q and %q", p.Shown(0), p.Shown(3))
	c.check()
}
