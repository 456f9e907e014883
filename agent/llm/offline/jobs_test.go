package offline_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const scheduleTools = `- schedule.add(kind: reminder|task, when, text?, zone?): Remind the person.
- schedule.list(job?: integer, all?: boolean, after?: integer): The jobs.
- schedule.send(to, when, text): Write to somebody.
- schedule.change(job: integer, action: edit|pause|remove, when?): Change a job.
`

func TestRemindersAndJobsAreToolsOwn(t *testing.T) {
	t.Parallel()
	add := func(kind, when string) string {
		return `schedule.add{"kind":"` + kind + `","when":"` + when + `"}`
	}
	day := time.Now().AddDate(0, 0, 7).Format("Monday 2 January")
	for message, want := range map[string]string{
		"remind me in 3 seconds to stretch":                 add("reminder", "remind me in 3 seconds to stretch"),
		"Please remind me tomorrow at 9 to call Ann!":       add("reminder", "remind me tomorrow at 9 to call Ann!"),
		"remind me to call Ann tomorrow at 9":               add("reminder", "remind me to call Ann tomorrow at 9"),
		"every weekday at 8 send me the open tasks":         add("reminder", "every weekday at 8 send me the open tasks"),
		"tomorrow at 9 call Ann":                            add("reminder", "tomorrow at 9 call Ann"),
		"in 20 minutes tea":                                 add("reminder", "in 20 minutes tea"),
		"tomorrow at 9 open the door":                       add("reminder", "tomorrow at 9 open the door"),
		"at 9 say hello":                                    add("reminder", "at 9 say hello"),
		"at 21:00 in New York read notes.txt":               add("task", "at 21:00 in New York read notes.txt"),
		"every day at 9: run uname -a":                      add("task", "every day at 9: run uname -a"),
		day + " at 9 list files":                            add("task", day+" at 9 list files"),
		"in 20 minutes list files":                          add("task", "in 20 minutes list files"),
		"on mondays at 9 list files":                        add("task", "on mondays at 9 list files"),
		"Monday to Friday at 8, list files":                 add("task", "Monday to Friday at 8, list files"),
		"once a day list files":                             add("task", "once a day list files"),
		"next friday at 9 list files":                       add("task", "next friday at 9 list files"),
		"in two hours list files":                           add("task", "in two hours list files"),
		"once a king lived there, did he?":                  "language model",
		"Remind me!":                                        "remind me tomorrow at 9 to call Ann",
		"can you set me a reminder?":                        "when, and what",
		"list my reminders":                                 `schedule.list{}`,
		"What are my jobs?":                                 `schedule.list{}`,
		"show job 3":                                        `schedule.list{"job":3}`,
		"delete reminder 3":                                 `schedule.change{"action":"remove","job":3}`,
		"pause job #4":                                      `schedule.change{"action":"pause","job":4}`,
		"cancel my reminder 3.":                             `schedule.change{"action":"remove","job":3}`,
		"delete reminder 99999999999999999999999999999999":  "Which one?",
		"cancel it":                                         "Which one?",
		"cancel the pasta timer":                            "Which one?",
		"cancel timer 15":                                   `schedule.change{"action":"remove","job":15}`,
		"forget reminder 11":                                `schedule.change{"action":"remove","job":11}`,
		"change 15 to in 20 minutes":                        `schedule.change{"action":"edit","job":15,"when":"in 20 minutes"}`,
		"change reminder 3 to 3 minutes":                    `schedule.change{"action":"edit","job":3,"when":"3 minutes"}`,
		"move reminder 3 to tomorrow at 9":                  `schedule.change{"action":"edit","job":3,"when":"tomorrow at 9"}`,
		"snooze it":                                         "Press a button",
		"call Ann tomorrow at 9":                            add("reminder", "call Ann tomorrow at 9"),
		"wake me up at 7":                                   add("reminder", "wake me up at 7"),
		"erinnere mich morgen um 9 an den Müll":             add("reminder", "erinnere mich morgen um 9 an den Müll"),
		"domani alle 9 list files":                          add("task", "domani alle 9 list files"),
		"remind me to call mom":                             add("reminder", "remind me to call mom"),
		"remind Bob tomorrow at 9 to call Ann":              `schedule.send{"text":"call Ann","to":"Bob","when":"tomorrow at 9"}`,
		"the weather tomorrow":                              "language model",
		"buy 6 eggs":                                        "language model",
		"in the morning I like tea, what about that, do I?": "language model",
	} {
		var plan struct{ Tasks []task }
		text := ask(t, "plan", planSchema, system(true)+scheduleTools, user(message))
		if err := json.Unmarshal([]byte(text), &plan); err != nil || len(plan.Tasks) == 0 {
			t.Fatalf("%s: %v", text, err)
		}
		if got := value(plan.Tasks[0].Tool) + value(plan.Tasks[0].Args) + value(plan.Tasks[0].Answer); !strings.Contains(got, want) {
			t.Errorf("%s\nplans %s\nwant  %s", message, got, want)
		}
	}
	outputs := "## Outputs of earlier tasks\n### Task 1 (tool)\nEnded: ok\n<<<data-1\nJob 1, a reminder.\ndata-1>>>\n\n## Task\nSay what became of it.\n"
	if got := ask(t, "", "", "", outputs); got != "Job 1, a reminder." {
		t.Errorf("it says %q", got)
	}
}

// Each choice is a whole sentence, so that it means the same when it comes back.
func TestAmbiguousTimeIsAChoice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ message, second, want string }{
		{"remind me at 9 to call Ann", "tomorrow at 09:00 call Ann", `"choices":["remind me today at 21:00 call Ann","remind me tomorrow at 09:00 call Ann"]`},
		{"at 9 list files", "tomorrow at 09:00 list files", `"choices":["today at 21:00 call Ann","tomorrow at 09:00 list files"]`},
		{"at 9 " + strings.Repeat("x", 60), "tomorrow at 09:00 " + strings.Repeat("x", 60), `Write one of these:\n\n- remind me today`},
	} {
		failed := "## What failed\n### Attempt 1, task 1 (tool)\nTool: schedule.add\nEnded: refused (ambiguous)\n<<<data-1\nThat may be one of several times; which do you mean?\n" +
			"- today at 21:00 call Ann\n- " + tt.second + "\ndata-1>>>\n"
		if got := ask(t, "plan", planSchema, system(true)+scheduleTools, failed+"\n## New message\n"+tt.message); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.message, got, tt.want)
		}
	}
}
