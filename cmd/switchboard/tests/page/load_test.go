//go:build load

package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// TestPageLoad measures what pages cost the server. It holds nothing: the figures stand in docs/performance.md.
func TestPageLoad(t *testing.T) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			s := newSite(t, database, "")
			s.Model.Handle(programtest.Echo)
			v := s.visitor("ada")
			fill := func(messages int) string {
				resp, _ := v.asks("POST", "/chat", url.Values{"text": {"begin"}})
				path := resp.Header.Get("Location")
				for n := 2; n < messages; n += 2 {
					for {
						resp, _ := v.asks("POST", path+"/messages", url.Values{"text": {fmt.Sprint("say something of message ", n)}})
						if resp.StatusCode == http.StatusSeeOther {
							break
						}
						time.Sleep(10 * time.Millisecond) // its queue is full
					}
				}
				s.Await("all is answered", 5*time.Minute, func() bool {
					_, body := v.asks("GET", path, nil)
					return strings.Contains(body, fmt.Sprint("heard: say something of message ", messages-messages%2-2)) && !strings.Contains(body, `class="working"`)
				})
				return path
			}
			measure := func(what, path string) {
				var took []time.Duration
				size := 0
				for range 20 {
					began := time.Now()
					_, body := v.asks("GET", path, nil)
					took, size = append(took, time.Since(began)), len(body)
				}
				slices.Sort(took)
				t.Logf("%s: %s, median of 20 (%s to %s), %d KB", what, took[10], took[0], took[19], size>>10)
			}
			small, large := fill(100), fill(10_000)
			measure("a conversation of 100 messages", small)
			measure("a conversation of 10,000 messages", large)
			measure("a new chat", "/")
			before := resident(t, s)
			v.open(small+"/live?after=0", 100) // one person has no more
			bob := &visit{site: s, t: t}
			bob.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("bob")))
			bob.open(bob.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"begin"}}).Header.Get("Location")+"/live?after=0", 100)
			time.Sleep(5 * time.Second)
			t.Logf("200 open pages: %d MB more", (resident(t, s)-before)>>10)
		})
	}
}

// Pages that are open ask the database nothing while nothing happens. How many transactions it had is told late, by up to ten seconds.
func TestOpenPagesAskNothing(t *testing.T) {
	s := newSite(t, "postgres", "")
	s.Ask("root", "hello")
	root := &visit{site: s, t: t}
	root.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("root")))
	chat := root.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"begin"}}).Header.Get("Location")
	asked := func() int {
		n, err := strconv.Atoi(s.rows("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")[0][0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	window := func() int {
		time.Sleep(15 * time.Second)
		before := asked()
		time.Sleep(40 * time.Second)
		return asked() - before
	}
	without := window()
	root.open(chat+"/live?after=0", 20)
	root.open("/c/"+url.PathEscape(s.rows("SELECT key FROM sessions WHERE key LIKE 'play:%'")[0][0])+"/live?after=0", 15)
	root.open("/now/live", 10)
	root.open("/live", 5)
	with := window()
	t.Logf("transactions in 40 s: %d with no page, %d with 50 open pages", without, with)
	if with > without+25 {
		t.Error("open pages ask the database while nothing happens")
	}
}

// open keeps streams open until the test ends.
func (v *visit) open(path string, n int) {
	for range n {
		r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, "http://"+v.address+path, nil)
		if err != nil {
			v.t.Fatal(err)
		}
		r.Header.Set("Cookie", "switchboard="+v.cookie)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			v.t.Fatal(err)
		}
		v.t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			v.t.Fatalf("%s is answered %s", path, resp.Status)
		}
		go io.Copy(io.Discard, resp.Body)
	}
}

// resident is what the program has in memory, in KB.
func resident(t *testing.T, s *site) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
