package page_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A server of one's own needs no key. What is wrong with one that was typed is said in the step, not for a moment.
func TestSetupTakesNoKeyForNone(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		model := llmtest.New(t)
		model.Lists("small")
		model.Handle(programtest.Clerk)
		v := &visit{site: s, t: t}
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("root")))
		form := url.Values{"server": {"local"}, "address": {model.URL()}, "key": {"tiny"}}
		answer, page := v.asks("POST", "/setup/model", form, "HX-Request", "true")
		if answer.StatusCode != http.StatusUnprocessableEntity || answer.Header.Get("HX-Retarget") != "" ||
			!strings.Contains(page, `<li class="wrong">A secret has at least 6 characters`) || !strings.Contains(page, "Nothing was kept.") {
			t.Errorf("%d, for %q: %s", answer.StatusCode, answer.Header.Get("HX-Retarget"), page)
		}
		form.Set("key", "")
		_, page = v.asks("POST", "/setup/model", form, "HX-Request", "true")
		todo := regexp.MustCompile(`To do: [^<]*`).FindAllString(page, -1)
		slices.Sort(todo)
		if !strings.Contains(page, "It is kept.") || len(slices.Compact(slices.Clone(todo))) != len(todo) {
			t.Errorf("it says %q in: %s", todo, page)
		}
		v.is(http.StatusOK, "local/small", "GET", "/settings/agent.planner", nil)
		gone := "http://" + testkit.FreeAddress(t) + "/v1"
		v.is(http.StatusUnprocessableEntity, "Nothing answers at "+gone+" (", "POST", "/setup/model", url.Values{"server": {"local"}, "address": {gone}})
		v.is(http.StatusOK, "I take that for Europe/Rome: it is ", "POST", "/setup/zone", url.Values{"zone": {"Roma"}})
		v.is(http.StatusOK, `is added at <a href="/setup">Setup</a>`, "GET", "/settings?q=telegram", nil)
	})
}

// A platform may have a server of one's own, which is tried and kept with the token. What is set already stands in the form.
func TestSetupTriesAServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		platform := telegramtest.New(t)
		v := &visit{site: s, t: t}
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("root")))
		form := url.Values{"kind": {"telegram"}, "telegram.token": {platform.Token()}, "telegram.api_url": {"not an address"}}
		v.is(http.StatusUnprocessableEntity, "is not an address", "POST", "/setup/channel", form)
		form.Set("telegram.api_url", platform.APIURL())
		v.is(http.StatusSeeOther, "", "POST", "/setup/channel", form)
		v.is(http.StatusOK, `value="`+platform.APIURL()+`"`, "GET", "/setup/channel", nil)
		v.is(http.StatusOK, "changed the settings channels.telegram.", "GET", "/audit", nil)
		if _, page := v.asks("GET", "/audit", nil); strings.Contains(page, "settings file changed") {
			t.Errorf("the audit log tells of the file, which stayed as it is: %s", page)
		}
		testkit.Await(t, "the channel", programtest.Patience, func() bool {
			_, page := v.asks("GET", "/setup/channel", nil)
			return strings.Contains(page, "The bot is on Telegram now.") && strings.Contains(page, `href="https://t.me/`+platform.Bot().User.Username+`?start=`)
		})
	})
}
