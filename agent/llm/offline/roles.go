package offline

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"switchboard/internal/words"
	"switchboard/scheduler"
)

const whichOne, andSent = "Which one do you choose?", "Then say that these were sent:\n"

// A plan or a task is the JSON of the schema "plan".
type (
	plan map[string]any
	task map[string]any
)

// planned is a plan of these tasks.
func planned(goal string, tasks ...task) plan {
	for _, t := range tasks {
		all := task{"tool": nil, "args": nil, "expect": nil, "choices": nil, "answer": nil}
		maps.Copy(all, t)
		maps.Copy(t, all)
	}
	return plan{"goal": words.Upper(goal), "secrets": nil, "tasks": tasks}
}

// ready is a plan of one message with its text.
func ready(goal, answer string) plan {
	return planned(goal, task{"type": "msg", "detail": "Answer.", "answer": strings.TrimSpace(answer)})
}

type planner struct {
	tools          map[string]bool
	place          section
	files, earlier []file // that came along, now and before
	phrases        []phrase
	last           string // the first line of what was said last
	more           bool   // it has others
	facts          []string
	when           scheduler.Request
}

// onlyNo is what is left of "no, at eight": that is no reminder.
var onlyNo = words.Pattern(`(?i)^(?:no|nein|non)[,.!]?$`)

// makePlan plans for what the person wrote.
func makePlan(system, user prompt) plan {
	recent, text := user["Recent messages"], user["New message"].text()
	wish, _ := scheduler.Find(text, time.Now(), "UTC")
	if onlyNo().MatchString(wish.Rest) {
		wish = scheduler.Request{}
	}
	p := planner{system.tools(), user["Where you speak"], user["Attachments"].files(), recent.files(), phrases, recent.last, !strings.HasSuffix(asButtons().ReplaceAllString(recent.text(), ""), recent.last), user["Known facts"].lines, wish}
	faults := user["Faults in your last plan"].text()
	if _, why, no := strings.Cut(faults, " is not permitted here by the rule "); no {
		return ready("say that this is not permitted", "I won't do that: "+clip(why[strings.Index(why, ": ")+2:], 300))
	} else if faults != "" {
		return ready("say that the plan was not accepted", "I could not make a plan for this that passes the checks: "+clip(faults, 300))
	}
	if failed, ok := user["What failed"]; ok {
		// What the workspace does not have may have been sent earlier.
		if f, ok := named(p.earlier, unquote(matched(readWords, text)["name"])); ok && strings.Contains(failed.field("Ended"), "not_found") {
			made, _ := p.show(f)
			return made
		}
		made, ok := p.whichTime(failed, text)
		return map[bool]plan{true: made, false: ready("say what failed", failure(failed))}[ok]
	}
	for _, phrase := range phrases {
		if m := matched(phrase.words, text); m != nil {
			if made, ok := phrase.plan(p, m); ok {
				return made
			}
		}
	}
	last, _, _ := strings.Cut(recent.last, "\n")
	if said := bare(passedOn.ReplaceAllString(text, "$1")); len(said) <= 60 && strings.HasSuffix(last, " you: "+whichOne) {
		return ready("answer the choice", "You chose "+said+".")
	}
	return p.lost(text)
}

// act is a plan that does something and tells what came of it; without the right to
// it, one that says why it is withheld: "- name: reason (rule NAME)".
func (p planner) act(goal, tell string, steps ...task) plan {
	for _, step := range steps {
		name, what := "exec", "run commands"
		if tool, ok := step["tool"].(string); ok {
			name, what = tool, "do that"
		}
		if why, _, _ := strings.Cut(p.place.field(name), " (rule "); strings.HasPrefix(why, "this chat ") { // it says all
			return ready("say that this is not permitted", words.Upper(why)+".")
		} else if !p.tools[name] {
			return ready("say that this is not permitted", strings.TrimRight("I may not "+what+" here: "+why, ": ")+".")
		}
	}
	return planned(goal, append(steps, task{"type": "msg", "detail": tell})...)
}

// use is a task with a tool; arguments with nothing in them are left out.
func use(name, detail string, args map[string]any) task {
	maps.DeleteFunc(args, func(_ string, value any) bool { return value == "" })
	return task{"type": "tool", "detail": detail, "tool": name, "args": encode(args), "expect": "It ended well."}
}

// look is a plan that looks something up with one tool and shows it.
func (p planner) look(tool, what string, known map[string]any) (plan, bool) {
	return p.act("show "+what, "Show the person "+what+".", use(tool, "Look up "+what+".", known)), true
}

