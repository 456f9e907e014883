package outbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/core"
)

const (
	// shownWhole is how much of a command or of arguments a question shows, in bytes; of a longer
	// one it shows the beginning, shownBegin, and the whole goes along as a file, as it would be
	// shown.
	shownWhole = 1500
	shownBegin = 400
	// codeLetters are the letters of a code that is typed, of 5 bits each.
	codeLetters = 8
)

// ruleOutside is the rule that asks where text from elsewhere was read.
const ruleOutside = "taint.outside"

// A Wish is what a question asks for.
type Wish struct {
	Person string // whose wish it is; empty: of whoever reads the question
	Tool   string
	Shown  string        // the command, the words of a tools.Deed, or the arguments as JSON
	Means  string        // what else there is to say of what would run, as plain text; empty: nothing
	Loads  *tools.Loaded // with a command that may load files: it is allowed once only; nil: it is none
	Rule   string
	Reason string
	Taint  tools.Taint
	Within time.Duration // for how long it waits
}

// A decision is a button under a question.
type decision struct {
	label string
	does  Does
}

// once says that it can be allowed once only.
func (w *Wish) once() bool { return w.Taint != tools.Clean || w.Loads != nil }

// words are what is to be done, in a line, and what is shown below it; without a line that alone.
func (w *Wish) words() (does, below string) {
	if w.Tool == tools.ExecName {
		return "", w.Shown
	}
	if !strings.HasPrefix(w.Shown, "{") {
		does, below, _ = strings.Cut(w.Shown, "\n")
		return does, below
	}
	if does, below = tools.ScheduleWords(w.Tool, w.Shown); does != "" {
		return does, below
	}
	return "", tools.Written(w.Tool, w.Shown)
}

// decisions are the buttons of a question.
func (w *Wish) decisions() []decision {
	if w.once() {
		return []decision{{"Allow once", DoesOnce}, {"Deny", DoesDeny}}
	}
	return []decision{
		{"Allow once", DoesOnce}, {"Allow in this session", DoesSession}, {"Always allow", DoesAlways}, {"Deny", DoesDeny},
	}
}

// decidedBy has a question decided by a code that is typed, unless that is empty, and by
// buttons under its last part where the conversation has them.
func (l *Connection) decidedBy(conv channels.Conversation, reply *Reply, code string, until time.Time, buttons ...decision) {
	act := func(code string, d decision) {
		reply.Actions = append(reply.Actions, Action{
			Code: HashCode(code), Kind: ActionApproval, Text: d.label, Does: d.does, ExpiresAt: until,
		})
	}
	if code != "" {
		act(code, decision{})
	}
	if !l.features(conv).Buttons {
		return
	}
	last := &reply.Parts[len(reply.Parts)-1]
	for _, d := range buttons {
		press := rand.Text()
		act(press, d)
		last.Buttons = append(last.Buttons, channels.Button{Label: d.label, Code: press})
	}
}

// NewCode is a code as it is typed: two groups of four letters and digits.
func NewCode() string {
	code := rand.Text()[:codeLetters]
	return code[:codeLetters/2] + "-" + code[codeLetters/2:]
}

// Question renders the question whether something may be done, with the buttons and the
// code that decide.
func (l *Connection) Question(ctx context.Context, conv channels.Conversation, wish Wish) Question {
	code := NewCode()
	does, what := wish.words()
	what, file := visible(what), channels.File{}
	if len(what) <= shownWhole || !l.features(conv).Files {
		what = folded(what)
	} else {
		kept, err := l.keepText(ctx, core.SessionKey(conv), nameOf(wish.Tool), wish.Taint, what)
		if err == nil {
			file, what = kept, folded(strings.ToValidUTF8(what[:shownBegin], ""))+"\n…"
		} else {
			l.lines.Log.WarnContext(ctx, "what is asked for is shown in parts; it cannot be kept as a file", "channel", l.Name, "error", err)
		}
	}
	reply := l.reply(conv, l.questionText(conv, wish, does, what, code, file.Size))
	reply.Notice, reply.Taint = true, wish.Taint
	if wish.Loads != nil {
		for _, file := range wish.Loads.Files {
			reply.Taint = reply.Taint.Join(file.Taint)
		}
	}
	l.decidedBy(conv, &reply, code, time.Now().Add(wish.Within), wish.decisions()...)
	if file.Size > 0 {
		reply.Parts = append(reply.Parts, channels.Body{Files: []channels.File{file}})
	}
	return Question{Conversation: conv, Reply: reply, Code: code}
}

