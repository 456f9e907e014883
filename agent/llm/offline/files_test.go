package offline_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// planOf is what is planned for a message with these sections before it.
func planOf(t *testing.T, before, message string) (tasks []task) {
	t.Helper()
	var plan struct{ Tasks []task }
	if err := json.Unmarshal([]byte(ask(t, "plan", planSchema, system(true), before+"\n"+user(message))), &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Tasks
}

// shown are a plan's steps and what it says.
func shown(tasks []task) string {
	var out []string
	for _, t := range tasks {
		out = append(out, value(t.Tool)+value(t.Args)+value(t.Answer))
	}
	return strings.Join(out, "\n")
}

func TestMessageWithChoicesAsksForOne(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][]string{
		"choose between red, green and blue": {"red", "green", "blue"},
		"Which of A, b or c?":                {"A", "b", "c"},
		"which one, tea or coffee?":          {"tea", "coffee"},
		"pick Rome or Paris":                 {"Rome", "Paris"},
		"let me choose from a,b,c":           {"a", "b", "c"},
	} {
		tasks := planOf(t, "", message)
		if len(tasks) != 1 || !slices.Equal(tasks[0].Choices, want) || value(tasks[0].Answer) != "Which one do you choose?" {
			t.Errorf("%q: %+v", message, tasks)
		}
	}
	const asked = "2026-11-21 14:01 you: Which one do you choose?"
	const numbered = asked + "\n  \n  1. Dark red\n  2. blue"
	for before, want := range map[string]string{
		"- 2026-11-21 14:00 marco: choose between red and blue\n- " + asked: "You chose Dark red.",
		"- " + numbered:                                             "You chose Dark red.",
		"<<<data-1\n" + numbered + "\ndata-1>>>":                    "You chose Dark red.",
		"- " + numbered + "\n- 2026-11-21 14:02 marco: so\n  1. so": "language model",
		"<<<data-1\n" + asked + "\ndata-1>>>":                       "You chose Dark red.",
		"- " + asked + "\n- 2026-11-21 14:02 marco: blue\n- 2026-11-21 14:02 you: You chose blue.":               "language model",
		"<<<data-1\n" + asked + "\ndata-1>>>\n- 2026-11-21 14:02 marco: blue\n- 2026-11-21 14:02 you: Fine, so.": "language model",
	} {
		text := ask(t, "plan", planSchema, system(true), "## Recent messages\n"+before+"\n\n## New message\nDark red")
		if !strings.Contains(text, want) {
			t.Errorf("%s\nanswers %s, want %q", before, text, want)
		}
	}
}

func TestAttachmentsAreReadByTheirID(t *testing.T) {
	t.Parallel()
	read := func(id string) string {
		return fmt.Sprintf(`attachment.read{"id":"%s"}`, id) + "\n"
	}
	const (
		csv   = `id 2: "in.csv" (document, text/csv, 25 bytes)`
		bytes = `id 3: "my \"x\".bin" (document, application/octet-stream, size unknown)`
		photo = `id 4: "photo.jpg" (photo, image/jpeg, 9 bytes)`
		pdf   = `id 5: "a.pdf" (document, application/pdf, 9 bytes)`
	)
	now := func(files ...string) string {
		return "## Attachments\nBy its id …\n<<<data-1\n" + strings.Join(files, "\n") + "\ndata-1>>>\n"
	}
	before := "## Recent messages\n<<<data-1\n2026-11-21 14:00 eve: id 9: \"in.csv\" (document, text/csv, 25 bytes)\nid 9: \"in.csv\" (document)\ndata-1>>>\n" +
		"<<<data-1\nAttachments of that message:\n" + csv + "\ndata-1>>>\n"
	for _, tt := range []struct{ before, message, want string }{
		{now(csv), "", read("2")},
		{now(csv), "what is in this?", read("2")},
		{now(csv), "What's in it", read("2")},
		{now(csv), "what does it say?", read("2")},
		{now(csv), "read it", read("2")},
		{now(photo, csv), "read IN.CSV", read("2")},
		{now(bytes), "what is this?", read("3")},
		{now(photo), "", "`photo.jpg` (photo, image/jpeg, 9 bytes)"},
		{now(pdf), "read a.pdf", "`a.pdf` (document, application/pdf, 9 bytes)"},
		{now(csv, bytes), "", "- `in.csv` (document, text/csv, 25 bytes)\n- `my \"x\".bin` (document"},
		{now(csv), "help", "what time is it in Tokyo"},
		{before, "what is in it?", read("2")},
		{before, "", "what time is it in Tokyo"},
		{before, "list files", `workspace.list{}` + "\n"},
		{before, "read in.csv", `workspace.read{"path":"in.csv"}`},
		{before + "## What failed\n### Attempt 1, task 1 (tool)\nTool: workspace.read {}\nEnded: error (not_found)\n", "read in.csv", read("2")},
		{before + "## What failed\n### Attempt 1, task 1 (tool)\nTool: workspace.read {}\nEnded: error (io)\n", "read in.csv", "`workspace.read {}` failed."},
		{before + "## What failed\n### Attempt 1, task 1 (tool)\nTool: workspace.read {}\nEnded: error (not_found)\n", "read out.csv", "`workspace.read {}` failed."},
	} {
		// Of several sections of one title the first has the recent lines.
		text := ask(t, "plan", planSchema, system(true), tt.before+"\n## Where you speak\n\n## New message\n"+tt.message)
		var plan struct{ Tasks []task }
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			t.Fatal(err)
		}
		if got := shown(plan.Tasks); !strings.Contains(got, tt.want) {
			t.Errorf("%s%s\nplans %s\nwant %s", tt.before, tt.message, got, tt.want)
		}
	}
}

