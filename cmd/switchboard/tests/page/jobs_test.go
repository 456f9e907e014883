package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/scheduler"
)

// inRome has a test done on both databases, with times of Rome.
func inRome(t *testing.T, extra string, test func(*testing.T, *site)) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, database, "[scheduler]\ntimezone = \"Europe/Rome\"\n"+extra))
		})
	}
}

// A client is somebody who is signed in with no browser.
type client struct {
	*site
	http.Client
	t *testing.T
}

func (s *site) client(t *testing.T, person string) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{s, http.Client{Jar: jar}, t}
	_, secret, _ := strings.Cut(s.link(person), "#")
	c.wants(http.StatusOK, "Sign out", "POST", "/signin/link", "secret", secret)
	return c
}

// wants asks for a page, and wants a status and a text in the answer.
func (c *client) wants(status int, text, method, path string, fields ...string) string {
	c.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status || !strings.Contains(string(body), text) {
		c.t.Errorf("%s %s %q: %d\n%s\nwant %d, %q", method, path, fields, resp.StatusCode, body, status, text)
	}
	return string(body)
}

// A person sees and changes their own jobs alone, an admin everybody's; what cannot be is said with its reason, and nothing is made.
func TestJobsAreTheirOwners(t *testing.T) {
	t.Parallel()
	inRome(t, "", func(t *testing.T, s *site) {
		ada, bob, root := s.client(t, "ada"), s.client(t, "bob"), s.client(t, "root")
		ada.wants(200, "No reminders yet", "GET", "/jobs")
		ada.wants(400, "Write to me in a chat first", "POST", "/jobs", "kind", "reminder", "when", "tomorrow at 9", "text", "call Ann")
		for _, c := range []*client{ada, bob, root} {
			c.wants(200, "", "POST", "/chat", "text", "hello")
		}
		if page := ada.wants(200, "hello", "GET", fmt.Sprint("/turns/", s.rows("SELECT id FROM turns WHERE person = 'ada'")[0][0])); !regexp.MustCompile(`\d CES?T`).MatchString(page) {
			t.Errorf("why a turn went so is not told in times of Rome:\n%s", page)
		}
		ada.wants(200, "That is: every weekday at 08:00 (Europe/Rome); next ", "GET", "/jobs/read?kind=reminder&when=every+weekday+at+8")
		ada.wants(200, `class="wrong"`, "GET", "/jobs/read?kind=reminder&when=when+pigs+fly")
		ada.wants(200, "A heartbeat comes again and again", "GET", "/jobs/read?kind=heartbeat&when=tomorrow+at+9")
		ada.wants(200, "No reminders yet", "GET", "/jobs")
		for _, bad := range []struct{ kind, when, text, want string }{
			{"reminder", "when pigs fly", "call Ann", "When? Say for example"},
			{"reminder", "tomorrow at 9", "", "What shall I remind you of"},
			{"reminder", "2020-01-01 09:00", "tea", "is over"},
			{"reminder", "every 10 seconds", "tea", "too often"},
			{"task", "tomorrow at 9", strings.Repeat("x", 8001), "too long"},
			{"message", "tomorrow at 9", "tea", "somebody to whom it goes"},
			{"maintenance", "tomorrow at 9", "tea", "somebody to whom it goes"},
		} {
			ada.wants(400, bad.want, "POST", "/jobs", "kind", bad.kind, "when", bad.when, "text", bad.text)
		}
		ada.wants(200, "No reminders yet", "GET", "/jobs")

		ada.wants(200, "call &lt;Ann&gt;", "POST", "/jobs", "kind", "reminder", "when", "every weekday at 8", "text", "call <Ann>")
		adas := func() []scheduler.Job {
			return programtest.List[[]scheduler.Job](s.Rig, "job", "list", "--person", "ada", "--json")
		}
		path := fmt.Sprint("/jobs/", adas()[0].ID)
		ada.wants(200, "every weekday at 08:00 (Europe/Rome)", "GET", path)
		bob.wants(200, "No reminders yet", "GET", "/jobs")
		bob.wants(200, "No reminders yet", "GET", "/jobs?all=1") // which is for admins
		bob.wants(404, "it is not yours", "GET", path)
		bob.wants(404, "it is not yours", "POST", path, "when", "tomorrow at 9")
		for _, action := range []string{"pause", "resume", "run", "skip", "snooze", "remove"} {
			bob.wants(404, "it is not yours", "POST", path+"/"+action)
		}
		bob.wants(200, "You have no job", "GET", "/jobs/read?when=tomorrow+at+9&job="+strings.TrimPrefix(path, "/jobs/"))
		ada.wants(404, "There is no such thing", "GET", "/jobs/99999")
		ada.wants(404, "There is no such thing", "POST", path+"/explode")
		ada.wants(409, "another time or another text", "POST", path, "when", "x", "when_was", "x")
		ada.wants(400, "such as 10m or 1h", "POST", path+"/snooze", "by", "never")
		ada.wants(200, "call &lt;Ann&gt;", "POST", path+"/snooze", "by", "tomorrow at 9")
		if list := adas(); len(list) != 2 || !strings.HasSuffix(list[1].Spec.At, "T09:00:00") {
			t.Errorf("after it was snoozed there are %+v", list)
		}

		root.wants(200, "No reminders yet", "GET", "/jobs")
		root.wants(200, "for ada", "GET", "/jobs?all=1")
		root.wants(200, "for ada", "GET", path)
		root.wants(200, "paused", "POST", path+"/pause", "all", "1")
		ada.wants(200, "<b class=\"paused\">", "GET", path)
		if out, _, _ := s.Command("audit", "export", "--kind", "job"); !strings.Contains(out, `"job.pause"`) || !strings.Contains(out, `"browser"`) {
			t.Errorf("the audit log says %s", out)
		}
		ada.wants(409, "is paused already", "POST", path+"/pause")
	})
}

