package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sayIt begins the detail of a message that is a tool's output as it is.
const sayIt = "Say what became of it: "

const aDay = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`

// jobPhrases are those of reminders and jobs. The tools read the times: whatever begins like one is theirs.
var jobPhrases = []phrase{
	{say(`(?:can you |could you )?(?:remind me|set (?:me )?a reminder)[:,]? (?P<remind>.+)`), planner.schedule},
	{say(`(?P<task>(?:every|each (?:day|week|month|hour|morning|evening|` + aDay + `)|daily|weekly|hourly|monthly|nightly|once an? (?:day|week|month|hour)|tomorrow|tonight` +
		`|(?:on )?(?:weekdays|weekends|` + aDay + `s)|(?:on|next|this) ` + aDay + `|` + aDay + ` (?:to ` + aDay + `|at|\d\d?)|mon-fri` +
		`|(?:in|after) (?:\d+|an?|half an?|one|two|three|four|five|six|ten|a couple of) ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?|weeks?)\b` +
		`|at \d\d?(?::\d\d)?(?: ?[ap]m)?\b),? .+)`), planner.schedule},
	{say(`(?:(?:list|show)(?: me)?|what are|which are)(?: all)?(?: of)?(?: the| my)? (?:reminders|jobs)(?: (?:are there|do i have))?`), planner.jobs},
	{say(`(?:show(?: me)?|what is|history of)(?: the| my)? (?:reminder|job|task) (?:number |no\.? ?|#)?(?P<number>\d{1,15})`), planner.jobs},
	{say(`(?P<verb>delete|remove|cancel|pause|resume|skip|run)(?: the| my)? (?:reminder|job|task) (?:number |no\.? ?|#)?(?P<number>\d{1,15})(?: now)?`), planner.changeJob},
	{say(`(?:can you |could you )?(?:remind me|set (?:me )?a reminder)[:,]?`), answer("say how a reminder is written", "Write *remind me*, when, and what: *remind me tomorrow at 9 to call Ann*, "+
		"*remind me in 20 minutes tea*, *remind me every weekday at 8 stand up*. *list my reminders* lists them.")},
}

// aTime is a word of a time, or a name, as in "at 9 in New York".
var aTime = regexp.MustCompile(`(?i)^(?:[\d@].*|(?-i:[A-Z]).*|\S+/\S+|every|each|other|daily|weekly|hourly|monthly|nightly|once|times|tomorrow|tonight|today|week(?:day|end)s?` +
	`|(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\S*|on|next|this|the|of|to|and|from|until|starting|between|at|in|by|for|after|an?|half|couple` +
	`|one|two|three|four|five|six|ten|(?:sec|second|min|minute|hr|hour|day|week|month|year|morning|afternoon|evening|night)s?|noon|midnight|[ap]m)[,:]?$`)

// does: behind the words of a time stands what is a plan that acts.
func (p planner) does(text string) bool {
	for word, rest, more := strings.Cut(text, " "); more && aTime.MatchString(word); word, rest, more = strings.Cut(text, " ") {
		text = strings.TrimSpace(rest)
		for _, phrase := range p.phrases[2:] {
			if m := matched(phrase.words, text); m != nil && (m["name"] == "" || strings.ContainsAny(m["name"], "./")) { // "open the door" is no file
				if made, ok := phrase.plan(p, m); ok && len(made["tasks"].([]task)) > 1 {
					return true
				}
			}
		}
	}
	return false
}

func (p planner) schedule(m map[string]string) (plan, bool) {
	kind := "reminder"
	if p.does(m["task"]) {
		kind = "task"
	}
	return p.job("schedule.add", map[string]any{"kind": kind, "when": strings.TrimSpace(m["remind"] + m["task"])})
}

func (p planner) jobs(m map[string]string) (plan, bool) {
	known := map[string]any{}
	if n, err := strconv.Atoi(m["number"]); err == nil {
		known["job"] = n
	}
	return p.job("schedule.list", known)
}

func (p planner) changeJob(m map[string]string) (plan, bool) {
	n, _ := strconv.Atoi(m["number"]) // the digits fit
	action := strings.ToLower(m["verb"])
	if action == "delete" || action == "cancel" {
		action = "remove"
	}
	return p.job("schedule.change", map[string]any{"job": n, "action": action})
}

func (p planner) job(tool string, known map[string]any) (plan, bool) {
	return p.act("do it with "+tool, sayIt+tool+".", use(tool, "Do it.", known)), true
}

var choiceLine = regexp.MustCompile(`(?m)^- (.+)$`)

// whichTime has the person choose where words mean several times; false: that is not what failed.
func (p planner) whichTime(failed section, text string) (plan, bool) {
	lines := choiceLine.FindAllStringSubmatch(failed.said(), -1)
	if !strings.HasPrefix(failed.field("Tool"), "schedule.add") || len(lines) == 0 {
		return plan{}, false
	}
	lead := ""
	if !p.does(text) {
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
