package main_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/platformtest"
)

// BenchmarkPlatforms lets people write on fake platforms to the real program, with the
// limits off and a model that answers at once; each waits for the answer before it writes
// again. A message's time is from when it is written until the call with its answer comes.
func BenchmarkPlatforms(b *testing.B) {
	for _, p := range []struct {
		name, method, chat string
		place              func(testing.TB) benchPlace
	}{
		{"telegram", "sendMessage", "chat_id", telegramBench},
		{"slack", "chat.postMessage", "channel", slackBench},
		{"discord", "POST /channels/{channel}/messages", "channel", discordBench},
	} {
		for _, users := range []struct {
			name string
			n    int
		}{{"one", 1}, {"twenty", crashUsers}} {
			b.Run(p.name+"/"+users.name, func(b *testing.B) { benchPlatform(b, p.place(b), p.method, p.chat, users.n) })
		}
	}
}

// A benchPlace is a platform, its chats by user, and how its calls are watched.
type benchPlace struct {
	place
	chats [crashUsers]string
	host  interface {
		Break(platformtest.Fault)
		Mend()
	}
}

func telegramBench(t testing.TB) benchPlace {
	p := newTelegramPlace(t, false)
	chats := [crashUsers]string{}
	for u, user := range p.users {
		chats[u] = strconv.FormatInt(user.ID, 10)
	}
	return benchPlace{p, chats, p.server}
}

func slackBench(t testing.TB) benchPlace {
	p := newSlackPlace(t, false)
	p.server.Limit(false)
	chats := [crashUsers]string{}
	for u, user := range p.users {
		chats[u] = p.server.Direct(user.ID)
	}
	return benchPlace{p, chats, p.server}
}

func discordBench(t testing.TB) benchPlace {
	p := newDiscordPlace(t, false)
	return benchPlace{p, p.users, p.server}
}

func benchPlatform(b *testing.B, p benchPlace, method, chat string, users int) {
	r := newRig(b, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n")
	r.append(strings.Replace(p.settings(), "tools_deny", "rate = \"off\"\ntools_deny", 1))
	r.model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("hello")))
	})
	answered := map[string]chan struct{}{}
	for u := range users {
		answered[p.chats[u]] = make(chan struct{}, 10)
	}
	p.host.Mend() // the place sends slowly, for crash tests
	p.host.Break(platformtest.Fault{Method: method, Times: -1, When: func(c platformtest.Call) bool {
		select {
		case answered[c.Values[chat]] <- struct{}{}:
		default:
		}
		return false
	}})
	r.up()
	ask := func(u int) {
		p.say(u, "hello")
		select {
		case <-answered[p.chats[u]]:
		case <-time.After(time.Minute):
			panic("no answer on " + p.chats[u])
		}
	}
	for u := range users { // everything is warm once
		ask(u)
	}
	took := make([][]time.Duration, users)
	var left atomic.Int64
	left.Store(int64(b.N))
	cpu := cpuOf(b, r.cmd.Process.Pid)
	b.ResetTimer()
	var all sync.WaitGroup
	for u := range users {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				ask(u)
				took[u] = append(took[u], time.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	list := slices.Concat(took...)
	slices.Sort(list)
	b.ReportMetric(float64(list[len(list)/2])/float64(time.Millisecond), "p50-ms")
	b.ReportMetric(float64(list[len(list)*99/100])/float64(time.Millisecond), "p99-ms")
	b.ReportMetric(float64(len(list))/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(float64(cpuOf(b, r.cmd.Process.Pid)-cpu)/float64(time.Millisecond)/float64(len(list)), "cpu-ms/msg")
	r.stop(20 * time.Second)
}