// A person adds a job by the form, which says what it reads, pauses, resumes, changes and removes it; a reminder that is due shows itself in
// the open chat.
func TestJobsInTheBrowser(t *testing.T) {
	t.Parallel()
	inRome(t, "", func(t *testing.T, s *site) {
		ada := s.signedIn(t, "ada")
		ada.writes("hello there")
		ada.reads("heard: hello there")
		chat := ada.Tab()
		chat.Run(chromedp.Navigate("http://" + s.address + pagetest.Evaluate[string](ada.Page, "location.pathname")))
		chat.Await("the chat", `document.querySelectorAll("#items > article").length === 2`)

		ada.opens("/jobs")
		ada.Await("the menu", `document.querySelector('#side footer a[aria-current]').textContent === "Reminders and jobs"`)
		ada.Run(chromedp.SendKeys("#job-text", "stretch"), chromedp.SendKeys("#job-when", "when pigs"))
		ada.Await("why it is not read", `document.querySelector("#job-echo .wrong")`)
		ada.Do(`document.querySelector("#job-when").select()`)
		ada.Run(chromedp.SendKeys("#job-when", "every weekday at 8"))
		ada.Await("the echo", `document.querySelector("#job-echo").innerText.startsWith("That is: every weekday at 08:00 (Europe/Rome); next ")`)
		ada.clicks(`#job-form button`)
		ada.Await("what it says", `document.querySelector("#toast").innerText.includes("I'll remind you every weekday at 08:00 (Europe/Rome): stretch.")`)
		ada.Await("the job in the list", `document.querySelector("#jobs .job.active h2").innerText === "stretch"`)
		ada.Await("an empty form", `!document.querySelector("#job-text").value && !document.querySelector("#job-when").value && !document.querySelector("#job-echo").innerText`)
		press := func(p pagetest.Page, action string) {
			t.Helper()
			p.Await("that the page is at rest", `!document.querySelector(".htmx-request, .htmx-settling, .htmx-swapping")`) // else the form is sent without htmx
			p.Do(fmt.Sprintf(`document.querySelector("[id^=%s-]").click()`, action))
		}
		press(ada.Page, "pause")
		ada.Await("that it is paused", `document.querySelector("#jobs .job.paused") && document.querySelector("#toast").innerText.includes("I paused reminder")`)
		press(ada.Page, "resume")
		ada.Await("that it goes on", `document.querySelector("#jobs .job.active") && document.querySelector("#toast").innerText.includes("Resumed.")`)
		press(ada.Page, "skip")
		ada.Await("that it is skipped", `document.querySelector("#jobs .runs .skipped") && document.querySelector("#toast").innerText.includes("I'll skip the next run")`)

		ada.clicks(`#jobs h2 a`)
		ada.Await("the page of the job", `document.querySelectorAll("#job .next li").length === 3 && document.querySelector("#job .history .skipped")`)
		press(ada.Page, "run")
		ada.Await("that it runs", `document.querySelector("#toast").innerText.includes("I'm running reminder")`)
		chat.Await("the reminder in the open chat", `[...document.querySelectorAll("#items > article.bot .text")].some((e) => e.innerText.includes("stretch"))`)
		ada.Do(`document.querySelector("#job-when").select()`)
		ada.Run(chromedp.SendKeys("#job-when", "every day at 10"))
		ada.Await("the echo", `document.querySelector("#job-echo").innerText.startsWith("That is: every day at 10:00 (Europe/Rome); next ")`)
		ada.Do(`document.querySelector("#job-text").select()`)
		ada.Run(chromedp.SendKeys("#job-text", "stretch and breathe"))
		ada.clicks(`#job-form button`)
		ada.Await("what it is now", `document.querySelector("#job .what").innerText === "stretch and breathe" && document.querySelector("#job .facts").innerText.includes("every day at 10:00 (Europe/Rome)")`)
		ada.Run(chromedp.Reload())
		ada.Await("its history", `document.querySelector("#job .history .done")`)
		ada.Shoot("job")

		ada.opens("/jobs")
		ada.Run(chromedp.SendKeys("#job-text", "drink water"), chromedp.SendKeys("#job-when", "in 3 seconds"))
		ada.clicks(`#job-form button`)
		chat.Await("the reminder that is due", `[...document.querySelectorAll("#items > article.bot .text")].some((e) => e.innerText.includes("drink water"))`)
		ada.Await("that it is over", `![...document.querySelectorAll("#jobs h2")].some((e) => e.innerText.includes("drink water"))`)
		ada.Run(chromedp.SendKeys("#job-text", "water the plants, and look whether the basil lives"), chromedp.SendKeys("#job-when", "every 3 days at 18:30"))
		ada.Await("the echo", `document.querySelector("#job-echo").innerText.startsWith("That is: ")`)
		ada.Shoot("jobs")
		ada.Do(`window.confirm = () => true`)
		press(ada.Page, "remove")
		ada.Await("that it is gone", `document.querySelector("#toast").innerText.includes("I removed reminder") && ![...document.querySelectorAll("#jobs h2")].some((e) => e.innerText.includes("stretch"))`)
	})
}

