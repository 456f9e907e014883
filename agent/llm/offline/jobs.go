package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/internal/words"
	"switchboard/scheduler"
)

// sayIt begins the detail of a message that is a tool's output as it is.
const sayIt = "Say what became of it."

// jobPhrases are those of reminders and jobs. The scheduler finds the time, and its tools read it.
var jobPhrases = []phrase{
	{say(`(?:(?:list|show)(?: me)?|what are|which are)(?: all)?(?: of)?(?: the| my)? (?:reminders|jobs)(?: (?:are there|do i have))?`), planner.jobs},
	{say(`(?:show(?: me)?|what is|history of)(?: the| my)? (?:reminder|job|task) (?:number |no\.? ?|#)?(?P<number>\d{1,15})`), planner.jobs},
	{say(`(?P<verb>delete|remove|cancel|forget|stop|pause|resume|skip|run)(?: the| my)?(?: reminder| job| task| timer)? (?:number |no\.? ?|#)?(?P<number>\d{1,15})(?: now)?`), planner.changeJob},
	{moveWords, planner.changeJob},
	{say(`(?:can you |could you )?(?:remind me|set (?:me )?a reminder)[:,]?`), answer("say how a reminder is written", "Write \"remind me\", when, and what: \"remind me tomorrow at 9 to call Ann\", \"remind me in 20 minutes tea\", \"remind me every weekday at 8 stand up\". \"list my reminders\" lists them.")},
	{say(`(?:can you |could you )?remind (?P<to>(?-i:\p{Lu})\S*(?: (?-i:\p{Lu})\S*)?) (?P<what>.+)`), planner.remindOther},
	{say(`snooze(?: .*)?`), answer("say how to snooze", "Press a button under the reminder, or write \"/jobs NUMBER snooze 10m\". \"list my reminders\" shows the numbers.")},
	{say(`(?:change|move|cancel|delete|remove|forget|stop) (?:it|(?:\S+ ){0,3}(?:reminders?|timers?|jobs?)|reminding me)(?: .*)?`), answer("ask which job", "Which one? Write \"list my reminders\" to see the numbers. Then write \"cancel reminder NUMBER\" or \"change reminder NUMBER to tomorrow at 9\".")},
	{all, scheduled(func(w scheduler.Request) bool { return w.Leading })},
}

var all = say(`(?P<text>.+)`)

var moveWords = say(`(?:(?:change|move|edit|reschedule|postpone)(?: the time of)?(?: the| my)?(?: reminder| job| task| timer)?|set(?: the| my)? (?:reminder|job|task|timer)) (?:number |no\.? ?|#)?(?P<number>\d{1,15}) (?:to|till|until|for) (?P<when>.+)`)

// scheduled plans for a text with a time. What is wrong with it the tool says.
func scheduled(is func(scheduler.Request) bool) func(planner, map[string]string) (plan, bool) {
	return func(p planner, m map[string]string) (plan, bool) {
		if !p.when.Timed || !is(p.when) {
			return nil, false
		}
		kind, does := "reminder", "Make the reminder"
		if !p.when.Spoken && p.acts(p.when.Rest) {
			kind, does = "task", "Plan the task for later"
		}
		return p.job("schedule.add", does, map[string]any{"kind": kind, "when": strings.TrimSpace(m["text"])})
	}
}

// acts: a text is what a plan is made of that acts.
func (p planner) acts(text string) bool {
	return text != "" && slices.ContainsFunc(p.phrases, func(ph phrase) bool {
		m := matched(ph.words, text)
		if m == nil || ph.words().String() == all().String() || m["name"] != "" && !strings.ContainsAny(m["name"], "./") { // "open the door" is no file
			return false
		}
		made, ok := ph.plan(p, m)
		return ok && len(made["tasks"].([]task)) > 1
	})
}

// remindOther is for somebody else: "remind Bob tomorrow at 9 to call".
func (p planner) remindOther(m map[string]string) (plan, bool) {
	wish, err := scheduler.Find("remind me "+m["what"], time.Now(), "UTC")
	made, ok := p.job("schedule.send", "Plan the message for later", map[string]any{"to": m["to"], "when": wish.Said, "text": wish.Rest})
	return made, ok && err == nil && wish.Rest != ""
}

func (p planner) jobs(m map[string]string) (plan, bool) {
	known, does := map[string]any{}, "Look at the reminders"
	if n, err := strconv.Atoi(m["number"]); err == nil {
		known["job"], does = n, fmt.Sprintf("Look at reminder %d", n)
	}
	return p.job("schedule.list", does, known)
}

func (p planner) changeJob(m map[string]string) (plan, bool) {
	n, _ := strconv.Atoi(m["number"]) // the digits fit
	verb := strings.ToLower(m["verb"])
	action := cmp.Or(map[string]string{"delete": "remove", "cancel": "remove", "forget": "remove", "stop": "remove", "": "edit"}[verb], verb)
	return p.job("schedule.change", fmt.Sprintf("%s reminder %d", words.Upper(cmp.Or(verb, "change")), n), map[string]any{"job": n, "action": action, "when": m["when"]})
}

func (p planner) job(tool, does string, known map[string]any) (plan, bool) {
	return p.act(does, sayIt, use(tool, does+".", known)), true
}

var choiceLine = regexp.MustCompile(`(?m)^- (.+)$`)

// whichTime has the person choose where words mean several times; false: that is not what failed.
func (p planner) whichTime(failed section, text string) (plan, bool) {
	lines := choiceLine.FindAllStringSubmatch(failed.said(), -1)
	if !strings.HasPrefix(failed.field("Tool"), "schedule.") || len(lines) == 0 {
		return plan{}, false
	}
	lead := ""
	if m := matched(moveWords, text); m != nil {
		lead = "change reminder " + m["number"] + " to "
	} else if p.when.Spoken || !p.acts(p.when.Rest) {
		lead = "remind me "
	}
	question, _, _ := strings.Cut(failed.said(), "\n")
	var choices []string
	for _, line := range lines {
		choices = append(choices, lead+line[1])
	}
	if slices.ContainsFunc(choices, func(c string) bool { return len([]rune(c)) > 64 }) { // no button has room for it
		return ready("ask which is meant", question+" Write one of these:\n\n- "+strings.Join(choices, "\n- ")), true
	}
	return planned("ask which is meant", task{"type": "msg", "detail": "Ask.", "choices": choices, "answer": question}), true
}
