//go:build load

package page_test

import (
	"fmt"
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
			v := &visit{site: s, t: t}
			v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("ada")))
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
			for range 200 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+small+"/live?after=0", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Cookie", "switchboard="+v.cookie)
				resp, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				buffer := make([]byte, 4<<10)
				go func() {
					for {
						if _, err := resp.Body.Read(buffer); err != nil {
							return
						}
					}
				}()
			}
			time.Sleep(5 * time.Second)
			t.Logf("200 open pages: %d MB more", (resident(t, s)-before)>>10)
		})
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
