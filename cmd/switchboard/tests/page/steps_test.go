package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// A server of one's own needs no key. What is wrong with one that was typed is said in the step, not for a moment.
func TestSetupTakesNoKeyForNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
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
		v.is(http.StatusOK, "It is kept.", "POST", "/setup/model", form)
		v.is(http.StatusOK, "local/small", "GET", "/settings/agent.planner", nil)
	})
}
