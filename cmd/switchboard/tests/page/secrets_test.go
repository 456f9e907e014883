package page_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels/platformtest/pagetest"
)

// A secret is set, and its value is nowhere then; what is used stays.
func TestSecretsAreSet(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		const value = "a-value-that-nobody-reads"
		root := s.signedIn(t, "root")
		root.opens("/secrets")
		root.shows("No secret is set.")
		for _, name := range []string{"fake_key", "spare"} {
			root.fills(`form[action="/secrets/set"] [name=name]`, name)
			root.fills(`form[action="/secrets/set"] [name=value]`, value)
			root.sends(`form[action="/secrets/set"] button`)
			root.Await(name, `document.querySelector("tbody")?.innerText.includes("`+name+`")`)
		}
		s.Prints("config set llm.providers.fake.api_key secret:fake_key", 0)
		page := s.visitor("root")
		s.Await("the setting uses it", time.Second, func() bool {
			_, _, shown := page.does("GET", "/secrets", "")
			return strings.Contains(shown, "llm.providers.fake.api_key")
		})
		root.opens("/secrets")
		root.shows("llm.providers.fake.api_key")
		root.Shoot("secrets")
		for _, path := range []string{"/secrets", "/audit"} {
			root.opens(path)
			if strings.Contains(pagetest.Evaluate[string](root.Page, `document.documentElement.outerHTML`), value) {
				t.Errorf("the value is on %s", path)
			}
		}
		if strings.Contains(s.Log.String(), value) {
			t.Error("the value is in the log")
		}
		if n := s.rows("SELECT count(*) FROM audit WHERE data LIKE '%" + value + "%' OR why LIKE '%" + value + "%'")[0][0]; n != "0" {
			t.Error("the value is in the audit log")
		}
		root.opens("/secrets")
		root.agrees()
		root.refused = "409"
		root.clicks(`[aria-label="Remove fake_key"]`)
		root.Await("a refusal", `document.querySelector("#toast").innerText.includes("fake_key is used by llm.providers.fake.api_key; change that first")`)
		root.sends(`[aria-label="Remove spare"]`)
		root.Await("one secret", `document.querySelectorAll("tbody tr").length === 1`)
		s.Ask("ada", "hello") // the model is asked with it
	})
}

// A token is made, works, and is revoked. Its secret is shown once.
func TestTokensAreMade(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.opens("/tokens")
		root.shows("There is no token.")
		root.fills(`form[action="/tokens"] [name=name]`, "watcher")
		root.Do(`document.querySelector("[value=read]").checked = true; document.querySelector("[name=person]").value = "ada"`)
		root.sends(`form[action="/tokens"] button`)
		root.Await("the secret", `document.querySelector(".once code")`)
		secret := pagetest.Evaluate[string](root.Page, `document.querySelector(".once code").innerText`)
		root.Shoot("tokens")
		web := s.Web(secret)
		var list struct{ Sessions []any }
		web.Get(t, "/v1/sessions?person=ada", &list)
		root.opens("/tokens")
		root.shows("messages, read")
		if strings.Contains(pagetest.Evaluate[string](root.Page, `document.documentElement.outerHTML + location.href`), secret) {
			t.Error("the secret is shown once more")
		}
		root.sends(`[aria-label="Revoke watcher"]`)
		root.shows("no, revoked")
		if status, _, err := web.Do(t.Context(), "GET", "/v1/sessions?person=ada", nil); err != nil || status != 401 {
			t.Errorf("a revoked token: %d, %v", status, err)
		}
		if strings.Contains(s.Log.String(), secret) {
			t.Error("the secret is in the log")
		}
	})
}

// The audit log is picked from, read on, and held to its seals.
func TestAuditIsRead(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		for range 60 {
			s.visitor("bob") // signs in
		}
		root.opens("/audit")
		root.Await("a page of rows", `document.querySelectorAll("#rows tr").length === 51`)
		root.Shoot("audit")
		root.clicks(`#rows .more a`)
		root.Await("older rows", `document.querySelectorAll("#rows tr").length > 60`)
		root.opens("/audit?person=root")
		root.Await("rows of root", `[...document.querySelectorAll("#rows td:nth-child(2)")].every((e) => e.innerText === "root")`)
		root.shows("signed in browser")
		root.opens("/audit?kind=browser&day=" + time.Now().UTC().Format(time.DateOnly))
		root.shows("signed in browser")
		root.opens("/audit?day=2020-01-01")
		root.shows("Nothing was found.")
		root.opens("/audit")
		root.clicks(`form[action="/audit/verify"] button`)
		root.shows("nothing is sealed yet")
		root.clicks(`#rows details summary`)
		root.shows("browser.signin")
		s.rows("INSERT INTO audit_segments (id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at) SELECT 1, 0, 1, 2, 2, hash, hash, hash, 0 FROM browsers WHERE id = (SELECT min(id) FROM browsers) RETURNING id")
		root.clicks(`form[action="/audit/verify"] button`)
		root.shows("segment 1 of the audit log")
		root.Shoot("verified")
	})
}
