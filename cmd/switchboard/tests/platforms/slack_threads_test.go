package platforms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/cmd/switchboard/programtest"
)

// A slackRig is the program with a Slack app in a channel with ada.
type slackRig struct {
	*programtest.Rig
	slack   *slacktest.Server
	ada     slacktest.User
	bob     slacktest.User // is in the channel, and nobody to the bot
	channel string
}

func newSlackRig(t *testing.T, extra string) *slackRig {
	t.Helper()
	r := &slackRig{Rig: programtest.NewRig(t, nil, "[router]\nrate_person = \"off\"\nworkers = 24\n[agent]\nplanner = \"fake/model\"\n"), slack: slacktest.New(t)}
	r.Model.Handle(programtest.NewSlowModel().Think)
	r.ada, r.bob = r.slack.AddUser("Ada Lovelace"), r.slack.AddUser("Bob Noyce")
	r.channel = r.slack.AddChannel("general", r.ada, r.bob).ID
	r.Append(fmt.Sprintf("[channels.slack]\nkind = \"slack\"\nbot_token = %q\napp_token = %q\napi_url = %q\nallow_conversations = [%q]\n%s"+
		"[[people]]\nname = \"ada\"\nrole = \"admin\"\nidentities = [\"slack:%s\"]\n",
		r.slack.BotToken(), r.slack.AppToken(), r.slack.APIURL(), r.channel, extra, r.ada.ID))
	return r
}

// posts has ada write in the channel, or in a thread of it.
func (r *slackRig) posts(thread, text string) slacktest.Message {
	return r.slack.Post(slacktest.Post{Channel: r.channel, User: r.ada.ID, Thread: thread, Text: text})
}

// hears waits for the answer to a text in a thread.
func (r *slackRig) hears(thread, text string) {
	r.T.Helper()
	r.Await("an answer to "+text, programtest.Patience, func() bool {
		for _, m := range r.slack.FromBot(r.channel) {
			if m.ThreadTS == thread && strings.HasSuffix(m.Seen, "heard: "+text) {
				return true
			}
		}
		return false
	})
}

// A thread that begins with a mention while the bot is away is answered whole: also what does not name
// it. So it is where the platform tells all of that again, and where it tells nothing of it.
func TestThreadsThatBeginWhileTheBotIsAwayAreAnswered(t *testing.T) {
	t.Parallel()
	r := newSlackRig(t, "")
	r.Up()
	first := r.posts("", "@switchboard hello")
	r.hears(first.TS, "hello")
	for i, forgets := range []bool{true, false} {
		r.Kill()
		named, plain := fmt.Sprintf("one %d", i), fmt.Sprintf("two %d", i)
		root := r.posts("", "@switchboard "+named)
		r.posts(root.TS, plain)
		if forgets {
			r.slack.Forget()
		}
		r.Up()
		r.hears(root.TS, named)
		r.hears(root.TS, plain)
	}
}

// Answers that grow at the same time share what Slack lets through: it refuses nothing, and all of them
// end.
func TestAnswersThatGrowTogetherStayWithinTheLimits(t *testing.T) {
	t.Parallel()
	r := newSlackRig(t, "dm = \"open\"\n")
	words := strings.TrimSpace(strings.Repeat("word by word ", 40)) + " to the end"
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
		reply := llmtest.Text(llmtest.Plan("say it", llmtest.Answer(words)))
		reply.Pause = 150 * time.Millisecond
		return reply
	})
	r.Up()
	var chats []string
	for n := range 24 {
		user := r.slack.AddUser(fmt.Sprint("Guest", n))
		r.slack.Say(user.ID, "tell me")
		chats = append(chats, r.slack.Direct(user.ID))
	}
	grew := 0
	for _, chat := range chats {
		r.Await("the answer ends", 2*programtest.Patience, func() bool {
			all := r.slack.FromBot(chat)
			return len(all) == 1 && strings.HasSuffix(all[0].Seen, "to the end")
		})
		grew += r.slack.FromBot(chat)[0].Edits
	}
	if n := r.slack.Refused(); n > 0 || grew <= len(chats) {
		t.Errorf("Slack refused %d calls; %d answers were changed %d times", n, len(chats), grew)
	}
}

// What /switchboard answers in a channel only whoever gave it sees, with what a button under it answers;
// it is about the channel all the same.
func TestSlashCommandInAChannelAnswersOnlyThePerson(t *testing.T) {
	t.Parallel()
	r := newSlackRig(t, "")
	r.Up()
	seen := func(what string) (m slacktest.Shown) {
		t.Helper()
		r.Await("ada sees "+what, programtest.Patience, func() bool {
			for _, one := range r.slack.OnlyFor(r.channel, r.ada.ID) {
				if m = one; strings.Contains(m.Seen, what) {
					return true
				}
			}
			return false
		})
		return m
	}
	r.slack.Command(r.channel, r.ada.ID, "/switchboard", "mode ask")
	r.slack.Press(r.channel, r.ada.ID, seen("Mode: ask").TS, "act")
	seen("Mode: act")
	r.slack.Command(r.channel, r.ada.ID, "/switchboard", "status")
	seen("The model here is ")
	if all, others := r.slack.FromBot(r.channel), r.slack.OnlyFor(r.channel, r.bob.ID); len(all)+len(others) > 0 {
		t.Errorf("everybody sees %+v, bob %+v", all, others)
	}
	for _, m := range programtest.DevView(t, r.slack.URL(), r.bob.ID, r.channel).Messages {
		t.Errorf("bob sees %+v", m)
	}
}