// questionText is a question about what is to be done: does, and below it what; empty: the tool with its arguments.
func (l *Connection) questionText(conv channels.Conversation, wish Wish, does, what, code string, file int64) string {
	var b strings.Builder
	switch {
	case does != "":
		command := strings.HasPrefix(does, "/")
		if does = render.Escape(visible(does)); command {
			does = "run **" + does + "**"
		}
		if wish.Taint != tools.Clean {
			does += ", because of " + render.Escape(wish.Taint.Words())
		}
	case wish.Tool == tools.ExecName:
		does = "run this command"
	default:
		does = "do this"
	}
	if wish.Person != "" {
		fmt.Fprintf(&b, "**%s** asks me to %s. Allow it?", render.Escape(wish.Person), does)
	} else {
		b.WriteString("May I " + does + "?")
	}
	b.WriteString("\n\n")
	if what != "" {
		b.WriteString(words.Fenced("", what) + "\n\n")
	}
	if file > 0 {
		fmt.Fprintf(&b, "This is only the beginning. All of it (%d bytes) is in the file below.\n\n", file)
	}
	if wish.Loads != nil {
		loads(&b, wish.Loads)
	}
	if wish.Means != "" {
		b.WriteString("**" + render.Escape(visible(wish.Means)) + "**\n\n")
	}
	because := "I ask because "
	if wish.Rule == ruleOutside { // it is a whole sentence
		because = ""
	}
	fmt.Fprintf(&b, because+"%s (rule `%s`).", render.Escape(strings.TrimSuffix(wish.Reason, ".")), wish.Rule)
	switch {
	case wish.Rule == ruleOutside:
		b.WriteString(" It can be allowed once only.")
	case wish.Taint != tools.Clean:
		fmt.Fprintf(&b, " Text from elsewhere led to it (%s), so you can allow it only once.", render.Escape(wish.Taint.Words()))
	}
	command := l.Command(conv)
	by := ""
	if wish.Person == "" && conv.Kind == channels.Direct && tools.ByWord(wish.Tool) {
		by = " for your yes or no"
	}
	fmt.Fprintf(&b, "\n\n"+Waiting+"%s%s, then it is denied. To answer by typing: `%sapprove %s`", waits(wish.Within), by, command, code)
	if !wish.once() {
		b.WriteString(", with `session` or `always` after it to allow it more than once,")
	}
	fmt.Fprintf(&b, " or `%sdeny %s` and your reason.", command, code)
	return b.String()
}

// loads says of which files what a command does depends, and shows those that it names.
func loads(b *strings.Builder, l *tools.Loaded) {
	for _, file := range l.Files {
		plain := func(path string) string { return render.Escape(words.OneLine(visible(path), ShownName)) }
		name, size := plain(file.Path), words.Size(file.Size)
		lines := strings.SplitAfterN(visible(file.Begins), "\n", mostLines+1)
		shown := strings.TrimSuffix(strings.Join(lines[:min(len(lines), mostLines)], ""), "\n")
		switch {
		case file.Link != "":
			fmt.Fprintf(b, "%s is a link to %s.\n\n", name, plain(file.Link))
		case file.Binary:
			fmt.Fprintf(b, "%s is not a text file (%s), so it is not shown.\n\n", name, size)
		case file.Size > int64(len(file.Begins)) || len(lines) > mostLines:
			fmt.Fprintf(b, "%s (%s) begins:\n\n%s\n\n", name, size, words.Fenced("", shown+"\n…"))
		default:
			fmt.Fprintf(b, "%s:\n\n%s\n\n", name, words.Fenced("", shown))
		}
	}
	if l.More > 0 {
		fmt.Fprintf(b, "The command also names %s that I do not show.\n\n", words.Count(l.More, "file"))
	}
	if len(l.Files) == 0 {
		b.WriteString("No file is shown here. ")
	}
	b.WriteString("The command may run or load files in its folder, even ones it does not name. So it can be allowed once only, and runs only if no file there has changed since I asked.\n\n")
}

// Waiting begins the end of every question: what follows is no use once it is decided.
const Waiting = "I wait "

