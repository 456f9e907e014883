package offline

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"switchboard/internal/words"
	"switchboard/scheduler"
)

const sent = `(?:,? and (?P<send>send) (?:it|me the file|me it)(?: to me)?)?`

// A phrase is what a person can say, by the names of a pattern's groups.
type phrase struct {
	words func() *regexp.Regexp
	plan  func(planner, map[string]string) (plan, bool)
}

// phrases are those that are known. The first that has a plan counts.
var phrases = slices.Concat(memoryPhrases, jobPhrases, greet(), []phrase{
	{say(`(?:(?:what(?:'s|’s| is| does| do)(?: in)?|read|show|open|print|cat)(?: me)? (?P<that>it|this|that|these|them|(?:the|my) (?:file|attachments?|document))(?: files?)?(?: say)?)?`), planner.attached},
	{say(`|help(?: me)?|hilfe|ayuda|aide|aiuto|commands|(?:what|who) are you|what (?:can|do) you do(?: for me)?|how (?:do|does) (?:you|this|it) work|what is this`), answer("say what I can do", canDo)},
	{say(`(?:thanks|thank you|thx|cheers)(?: a lot| very much| so much)?`), answer("answer the thanks", "You are welcome.")},
	{say(`(?:run|execute|exec|\$)(?:\s+(?:the\s+)?command)?[:\s]+(?:\x60(?P<quoted>[^\x60]+)\x60|(?P<line>.+))`), planner.command},
	{say(`(?:(?:can|could) you )?(?:(?:tell|give|show)(?: me)? )?(?:what(?:'s|’s|s| is)? )?(?:the )?(?:(?:current|local|exact|today's) )*` +
		`(?:time|date|day)(?: and (?:the )?(?:time|date))?(?: is (?:it|today))?(?: (?:now|today|right now))?(?: (?:in|at|for) (?P<place>[^?!]+?))?(?: (?:now|today|right now|please))*`), planner.clock},
	{say(`(?:let me |ask me to )?(?:choose|pick|which)(?: one)?(?: (?:between|among|from|of):? (?P<of>.+)|[:,]? (?P<or>.+ or .+))`), planner.choose},
	{say(`(?:(?:list|show)(?: me)?(?: all)?(?: the| my)? files|ls|(?:what|which) files (?:are|do you have|do i have)(?: there)?)(?: (?:in|of) (?:the |my )?(?:workspace|(?P<dir>[^\s?!]+)))?`), planner.list},
	{readWords, planner.read},
	{say(`(?P<send>send)(?: me)?(?: a| the)?(?: text)? file(?: called| named)?(?: (?P<name>\S+\.\w+))? (?:with|containing|saying|that says):? (?P<text>.+)`), planner.write},
	{say(`(?P<send>send)(?: me)?(?: the)?(?: file)? (?P<name>\S+\.\w+)`), planner.write},
	{say(`(?:write|make|create)(?: me)?(?: a| the)?(?: file)?(?: called| named)? (?P<name>\S+\.\w+) (?:with|containing|saying):? (?P<text>.+?)` + sent), planner.write},
	{say(`(?:write|save|store) (?P<text>.+?) (?:to|into|in|as)(?: the)?(?: file)? (?P<name>\S+?)` + sent), planner.write},
	{say(`(?P<more>append|add) (?P<text>.+?) to(?: the)?(?: file)? (?P<name>\S*[./"'_\x60]\S*?)` + sent), planner.write}, // "add two to three" is no file
	{all, planner.recalled},
	{all, scheduled(func(w scheduler.Request) bool { return w.Exact })},
})

var (
	readWords  = say(`(?:read|show|open|cat|print)(?: me)?(?: the)?(?: file)? (?P<name>[^\s?!]+)`)
	passedOn   = regexp.MustCompile(`(?s)^Passed on[^\n]*\n<<<data-\S+\n(.*)\ndata-\S+>>>$`) // a choice made of words from outside
	quoted     = regexp.MustCompile(`(?s)^(?:"(.*)"|'(.*)'|\x60(.*)\x60)$`)
	between    = regexp.MustCompile(`(?i)\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+`)
	exitStatus = regexp.MustCompile(`(?:^|\n)exit status \d+\s*$`)
	aLink      = regexp.MustCompile(`this link: (\[.*\]\(attachment:\S+\))`)
	zoneName   = regexp.MustCompile(`^[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z0-9_+-]+){1,2}$`)
	//go:embed help.md
	canDo string
)

// say is the pattern of a whole text, compiled at first use: with another model it is never needed.
func say(pattern string) func() *regexp.Regexp {
	return words.Pattern(`(?is)^(?:please\s+)?(?:` + pattern + `)$`)
}

// matched are the named groups in text, or in its bare form; nil: it does not match.
func matched(words func() *regexp.Regexp, text string) map[string]string {
	for _, text := range []string{text, bare(text)} {
		if values := words().FindStringSubmatch(text); values != nil {
			named := make(map[string]string)
			for i, value := range values {
				named[words().SubexpNames()[i]] = value
			}
			return named
		}
	}
	return nil
}

// bare is text in one line without its punctuation at the end.
func bare(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), " ?!.")
}

