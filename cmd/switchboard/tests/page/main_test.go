// Package page_test opens the page of the program in a real browser.
package page_test

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { programtest.MainAtOnce(m, 3) } // a browser computes

// A site is the program with its page.
type site struct {
	*programtest.Rig
	address string
	url     string // of the database; empty: it is a file
}

// newSite starts the program, in which root is an admin, ada and bob are users, on that database.
func newSite(t *testing.T, database, extra string) *site {
	t.Helper()
	s := &site{address: testkit.FreeAddress(t)}
	settings := fmt.Sprintf("groups = \"open\"\nrequire_mention = false\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[policy.exec]\nask = [\"echo *\"]\n[server]\nlisten = %q\n", s.address)
	if database == "postgres" {
		s.url = storetest.MigratedURL(t)
		settings += fmt.Sprintf("[store]\nurl = %q\n", s.url)
	}
	for _, name := range []string{"ada", "bob"} {
		settings += fmt.Sprintf("[[people]]\nname = %q\nidentities = [\"scripted:%s\"]\ntools = [\"exec\"]\n", name, name)
	}
	s.Rig = programtest.NewRig(t, []string{"root"}, settings+extra)
	s.Model.Handle(programtest.Clerk)
	s.Ready()
	return s
}

// each has a test done on both databases: what makes messages, and outlives a kill.
func each(t *testing.T, test func(*testing.T, *site)) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, database, ""))
		})
	}
}

// either has a test done on one of the databases, which its name picks: what such a page reads and writes goes by the features' own
// statements, whose tests run on both.
func either(t *testing.T, test func(*testing.T, *site)) {
	t.Helper()
	name := fnv.New32a()
	_, _ = name.Write([]byte(t.Name()))
	test(t, newSite(t, []string{"sqlite", "postgres"}[name.Sum32()%2], ""))
}

// rows are what a query of the database brings.
func (s *site) rows(query string) [][]string {
	s.T.Helper()
	if s.url == "" {
		return programtest.RowsOf(s.T, "sqlite", "file:"+filepath.Join(s.Dir, "data", "switchboard.db")+"?_pragma=busy_timeout(5000)", query)
	}
	return programtest.RowsOf(s.T, "postgres", s.url, query)
}

// visitor calls pages without a browser as a person; empty: as nobody.
func (s *site) visitor(person string) *visit {
	s.T.Helper()
	v := &visit{site: s, t: s.T}
	if person != "" {
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link(person)))
	}
	return v
}

// does calls a page, with a form as it is sent.
func (v *visit) does(method, path, form string, headers ...string) (status int, header http.Header, page string) {
	v.t.Helper()
	fields, err := url.ParseQuery(form)
	if err != nil {
		v.t.Fatal(err)
	}
	resp, page := v.asks(method, path, fields, headers...)
	return resp.StatusCode, resp.Header, page
}

var linkShape = regexp.MustCompile(`http://\S+/signin#\S+`)

// link is one that signs a person in.
func (s *site) link(person string) string {
	s.T.Helper()
	out, errs, _ := s.Command("signin", "--as", person)
	link := linkShape.FindString(out)
	if link == "" {
		s.T.Fatalf("signin prints %q, %q", out, errs)
	}
	return link
}

// A browser is a page on which somebody is signed in.
type browser struct {
	pagetest.Page
	*site
	t       *testing.T
	refused string // a text of faults that there are to be; empty: none
}

// signedIn is a browser of its own in which a person is.
func (s *site) signedIn(t *testing.T, person string) *browser {
	t.Helper()
	b := &browser{Page: pagetest.Start(t), site: s, t: t}
	t.Cleanup(func() {
		faults := slices.DeleteFunc(b.Faults(), func(f string) bool { return b.refused != "" && strings.Contains(f, b.refused) })
		if len(faults) > 0 {
			t.Errorf("the browser of %s has faults:\n%s", person, strings.Join(faults, "\n"))
		}
	})
	b.Run(chromedp.Navigate(s.link(person)))
	b.Await("the link's button", `document.querySelector("#link")`)
	b.clicks(`#link button`)
	b.Await("the page", `document.querySelector("#composer")`)
	return b
}

// writes sends a message.
func (b *browser) writes(text string) {
	b.t.Helper()
	b.Await("the line to write in", `!document.querySelector("#send").disabled`)
	b.Say(text)
}

// reads waits until the conversation shows a text of the bot.
func (b *browser) reads(text string) {
	b.t.Helper()
	b.Await(fmt.Sprintf("%q", text), fmt.Sprintf(`[...document.querySelectorAll("#items > article.bot .text")].some((e) => e.innerText.includes(%q))`, text))
}

// opens opens a path of the page.
func (b *browser) opens(path string) {
	b.t.Helper()
	b.Run(chromedp.Navigate("http://" + b.address + path))
}

// shows waits until the page is there whole, and has a text.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.Await(fmt.Sprintf("%q", text), fmt.Sprintf(`document.readyState === "complete" && document.querySelector("#main, main").innerText.includes(%q)`, text))
}

// settled says that htmx knows all that stands there: a press in the moment before is the browser's own.
const settled = `document.readyState === "complete" && !document.querySelector(".htmx-request, .htmx-settling, .htmx-swapping, .htmx-added")`

// clicks presses what a selector finds, once it is there.
func (b *browser) clicks(selector string) {
	b.t.Helper()
	b.Await(selector, fmt.Sprintf(`document.querySelector(%q) && %s`, selector, settled))
	b.Do(fmt.Sprintf(`document.querySelector(%q).click()`, selector))
}