// judge believes the word with which the task ended: "Ended: ok", or "ok (why)".
func judge(p prompt) map[string]any {
	out := p["Output"]
	end := out.field("Ended")
	if word, _, _ := strings.Cut(end, " "); word == "" || word == "ok" {
		return map[string]any{"status": "ok", "reason": nil, "learn": nil}
	}
	said := out.said()
	return map[string]any{"status": "replan", "reason": cmp.Or(clip(said[strings.LastIndexByte(said, '\n')+1:], 200), "it did not end well"), "learn": nil}
}

// failure tells what failed.
func failure(s section) string {
	what, said := cmp.Or(s.field("Command"), s.field("Tool")), s.said()
	switch end, _, _ := strings.Cut(s.field("Ended"), " "); {
	case strings.HasPrefix(said, "Which one?"):
	case what == "":
		said = clip(s.text(), 300)
	case said == "", s.field("Command") != "", strings.Contains(said, "\n"):
		how := cmp.Or(map[string]string{"timeout": "took too long", "refused": "is not allowed here", "interrupted": "was cut off"}[end], "failed")
		said = strings.TrimSuffix(fmt.Sprintf("`%s` %s.\n\n%s", clip(what, 200), how, block(said, 1000)), "\n\n"+block("", 0))
	default:
		said = strings.TrimRight(said, ".") + "."
	}
	if strings.HasPrefix(said, "When?") || strings.HasPrefix(said, "Which one?") || strings.HasPrefix(said, "What shall I ") || strings.HasPrefix(said, "You have no ") {
		return said
	}
	return "I could not do that: " + said
}

// work restates the last task's output.
func work(p prompt) string {
	fences, detail := p["Outputs of earlier tasks"].fences, p["Task"].text()
	if len(fences) == 0 {
		return cannot.EN
	}
	text := fences[len(fences)-1]
	if link := aLink.FindStringSubmatch(text); link != nil && strings.HasPrefix(detail, "Send the person ") {
		return "Here it is: " + link[1]
	}
	if strings.HasPrefix(detail, sayIt) {
		return text
	}
	if text == "" {
		return "Done; there was no output."
	}
	if sent, ok := strings.CutPrefix(detail, "Show the person the list of files."); ok && text == "(empty)" {
		return "There are no files yet." + strings.Replace(sent, " "+andSent, "\n\nSent to me:\n", 1)
	}
	if _, files, ok := strings.Cut(detail, andSent); ok {
		return block(text, 8000) + "\n\nSent to me:\n" + files
	}
	if told := tellTime(text, detail); told != "" {
		return told
	}
	return output(text, keptFile.FindString(p["Outputs of earlier tasks"].field("Hint")))
}

// tellTime makes a sentence of what the tool "time" brings.
func tellTime(text, detail string) string {
	values := section{lines: strings.Split(text, "\n")}
	zone := values.field("zone")
	at, err := time.Parse("2006-01-02 15:04", values.field("local"))
	if err != nil || zone == "" {
		return ""
	}
	_, where, _ := strings.Cut(strings.TrimSuffix(detail, "."), "the date and time")
	return at.Format("It is 15:04 on Monday, 2 January 2006") + cmp.Or(where, " ("+zone+")") + "."
}

// output shows the beginning of a text, and says how much of it is not shown and in
// which file it is kept, if it is.
func output(text, file string) string {
	const limit = 8000
	shown := text
	if r := []rune(text); len(r) > limit {
		shown = string(r[:limit])
	}
	if at := mark.FindStringIndex(shown); at != nil { // what is shown ends at the first cut
		shown = shown[:at[0]]
	}
	missing := len(text) - len(shown)
	for _, m := range mark.FindAllStringSubmatch(text[len(shown):], -1) {
		n, _ := strconv.Atoi(cmp.Or(m[1], "0")) // the digits fit
		missing += n - len(m[0])
	}
	said := block(shown, limit)
	if missing > 0 {
		said += fmt.Sprintf("\n\nThis is the beginning; %d bytes more are not shown.", missing)
	}
	if missing > 0 && file != "" {
		said += fmt.Sprintf(" The file `%s` has them: write \"send %s\".", file, file)
	}
	return said
}

// block is text as a code block, whatever backticks it holds.
func block(text string, limit int) string {
	return words.Fenced("", clip(text, limit))
}

// A cut in an output, as the agent and its tools mark it, and the file that keeps one.
var (
	mark     = regexp.MustCompile(`(?m)^\[(?:(?:truncated: )?(\d{1,15}) bytes more(?:: .*)?|go on with .*)\]\n?`)
	keptFile = regexp.MustCompile(`\boutputs/\S+\.txt`)
)

func clip(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return fmt.Sprintf("%s… (%d characters more)", string(r[:limit]), len(r)-limit)
	}
	return text
}