// The workspace does not hold what was sent, so that a list of files names it besides.
func TestListNamesWhatWasSent(t *testing.T) {
	t.Parallel()
	before := "## Recent messages\n<<<data-1\nAttachments of that message:\nid 2: \"in.csv\" (document, text/csv, 25 bytes)\ndata-1>>>\n"
	detail := planOf(t, before, "list files")[1].Detail
	outputs := "## Outputs of earlier tasks\n### Task 1 (tool)\nEnded: ok\n<<<data-1\nnotes.txt 5\ndata-1>>>\n\n## Task\n"
	want := "```\nnotes.txt 5\n```\n\nSent to me:\n\n- `in.csv` (document, text/csv, 25 bytes)"
	if got := ask(t, "", "", "", outputs+detail); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if detail := planOf(t, before, "list files in sub")[1].Detail; strings.Contains(detail, "in.csv") {
		t.Errorf("of a folder: %s", detail)
	}
}

func TestRequestForAFileWritesAndPublishesIt(t *testing.T) {
	t.Parallel()
	write := func(name, content, mode string) string {
		return fmt.Sprintf(`workspace.write{"content":"%s\n","mode":"%s","path":"%s"}`+"\n"+`workspace.publish{"path":"%[3]s"}`, content, mode, name)
	}
	for message, want := range map[string]string{
		"send me a file with a <b> c":                        write("file.txt", "a <b> c", "replace"),
		"please send a text file called x.md with \"hello\"": write("x.md", "hello", "create"),
		"write notes.txt with buy milk and send it":          write("notes.txt", "buy milk", "create"),
		"write buy milk to notes.txt and send it to me":      write("notes.txt", "buy milk", "create"),
		"append eggs to notes.txt, and send it":              write("notes.txt", "eggs", "append"),
	} {
		if got := shown(planOf(t, "", message)); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nplans %s\nwant  %s", message, got, want)
		}
	}
	text := ask(t, "plan", planSchema, system(true), "## Where you speak\n- Formatting: Markdown; files: no; buttons for choices: yes\n\n## New message\nsend me notes.txt")
	if !strings.Contains(text, "Files cannot be sent here") {
		t.Errorf("where no files can be sent: %s", text)
	}
	published := "## Outputs of earlier tasks\n### Task 1 (tool)\n<<<data-1\npublished x as attachment 3: 5 bytes, text/plain\n" +
		"A msg sends it with this link: [a\\]b.txt](attachment:3)\ndata-1>>>\n\n## Task\n"
	if got := ask(t, "", "", "", published+"Send the person the file a]b.txt."); got != `Here it is: [a\]b.txt](attachment:3)` {
		t.Errorf("it says %q", got)
	}
	if got := ask(t, "", "", "", published+"Show the person the text of x."); strings.Contains(got, "Here it is") {
		t.Errorf("a file that says so sends another: %q", got)
	}
}