// decidedPart is the part of a question that had the buttons, as it is shown once that is
// decided.
func (l *Connection) decidedPart(q *Decided) channels.Body {
	asked, said := q.Text, decided(q)
	if i := strings.LastIndex(asked, Waiting); i >= 0 {
		asked = asked[:i]
	}
	if parts := l.reply(q.Conversation, asked+said).Parts; q.Part == len(parts)-1 {
		return parts[q.Part]
	}
	return l.reply(q.Conversation, said).Parts[0] // what was before it is in the parts before
}

// decided says what was decided, and by whom.
func decided(q *Decided) string {
	by := " by " + render.Escape(q.By)
	switch {
	case q.State == ActionExpired:
		return "**Nobody decided in time.**"
	case q.Kind == ApprovalLink && q.State == ActionRejected: // by a stranger, perhaps
		return "**Denied, so I did nothing.**"
	case q.Kind == ApprovalLink && q.State == ActionAccepted:
		return "**Confirmed on both accounts.**"
	case q.State == ActionRejected && q.Why != "":
		return "**Denied" + by + "**: " + render.Escape(q.Why)
	case q.State == ActionRejected:
		return "**Denied" + by + ".**"
	case q.State != ActionAccepted:
		return "**Nobody needs to decide that any more.**"
	case q.Kind == ApprovalPairing:
		return "**Allowed" + by + ".**"
	case q.Scope == DoesSession:
		return "**Allowed in this session" + by + ".**"
	case q.Scope == DoesAlways:
		return "**Always allowed" + by + ".**"
	case q.Scope == DoesOnce:
		return "**Allowed once" + by + ".**"
	}
	return "**Allowed" + by + ".**"
}

// waits says for how long a question is open.
func waits(d time.Duration) string {
	if d < 5*time.Minute && d%time.Minute != 0 {
		return words.Count(int(d.Seconds()), "second")
	}
	return words.Span(d)
}

// Asking says in a conversation that others are asked.
func (l *Connection) Asking(conv channels.Conversation, wish Wish) Question {
	what := "use `" + wish.Tool + "`"
	if wish.Tool == tools.ExecName {
		what = "run a command"
	}
	reply := l.reply(conv, fmt.Sprintf(
		"To go on I have to %s, which needs an admin's permission. I have asked; without an answer within %s I stop. You can write to me meanwhile.", what, waits(wish.Within)))
	reply.Notice, reply.Person = true, wish.Person
	return Question{Conversation: conv, Reply: reply}
}

func nameOf(tool string) string {
	if tool == tools.ExecName {
		return "command.sh"
	}
	return "arguments.txt"
}

// wideSpace is the width from which white space within a line is written out: it would push
// what follows out of sight.
const wideSpace = 24

// spaces are runs of white space within a line.
var spaces = words.Pattern("[ \t]{3,}")

// blankLines are two and more of them: they would push what follows out of sight.
var blankLines = words.Pattern(`\n(?:[ \t]*\n){2,}`)

// mostLines is how many lines a question shows of a text as they are. In a longer one line
// breaks are written out.
const mostLines = 30

// folded writes out the line breaks of a text of many lines.
func folded(text string) string {
	if strings.Count(text, "\n") < mostLines {
		return text
	}
	return strings.ReplaceAll(text, "\n", "⟨line break⟩ ")
}

// visible writes out what a reader would not see, or see in another order.
func visible(text string) string {
	var b strings.Builder
	text = blankLines().ReplaceAllStringFunc("\n"+text, func(run string) string {
		return fmt.Sprintf("\n⟨%d blank lines⟩\n", strings.Count(run, "\n")-1)
	})[1:]
	text = spaces().ReplaceAllStringFunc(text, func(run string) string {
		tabs := strings.Count(run, "\t")
		switch plain := len(run) - tabs; {
		case plain+8*tabs < wideSpace:
			return run
		case tabs == 0:
			return fmt.Sprintf("⟨%d spaces⟩", plain)
		case plain == 0:
			return fmt.Sprintf("⟨%d tabs⟩", tabs)
		default:
			return fmt.Sprintf("⟨%d spaces, %d tabs⟩", plain, tabs)
		}
	})
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) && !strings.ContainsRune(hollow, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// hollow are letters and symbols that show nothing.
const hollow = "\u115f\u1160\u2800\u3164\uffa0\ufffc\U0001d159"
