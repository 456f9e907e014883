package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person sees what is remembered of them, however it was said, adds, corrects, keeps and forgets it, and sets what the bot may; others see
// nothing of it, an admin does once they said so, which the audit log has.
func TestMemoryInTheBrowser(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		bob, root := s.client(t, "bob"), s.client(t, "root")
		ada := s.signedIn(t, "ada")
		ada.opens("/memory")
		ada.Await("nothing yet", `document.querySelector("#memories .empty").innerText.includes("/remember ")`)
		ada.Run(chromedp.SendKeys("#memory-text", "the <b>deploy</b> key rotates on Fridays"))
		ada.clicks(`#memory-form button`)
		ada.Await("what it says", `document.querySelector("#toast").innerText.includes("I'll remember: the <b>deploy</b> key")`)
		shows := func(what, kind string) {
			t.Helper()
			ada.Await(what, fmt.Sprintf(`document.querySelector("#memories h2")?.innerText === %q && document.querySelector("#memories .what").innerText === %q && !document.querySelector("#memory-text").value`, kind, what))
		}
		shows("the <b>deploy</b> key rotates on Fridays", "Facts")
		ada.Await("how it came to be", `document.querySelector("#memories .facts").innerText.startsWith("Written, ")`)
		ada.Do(`document.querySelector("#memories details").open = true`)
		ada.Do(`document.querySelector("#memories textarea").select()`)
		ada.Run(chromedp.SendKeys("#memories textarea", "the key rotates on Thursdays"))
		ada.clicks(`#memories details button`)
		shows("the key rotates on Thursdays", "Facts")
		ada.opens("/memory")
		ada.Await("the stream", `document.querySelector("#live")`)
		bob.wants(200, "hello", "POST", "/chat", "text", "hello") // something happens
		s.client(t, "ada").wants(200, "", "POST", "/chat", "text", "/learn style: be brief")
		ada.Await("a rule that was written elsewhere", `document.querySelector("#memories h2").innerText === "Rules" && document.querySelector("#memories .facts a[href*='/c/']").innerText === "in a chat" && document.querySelector("#memories .kind").innerText === "style"`)
		ada.Shoot("memory")

		// What is tainted is shown so until its person keeps it.
		s.rows("UPDATE memories SET taint = 'quote', kept = FALSE WHERE kind = 'fact' AND state = 'active' RETURNING id")
		ada.opens("/memory")
		ada.Await("that it is not sure", `document.querySelector("#memories .facts b").innerText === "Not sure: it comes from a quoted message."`)
		ada.clicks(`#memories [id^=keep-]`)
		ada.Await("that it is", `document.querySelector("#toast").innerText.includes("Kept: the key") && !document.querySelector("#memories :is(.facts b, [id^=keep-])")`)

		ids := s.rows("SELECT id FROM memories WHERE state = 'active' ORDER BY id")
		for _, other := range []*client{bob, root} {
			if page := other.wants(200, "Nothing yet", "GET", "/memory"); strings.Contains(page, "Thursdays") || strings.Contains(page, "be brief") {
				t.Errorf("others see %s", page)
			}
			for _, id := range ids {
				for _, does := range []string{"keep", "correct", "always", "forget"} {
					other.wants(404, "it is not yours", "POST", "/memory/"+id[0]+"/"+does, "text", "mine", "all", "1")
				}
			}
			if page := other.wants(200, "# What is remembered", "GET", "/memory/export"); strings.Contains(page, "key") {
				t.Errorf("others are sent %s", page)
			}
		}
		bob.wants(200, "Nothing yet", "GET", "/memory?of=ada")
		bob.wants(200, "Nothing yet", "GET", "/memory?all=1")
		bob.wants(403, "for admins", "POST", "/memory/read", "of", "ada")
		bob.wants(409, "Only admins", "POST", "/memory", "text", "be slow", "kind", "rule", "all", "1")
		bob.wants(409, "Split it", "POST", "/memory", "text", strings.Repeat("word ", 1500))
		bob.wants(404, "no such thing", "POST", "/memory/"+ids[0][0]+"/dance")
		if page := root.wants(200, "It belongs to ada.", "GET", "/memory?of=ada"); strings.Contains(page, "Thursdays") {
			t.Errorf("unasked an admin reads %s", page)
		}
		root.wants(404, "no such thing", "GET", "/memory?of=nobody")
		root.wants(404, "no such thing", "POST", "/memory/read", "of", "nobody")
		if page := root.wants(200, "Thursdays", "POST", "/memory/read", "of", "ada"); strings.Contains(page, "Forget") || strings.Contains(page, "memory-form") {
			t.Errorf("an admin can change what is another's: %s", page)
		}
		s.Prints("audit export --kind memory", 0, `"person":"root","action":"memory.look","target":"person ada","rule":"browser"`)
		root.wants(200, "be kind", "POST", "/memory", "text", "be kind", "kind", "rule", "all", "1")
		rule := s.rows("SELECT id FROM memories WHERE scope = 'global'")[0][0]
		bob.wants(404, "it is not yours", "POST", "/memory/"+rule+"/forget", "all", "1")
		root.wants(200, "in every prompt", "POST", "/memory/"+rule+"/always", "all", "1")

		ada.opens("/memory")
		ada.clicks(`#memory-settings [name=learning]`)
		ada.clicks(`#memory-settings [value=health]`)
		ada.clicks(`#memory-settings button`)
		ada.Await("the settings", `document.readyState === "complete" && !document.querySelector("#memory-settings [name=learning]")?.defaultChecked && document.querySelector("#memory-settings [value=health]")?.defaultChecked`)
		s.client(t, "ada").wants(409, "I remember nothing about health", "POST", "/memory", "text", "I have a headache and see a doctor")
		s.client(t, "ada").wants(400, "number of days", "POST", "/memory/settings", "expire", "soon")
		for range 2 {
			ada.clicks(`#memories [id^=forget-]`)
			ada.Await("that it is forgotten", `document.querySelector("#toast").innerText.includes("Forgotten: ")`)
			ada.Do(`document.querySelector("#toast").innerHTML = ""`)
		}
		ada.Await("nothing", `document.querySelector("#memories .empty")`)
	})
}