// A reminder that comes while another page is open shows there that there is something to read, and leaves the list of jobs.
func TestReminderIsSeenOnEveryPage(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.writes("hello there")
		root.reads("heard: hello there")
		unread := `document.querySelector("#sessions .unread")`
		adds := func(when string, jobs int) {
			root.opens("/jobs")
			root.Await("the stream", `document.querySelector("#live")`)
			root.Run(chromedp.SendKeys("#job-text", "stretch"), chromedp.SendKeys("#job-when", when))
			root.clicks(`#job-form button`)
			root.Await("the job", fmt.Sprintf(`document.querySelectorAll("#jobs .job.active").length === %d && !`, jobs)+unread)
			root.Do(`window.same = true`)
		}
		adds("in 10 seconds", 1)
		root.Await("that it was said, and is over", unread+` && !document.querySelector("#jobs .job") && window.same`)
		root.Shoot("unread")
		visitor := s.visitor("root")
		chat := pagetest.Evaluate[string](root.Page, `document.querySelector("#sessions a").pathname`)
		for range 2 {
			if status, _, page := visitor.does("GET", chat, ""); status != http.StatusOK || !strings.Contains(page, "stretch") {
				t.Fatalf("%s: %d %s", chat, status, page)
			}
		}
		if _, _, page := visitor.does("GET", "/jobs", ""); !strings.Contains(page, `class="unread"`) {
			t.Error("a page that was loaded ahead is taken for read")
		}
		root.clicks(`#sessions a`)
		root.reads("stretch")
		root.Await("it is read", `document.querySelector("#live") && !`+unread)
		for i, path := range []string{"/settings", "/now", "/me", "/"} {
			adds("in 1 hour", i+1)
			root.opens(path)
			root.Await("the menu of "+path, `document.querySelector("#live") && !`+unread)
			root.Do(`window.same = true`)
			s.Prints("job run "+s.rows("SELECT max(id) FROM jobs")[0][0], 0)
			root.Await("that it was said, on "+path, unread+" && window.same")
			root.clicks(`#sessions a`)
			root.Await("it is read", `location.pathname.startsWith("/c/") && document.querySelector("#live") && !`+unread)
		}
	})
}

