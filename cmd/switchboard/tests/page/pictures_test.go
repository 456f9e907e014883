package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

const (
	invoices = "no;customer;sum;state;due\n1041;Rossi;320;paid;2026-03-14\n1042;Bauer;180;open;2026-03-31\n1043;Keller;95;open;2026-04-02\n1044;Moreau;610;paid;2026-03-20\n"
	unpaid   = "Two of the four are open, together **275 €**:\n\n| Invoice | Customer | Sum | Due |\n|---|---|---|---|\n| 1042 | Bauer | 180 € | 31 March |\n| 1043 | Keller | 95 € | 2 April |\n\n" +
		"Shall I remind them by mail?"
	trip = "- **By train:** 19 hours, one change in Madrid\n- **By plane:** 2 h 40 min, from 89 €\n\nThe train is cheaper if you book it before Sunday."
)

// secretary answers what the pictures show.
func secretary(req llmtest.Request) llmtest.Reply {
	said := programtest.Said(req)
	step := func(detail string, task llmtest.Task) llmtest.Task {
		task.Detail = detail
		return task
	}
	switch plan := func(goal string, tasks ...llmtest.Task) llmtest.Reply {
		return llmtest.Text(llmtest.Plan(goal, tasks...))
	}; {
	case req.Role == "worker":
		return llmtest.Text(unpaid)
	case req.Role != "planner":
	case strings.HasPrefix(said, "Which of these invoices"):
		return plan("Find the unpaid invoices of March",
			step("Save the file where commands see it", llmtest.Tool("attachment.save", map[string]any{"id": "1", "path": "invoices.csv", "mode": "create"}, "it is saved")),
			llmtest.Exec("awk -F';' '$4 == \"open\"' invoices.csv", "the invoices that are open"),
			llmtest.Task{Type: "msg", Detail: "List the unpaid ones, and ask whom to remind", Choices: []string{"Both", "Only Bauer", "Not now"}})
	case strings.HasPrefix(said, "How do I get"):
		return plan("Compare the ways to Lisbon", llmtest.Answer(trip))
	case strings.HasPrefix(said, "Back up"):
		return plan("Back up the shop", llmtest.Exec("pg_dump --format=custom --file=shop.dump shop", "shop.dump is there"), llmtest.Msg("Say that it is done"))
	case strings.HasPrefix(said, "Translate"):
		reply := plan("Translate the newsletter", llmtest.Answer("Fatto."))
		reply.Hang = true
		return reply
	default:
		return plan("Answer", llmtest.Answer("I noted it. Tell me when something changes."))
	}
	return programtest.Clerk(req)
}

// The pictures of docs/page.md: PAGETEST_SHOTS=$PWD/docs/pictures go test ./cmd/switchboard/tests/page -run TestPictures
func TestPictures(t *testing.T) {
	if os.Getenv("PAGETEST_SHOTS") == "" {
		t.Skip("they are made where PAGETEST_SHOTS names a folder")
	}
	telegram, slack := telegramtest.New(t), slacktest.New(t)
	ben, carla := telegram.AddUser("Ben"), slack.AddUser("Carla")
	ada := telegram.AddUser("Ada")
	s := &site{address: testkit.FreeAddress(t)}
	s.Rig = programtest.NewRig(t, nil, fmt.Sprintf(`groups = "open"
[agent]
planner = "main"
[llm.models.main]
model = "ollama/qwen3:30b"
price_in = 20.0
price_out = 60.0
[budget]
currency = "EUR"
per_day = 2.0
per_person_day = 1.0
[policy.exec]
ask = ["pg_dump *"]
[scheduler]
timezone = "Europe/Rome"
[server]
listen = %q
[channels.telegram]
kind = "telegram"
token = %q
api_url = %q
tools_deny = []
[channels.slack]
kind = "slack"
bot_token = %q
app_token = %q
api_url = %q
tools_deny = []
[[people]]
name = "ada"
role = "admin"
identities = ["telegram:%d", "slack:%s"]
[[people]]
name = "ben"
identities = ["telegram:%d"]
tools = ["exec"]
[[people]]
name = "carla"
identities = ["slack:%s"]
`, s.address, telegram.Token(), telegram.URL(), slack.BotToken(), slack.AppToken(), slack.APIURL(), ada.ID, slack.AddUser("Ada").ID, ben.ID, carla.ID))
	settings, err := os.ReadFile(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(settings), "[channels.play]")
	_, rest, _ = strings.Cut(rest, "groups = \"open\"\n")
	testkit.Write(t, s.Config, strings.Replace(before, "providers.fake", "providers.ollama", 1)+rest)
	s.Model.Handle(secretary)
	s.Ready()

	b := s.signedIn(t, "ada")
	shoot := func(name string) {
		t.Helper()
		b.Await("the page at rest", settled)
		b.Shoot(name, "day", "night", "phone")
	}
	telegram.Say(ada.ID, "Remember that the keys are at Ann's")
	for _, text := range []string{"Draft the agenda for Monday's meeting", "How do I get to Lisbon in May, by train or by plane?"} {
		b.opens("/")
		b.writes(text)
		b.Await("an answer", `document.querySelector("#items article.bot")`)
	}
	b.opens("/")
	file := filepath.Join(t.TempDir(), "invoices-march.csv")
	testkit.Write(t, file, invoices)
	b.Run(chromedp.SetUploadFiles("#files", []string{file}))
	b.writes("Which of these invoices are not paid yet?")
	b.reads("Shall I remind them by mail?")
	b.Do(`document.querySelector("#items .plan").open = true`)
	shoot("chat")

	b.clicks(`#items article.bot footer a`)
	b.Await("why", `document.querySelector(".timeline")`)
	shoot("why")

	admin := s.visitor("ada")
	for _, job := range []string{
		"kind=task&when=every+weekday+at+8&text=Say+what+is+on+my+calendar+today,+and+whether+it+rains", "kind=reminder&when=tomorrow+at+9&text=Call+Ann+about+the+keys",
		"kind=reminder&when=every+Friday+at+16:00&text=Write+down+the+hours+of+this+week",
	} {
		if status, _, page := admin.does("POST", "/jobs", job); status >= 400 {
			t.Fatal(status, page)
		}
	}
	jobs := s.rows("SELECT id FROM jobs WHERE owner = 'ada' ORDER BY id")
	for range 4 {
		admin.does("POST", "/jobs/"+jobs[0][0]+"/run", "")
		s.Await("the run", programtest.Patience, func() bool {
			return s.rows("SELECT count(*) FROM runs WHERE state NOT IN ('done', 'skipped')")[0][0] == "0"
		})
	}
	admin.does("POST", "/jobs/"+jobs[2][0]+"/skip", "")
	b.opens("/jobs")
	b.Await("the jobs", `document.querySelectorAll(".job").length === 3`)
	shoot("jobs")

	telegram.Say(ada.ID, "/remember The deploy key rotates on Fridays")
	telegram.Say(ada.ID, "/learn style: Answer in two sentences")
	b.opens("/memory")
	b.Await("what is remembered", `document.querySelectorAll("#memories article").length >= 2`)
	shoot("memory")

	b.opens("/now")
	telegram.Say(ben.ID, "Back up the shop's database before the update")
	slack.Say(carla.ID, "Translate the newsletter into Italian")
	b.Await("a question and two turns", `document.querySelector("#now-approvals .approval") && document.querySelectorAll("#now-turns tbody tr").length === 2`)
	shoot("now")

	b.opens("/setup/model")
	b.Do(`document.querySelector("[name=server]").click()`)
	shoot("setup")
}
