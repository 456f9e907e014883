package page_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// From an empty folder to the first answer, with the link that the program prints: a model, a channel that somebody
// claims, a time zone, a message. What is wrong is said, and not kept.
func TestSetupFromNothing(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			const key = "sk-a-key-of-this-test"
			dir, err := os.MkdirTemp("", "sb-*") // short: sockets live in it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			model, platform := llmtest.New(t), channelstest.NewPlatform()
			model.RequireKey(key)
			model.Lists("nomic-embed-text", "small", "large")
			model.Handle(programtest.Clerk)
			listens, err := platform.Listen("unix", filepath.Join(dir, "p.sock"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(listens.Close)
			address := testkit.FreeAddress(t)
			env := []string{"TERM=xterm", "SWITCHBOARD_SERVER__LISTEN=" + address}
			if database == "postgres" {
				env = append(env, "SWITCHBOARD_STORE__URL="+storetest.PostgresURL(t))
			}
			cmd := exec.Command(programtest.Build(t), "--data", filepath.Join(dir, "data"))
			cmd.Dir, cmd.Env = dir, append(programtest.Environ(), env...)
			screen := programtest.StartOn(t, cmd)
			screen.Await(0, "no settings yet") // which stands below the link
			link := linkShape.FindString(screen.Shown.String())

			b := &browser{Page: pagetest.Start(t), site: &site{address: address}, t: t, refused: "status of 422"}
			t.Cleanup(func() {
				if faults := slices.DeleteFunc(b.Faults(), func(f string) bool { return strings.Contains(f, b.refused) }); len(faults) > 0 {
					t.Errorf("the browser has faults:\n%s", strings.Join(faults, "\n"))
				}
			})
			b.Run(timeZone("Europe/Rome"), chromedp.Navigate(link))
			b.Await("the link's button", `document.querySelector("#link")`)
			b.clicks(`#link button`)

			b.shows("Which language model should think?")
			answer := func(key, name string) {
				t.Helper()
				b.Do(fmt.Sprintf(`document.querySelector("[name=server][value=local]").checked = true
					document.querySelector("#address").value = %q; document.querySelector("#key").value = %q; document.querySelector("#model").value = %q
					document.querySelector("button.go").click()`, model.URL(), key, name))
			}
			answer("sk-wrong", "")
			b.shows("the provider rejected the key")
			b.shows("Nothing was kept.")
			answer(key, "none-such")
			b.shows(`It has no model called "none-such".`)
			b.Await("those it has", `document.querySelectorAll("#models option").length === 3`)
			b.Shoot("setup-model")
			b.opens("/settings/changes")
			b.shows("Nothing was changed while the bot runs.")
			b.opens("/setup")
			b.shows("Which language model should think?")
			answer(key, "")
			b.shows("It is kept.") // with a remark: this model answers whatever it is asked
			b.Await("what it says, and one way on", `document.querySelector("#found").getBoundingClientRect().bottom <= innerHeight && document.querySelector("#on").hidden`)
			b.Shoot("setup-kept")
			b.clicks(`.found a`)

			b.shows("Where do you want to write to the bot?")
			b.Do(`document.querySelector("[name=kind][value=scripted]").checked = true; document.querySelector("button.go").click()`)
			b.shows("Nothing was typed.")
			b.Shoot("setup-channel")
			b.Do(fmt.Sprintf(`document.querySelector("[name='scripted.addr']").value = %q; document.querySelector("button.go").click()`, listens.Addr()))
			b.shows("I wait for it.")
			b.Shoot("setup-claim")
			b.clicks(".code button")
			b.Await("that it is copied", `document.querySelector(".code button").innerText === "Copied"`)
			b.Run(chromedp.Reload())
			b.shows("I wait for it.")
			platform.Say("c1", "eve", pagetest.Evaluate[string](b.Page, `document.querySelector(".secret-code").innerText`))
			b.shows("You are an admin on Scripted.")
			b.clicks(`.setup > footer a`)

			b.shows("Which time zone are you in?")
			b.Await("that of the browser", `document.querySelector("#zone").value === "Europe/Rome"`)
			b.Do(`document.querySelector("#zone").value = "Atlantis"; document.querySelector("button.go").click()`)
			b.shows(`"Atlantis" is not a time zone`)
			b.Shoot("setup-zone")
			b.Do(`document.querySelector("#zone").value = "Europe/Rome"; document.querySelector("button.go").click()`)
			b.shows("Say something")
			b.Shoot("setup-first")
			b.opens("/setup")
			b.Await("all that was done", `location.pathname === "/setup/first" && document.querySelectorAll(".steps .done").length === 3`)
			b.Do(`document.querySelector("#first").value = "hello there"; document.querySelector("button.go").click()`)
			b.reads("heard: hello there")
			platform.Say("c1", "eve", "and here")
			testkit.Await(t, "the answer on the platform", programtest.Patience, func() bool {
				return slices.ContainsFunc(platform.Sent(), func(m channelstest.Sent) bool { return m.Text == "heard: and here" })
			})
			b.opens("/settings/agent.planner")
			b.shows(`"local/small"`)
			b.Await("no word of a file", `document.querySelector("#main").innerText.includes("Go back to the default") && !document.querySelector("#main").innerText.includes("file")`)
			b.opens("/settings/llm.providers.local.api_key")
			b.shows("secret:local_api_key")

			b.Run(chromedp.Navigate("about:blank")) // a page would miss the program
			screen.Press(programtest.CtrlD)
			screen.Leaves()
			cmd = exec.Command(cmd.Path, cmd.Args[1:]...)
			cmd.Dir, cmd.Env = dir, append(programtest.Environ(), env...)
			again := programtest.StartOn(t, cmd)
			again.Await(0, "The log is in")
			if strings.Contains(again.Shown.String(), "no settings yet") {
				t.Errorf("it does not know what was set on the page:\n%s", again.Shown.String())
			}
		})
	}
}

// timeZone is the one that the browser is in.
func timeZone(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return err
	})
}