// A press is shown by the label of its button, and a button goes once it can do nothing any more.
func TestPressedButtonsOfReminders(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		ada := s.signedIn(t, "ada")
		ada.writes("/remind in 6 seconds stretch")
		buttons := func(labels string) {
			t.Helper()
			ada.Await(labels, fmt.Sprintf(`[...document.querySelectorAll("#items .choices button")].map((e) => e.innerText).join() === %q`, labels))
		}
		wrote := func(text string) {
			t.Helper()
			ada.Await("that "+text+" is shown", fmt.Sprintf(`(() => { const mine = [...document.querySelectorAll("#items .person")].at(-1); return mine.querySelector(".said").innerText === %q && !mine.querySelector(".edit") })()`, text))
		}
		buttons("Change,Cancel")
		ada.reads("Reminder: stretch")
		buttons("10 min,1 h,Tomorrow")
		ada.clicks(`#items .choices button`)
		wrote("10 min")
		buttons("Change,Cancel")
		ada.clicks(`#items .choices button:last-child`)
		wrote("Cancel")
		const changes = `[...document.querySelectorAll("#items .choices button")].some((e) => e.innerText === "Change")`
		ada.Await("nothing to change", "!"+changes)
		ada.Run(chromedp.Reload())
		wrote("Cancel")
		ada.Await("nor after a reload", "!"+changes)
	})
}

// What models cost is shown by day, person and model: to admins of everybody, to others their own.
func TestMoneyInTheBrowser(t *testing.T) {
	t.Parallel()
	inRome(t, "[budget]\ncurrency = \"EUR\"\n[llm.models.dear]\nmodel = \"fake/model\"\nmax_output_tokens = 4\nprice_in = 100.0\nprice_out = 1000.0\n", func(t *testing.T, s *site) {
		bob := s.client(t, "bob")
		bob.wants(200, "Nothing yet", "GET", "/money")
		bob.wants(200, "(Europe/Rome)\">", "GET", "/money")
		s.client(t, "root").wants(200, `<a href="/settings/budget.per_day">`, "GET", "/money")
		ada := s.signedIn(t, "ada")
		for _, setting := range [][2]string{{"agent.planner", "dear"}, {"budget.per_day", "20"}, {"budget.per_person_day", "10"}} {
			if out, errs, code := s.Command("config", "set", setting[0], setting[1]); code != 0 {
				t.Fatalf("set %s: %s%s", setting[0], out, errs)
			}
			s.Counts(setting[0], setting[1])
		}
		ada.writes("hello there")
		ada.reads("heard: hello there")
		ada.opens("/money")
		ada.Await("what ada spent", `document.querySelector(".numbers tbody th").innerText === "You" && document.querySelector(".numbers tbody").innerText.includes("10.00 EUR")`)
		ada.Await("the bars", `[...document.querySelectorAll(".days rect")].length === 30 && document.querySelector(".days rect:last-child").height.baseVal.value === 100`)
		ada.Do(`document.querySelector("details.table").open = true`)
		ada.Await("the table", `document.querySelector("details.table tbody").innerText.includes("EUR")`)
		bob.wants(200, "Nothing yet", "GET", "/money")
		if page := bob.wants(200, "You", "GET", "/money"); strings.Contains(page, "In all</th><td>") || strings.Contains(page, "ada") {
			t.Errorf("bob sees what others spent:\n%s", page)
		}
		root := s.signedIn(t, "root")
		root.opens("/money")
		root.Await("everybody's", `document.querySelector(".numbers tbody").innerText.includes("ada") && document.querySelectorAll(".bars").length === 2`)
		root.Do(`document.querySelector("details.table").open = true`)
		root.Shoot("money")
	})
}