func unquote(text string) string { return quoted.ReplaceAllString(strings.TrimSpace(text), "$1$2$3") }

func answer(goal, text string) func(planner, map[string]string) (plan, bool) {
	return func(planner, map[string]string) (plan, bool) { return ready(goal, text), true }
}

func (p planner) command(m map[string]string) (plan, bool) {
	line := strings.TrimSpace(m["quoted"] + m["line"])
	return p.act("run a command and show what it prints", "Show the person what the command printed.",
		task{"type": "exec", "detail": line, "expect": "The command ends with exit status 0."}), line != ""
}

func (p planner) clock(m map[string]string) (plan, bool) {
	name, zone := findZone(strings.TrimSpace(m["place"]))
	switch {
	case name == "":
		return p.look("time", "the date and time", map[string]any{})
	case zone == "":
		return ready("ask for the time zone", "I do not know where "+clip(name, 60)+" is; give me its IANA time zone, for example \"time in Europe/Rome\"."), true
	}
	return p.look("time", "the date and time in "+name+" ("+zone+")", map[string]any{"zone": zone})
}

func (p planner) choose(m map[string]string) (plan, bool) {
	said := bare(m["of"] + m["or"])
	choices, different := between.Split(said, -1), slices.Sorted(slices.Values(between.Split(strings.ToLower(said), -1)))
	if len(slices.Compact(different)) < len(choices) || len(choices) < 2 || len(choices) > 5 || slices.ContainsFunc(choices, func(c string) bool { return c == "" || len([]rune(c)) > 40 }) {
		return plan{}, false
	}
	return planned("let the person choose", task{"type": "msg", "detail": "Ask.", "choices": choices, "answer": whichOne}), true
}

func (p planner) list(m map[string]string) (plan, bool) {
	made, ok := p.look("workspace.list", "the list of files", map[string]any{"path": unquote(m["dir"])})
	if tasks := made["tasks"].([]task); len(p.earlier) > 0 && m["dir"] == "" && len(tasks) == 2 {
		tasks[1]["detail"] = "Show the person the list of files. " + andSent + listed(p.earlier)
	}
	return made, ok
}

// read shows a file that came along, or one of the workspace.
func (p planner) read(m map[string]string) (plan, bool) {
	name := unquote(m["name"])
	if f, ok := named(p.files, name); ok {
		return p.show(f)
	}
	return p.look("workspace.read", "the text of "+name, map[string]any{"path": name})
}

// write writes a file, sends one, or both.
func (p planner) write(m map[string]string) (plan, bool) {
	name, mode, goal, tell := unquote(m["name"]), "create", "write the file ", "Tell the person that the file is written: "
	var steps []task
	switch {
	case m["send"] != "" && strings.Contains(p.place.field("Formatting"), "files: no"):
		return ready("say that files cannot be sent", "Files cannot be sent here; \"read notes.txt\" shows the text of one. On the machine they lie in the data folder under `workspaces`."), true
	case m["more"] != "":
		mode = "append"
	case name == "":
		name, mode = "file.txt", "replace"
	}
	if m["text"] != "" {
		known := map[string]any{"path": name, "content": unquote(m["text"]) + "\n", "mode": mode}
		steps = append(steps, use("workspace.write", "Write "+name+".", known))
	}
	if m["send"] != "" {
		goal, tell = "send the file ", "Send the person the file "
		steps = append(steps, use("workspace.publish", "Make "+name+" one that a message can send.", map[string]any{"path": name}))
	}
	return p.act(goal+name, tell+name+".", steps...), true
}

// named is the newest file of that name.
func named(files []file, name string) (file, bool) {
	for _, f := range slices.Backward(files) {
		if strings.EqualFold(f.name, name) {
			return f, true
		}
	}
	return file{}, false
}

// attached shows what came along, or what came last if that is asked for.
func (p planner) attached(m map[string]string) (plan, bool) {
	if len(p.files) == 0 && m["that"] != "" {
		return p.show(p.earlier[max(0, len(p.earlier)-1):]...)
	}
	return p.show(p.files...)
}

// show reads a text; of other files and of several it says what they are.
func (p planner) show(files ...file) (plan, bool) {
	if len(files) == 1 && !noText.MatchString(files[0].about) {
		return p.look("attachment.read", "the text of "+files[0].name, map[string]any{"id": files[0].id})
	}
	const only = "I can show what is in a text (\"read NAME\"); of other files I can only say what they are:\n"
	return ready("say what came along", only+listed(files)), len(files) > 0
}

func listed(files []file) (list string) {
	for _, f := range files {
		list += "\n- `" + strings.ReplaceAll(f.name, "`", "'") + "` (" + f.about + ")"
	}
	return list
}

// findZone knows a place, or an IANA zone as it is written. An unknown place has
// no zone.
func findZone(place string) (name, zone string) {
	if zoneName.MatchString(place) {
		return strings.ReplaceAll(place[strings.LastIndex(place, "/")+1:], "_", " "), place
	}
	place, _, _ = strings.Cut(place, ",") // "Paris, France"
	if name, zone = words.Place(place); zone == "" {
		name = place
	}
	return name, zone
}
