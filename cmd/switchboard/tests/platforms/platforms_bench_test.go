package platforms_test

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
	"switchboard/cmd/switchboard/programtest"
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
		}{{"one", 1}, {"twenty", programtest.Users}} {
			b.Run(p.name+"/"+users.name, func(b *testing.B) { benchPlatform(b, p.place(b), p.method, p.chat, users.n) })
		}
	}
}

// A benchPlace is a platform, its chats by user, and how its calls are watched.
type benchPlace struct {
	programtest.Place
	chats [programtest.Users]string
	host  interface {
		Break(platformtest.Fault)
		Mend()
	}
}

func telegramBench(t testing.TB) benchPlace {
	p := programtest.NewTelegramPlace(t, false)
	chats := [programtest.Users]string{}
	for u, user := range p.Users {
		chats[u] = strconv.FormatInt(user.ID, 10)
	}
	return benchPlace{p, chats, p.Server}
}

func slackBench(t testing.TB) benchPlace {
	p := programtest.NewSlackPlace(t, false)
	p.Server.Limit(false)
	chats := [programtest.Users]string{}
	for u, user := range p.Users {
		chats[u] = p.Server.Direct(user.ID)
	}
	return benchPlace{p, chats, p.Server}
}

func discordBench(t testing.TB) benchPlace {
	p := programtest.NewDiscordPlace(t, false)
	return benchPlace{p, p.Users, p.Server}
}

func benchPlatform(b *testing.B, p benchPlace, method, chat string, users int) {
	r := programtest.NewRig(b, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n")
	r.Append(strings.Replace(p.Settings(), "tools_deny", "rate = \"off\"\ntools_deny", 1))
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
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
	r.Up()
	ask := func(u int) {
		p.Say(u, "hello")
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
	cpu := programtest.CpuOf(b, r.Cmd.Process.Pid)
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
	b.ReportMetric(float64(programtest.CpuOf(b, r.Cmd.Process.Pid)-cpu)/float64(time.Millisecond)/float64(len(list)), "cpu-ms/msg")
	r.Stop(20 * time.Second)
}
