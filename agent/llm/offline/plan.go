package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

type plan struct {
	Goal    string    `json:"goal"`
	Secrets *struct{} `json:"secrets"`
	Tasks   []task    `json:"tasks"`
}

type task struct {
	Type    string   `json:"type"`
	Detail  string   `json:"detail"`
	Tool    *string  `json:"tool"`
	Args    *string  `json:"args"`
	Expect  *string  `json:"expect"`
	Choices []string `json:"choices"`
	Answer  *string  `json:"answer"`
}

const (
	needsModel = "This needs a language model, and none is set: run `switchboard init`, or write a table " +
		"`[llm.providers.NAME]` with `base_url` and `api_key` into the settings and name a model as `planner` under `[agent]`."
	canDo = "I run without a language model, so I know a few things only:\n\n" +
		"- the date and time: *what time is it in Tokyo?*\n" +
		"- commands, where they are permitted: *run uname -a*\n" +
		"- files of this session: *list files*, *read notes.txt*, *write buy milk to notes.txt*\n" +
		"- *help*: this list\n\n" +
		"For everything else set a language model: run `switchboard init`, or fill in `[llm.providers.…]` and `[agent] planner` in the settings."
	greeting = "Hello! I run without a language model; say *help* to see what I can do."
	welcome  = "You are welcome."
)

// makePlan plans for what the person wrote.
func makePlan(system, user prompt) plan {
	if faults := user.get("Faults in your last plan").said(); faults != "" {
		return ready("say that the plan was not accepted", "I could not make a plan for this that passes the checks: "+clip(faults, 300))
	}
	if failed := user.get("What failed"); failed.title != "" {
		return ready("say what failed", failure(failed))
	}
	text := user.get("New message").text()
	p := planner{tools: system.tools(), place: user.get("Where you speak")}
	for _, try := range []func(string) (plan, bool){p.talk, p.command, p.clock, p.files} {
		if made, ok := try(text); ok {
			return made
		}
	}
	return ready("say what this needs", needsModel)
}

type planner struct {
	tools map[string]json.RawMessage
	place section
}

// ready is a plan of one message with its text.
func ready(goal, answer string) plan {
	return plan{Goal: goal, Tasks: []task{{Type: "msg", Detail: "Answer.", Answer: &answer}}}
}

// act is a plan that does one thing and tells what came of it; without the right
// to it, one that says so.
func (p planner) act(goal, name string, act task, tell string) plan {
	if _, ok := p.tools[name]; !ok {
		return ready("say that this is not permitted", p.refusal(name))
	}
	return plan{Goal: goal, Tasks: []task{act, {Type: "msg", Detail: tell}}}
}

// refusal says why a tool is withheld: "- name: reason (rule NAME)".
func (p planner) refusal(name string) string {
	what := "use the tool `" + name + "`"
	if name == "exec" {
		what = "run commands"
	}
	if why := p.place.field(name); why != "" {
		return fmt.Sprintf("I may not %s here: %s", what, why)
	}
	return fmt.Sprintf("I may not %s here.", what)
}

func (p planner) use(name string, known map[string]any, detail, expect string) task {
	args := encode(known)
	if schema := p.tools[name]; schema != nil {
		args = encode(fill(schema, known))
	}
	return task{Type: "tool", Detail: detail, Tool: &name, Args: &args, Expect: &expect}
}

var (
	helpWords   = regexp.MustCompile(`^(?:|help(?: me)?|commands|(?:what|who) are you|what (?:can|do) you do(?: for me)?|how (?:do|does) (?:you|this|it) work|what is this)$`)
	greetWords  = regexp.MustCompile(`^(?:hi|hello|hey|hallo|ciao|good (?:morning|afternoon|evening|day))(?: there| bot| switchboard)?$`)
	thanksWords = regexp.MustCompile(`^(?:thanks|thank you|thx|cheers)(?: a lot| very much| so much)?$`)
	runWords    = regexp.MustCompile("(?is)^(?:please\\s+)?(?:run|execute|exec|\\$)(?:\\s+(?:the\\s+)?command)?[:\\s]+(.+)$")
	listWords   = regexp.MustCompile(`^(?:please )?(?:(?:list|show)(?: me)?(?: all)?(?: the| my)? files|ls|(?:what|which) files (?:are|do you have|do i have)(?: there)?)(?: (?:in|of) (?:the |my )?(\S+))?$`)
	readWords   = regexp.MustCompile(`(?i)^(?:please )?(?:read|show|open|cat|print)(?: me)?(?: the)?(?: file)? (\S+)$`)
	writeWords  = regexp.MustCompile(`(?is)^(?:please )?(?:write|save|store) (.+) (?:to|into|in|as)(?: the)?(?: file)? (\S+)$`)
	appendWords = regexp.MustCompile(`(?is)^(?:please )?(?:append|add) (.+) to(?: the)?(?: file)? (\S+)$`)
	clockWords  = regexp.MustCompile(`(?i)^(?:please )?(?:(?:can|could) you )?(?:(?:tell|give|show)(?: me)? )?(?:what(?:'s|’s|s| is)? )?(?:the )?(?:(?:current|local|exact|today's) )*` +
		`(?:time|date|day)(?: and (?:the )?(?:time|date))?(?: is (?:it|today))?(?: (?:now|today|right now))?(?: (?:in|at|for) (.+?))?(?: (?:now|today|right now|please))*$`)
)

func (p planner) talk(text string) (plan, bool) {
	switch low := bare(text); {
	case helpWords.MatchString(low):
		return ready("say what I can do", canDo), true
	case greetWords.MatchString(low):
		return ready("greet", greeting), true
	case thanksWords.MatchString(low):
		return ready("answer the thanks", welcome), true
	}
	return plan{}, false
}

func (p planner) command(text string) (plan, bool) {
	m := runWords.FindStringSubmatch(text)
	if m == nil {
		return plan{}, false
	}
	line := strings.TrimSpace(m[1])
	if strings.HasPrefix(line, "`") {
		line = strings.TrimSpace(strings.Trim(line, "`"))
	}
	expect := "The command ends with exit status 0."
	return p.act("run a command and show what it prints", "exec",
		task{Type: "exec", Detail: line, Expect: &expect}, "Show the person what the command printed."), line != ""
}

func (p planner) files(text string) (plan, bool) {
	if m := listWords.FindStringSubmatch(bare(text)); m != nil {
		known := map[string]any{"path": nil}
		if dir := unquote(m[1]); dir != "" && dir != "workspace" {
			known["path"] = dir
		}
		return p.act("list the files", "workspace.list",
			p.use("workspace.list", known, "List the files of the workspace.", "The list of files."), "Show the person the list of files."), true
	}
	if m := readWords.FindStringSubmatch(text); m != nil {
		name := unquote(m[1])
		return p.act("show the file "+name, "workspace.read",
			p.use("workspace.read", map[string]any{"path": name}, "Read "+name+".", "The text of the file."), "Show the person the text of "+name+"."), true
	}
	mode, m := "create", writeWords.FindStringSubmatch(text)
	if m == nil {
		mode, m = "append", appendWords.FindStringSubmatch(text)
	}
	if m == nil || !strings.ContainsAny(m[2], "./\"'`_") && mode == "append" {
		return plan{}, false // "add two to three" is no file
	}
	name := unquote(m[2])
	known := map[string]any{"path": name, "content": unquote(m[1]) + "\n", "mode": mode}
	return p.act("write the file "+name, "workspace.write",
		p.use("workspace.write", known, "Write "+name+".", "The file is written."), "Tell the person that "+name+" is written."), true
}

func (p planner) clock(text string) (plan, bool) {
	m := clockWords.FindStringSubmatch(strings.TrimRight(strings.TrimSpace(text), " ?!."))
	if m == nil {
		return plan{}, false
	}
	place := strings.TrimSpace(m[1])
	if place == "" {
		return p.act("tell the date and time", "time",
			p.use("time", map[string]any{"zone": nil}, "Look up the date and time here.", "The local date and time."),
			"Tell the person the date and time."), true
	}
	name, zone := findZone(place)
	if zone == "" {
		return ready("ask for the time zone", fmt.Sprintf(
			"I do not know where %s is; give me its IANA time zone, for example *time in Europe/Rome*.", clip(place, 60))), true
	}
	where := fmt.Sprintf("%s (%s)", name, zone)
	return p.act("tell the date and time in "+name, "time",
		p.use("time", map[string]any{"zone": zone}, "Look up the date and time in "+where+".", "The date and time in "+where+"."),
		"Tell the person the date and time in "+where+"."), true
}

// bare is text in lower case without its punctuation at the end.
func bare(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), " ?!.")
}

func unquote(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n >= 2 && strings.ContainsRune("`\"'", rune(text[0])) && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
