package delivery

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/ledger"
	"switchboard/words"
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

// A Wish is what a question asks for.
type Wish struct {
	Person string // whose wish it is; empty: of whoever reads the question
	Tool   string
	Shown  string // the command, or the arguments as JSON
	Means  string // what else there is to say of what would run, as plain text; empty: nothing
	Rule   string
	Reason string
	Taint  tools.Taint
	Within time.Duration // for how long it waits
}

// A decision is a button under a question.
type decision struct {
	label string
	does  ledger.Does
}

// decisions are the buttons of a question; a tainted turn gets no more than once.
func (w *Wish) decisions() []decision {
	if w.Taint != tools.Clean {
		return []decision{{"Allow once", ledger.DoesOnce}, {"Deny", ledger.DoesDeny}}
	}
	return []decision{
		{"Allow once", ledger.DoesOnce}, {"Allow in this session", ledger.DoesSession}, {"Always allow", ledger.DoesAlways}, {"Deny", ledger.DoesDeny},
	}
}

// decidedBy has a question decided by a code that is typed, unless that is empty, and by
// buttons under its last part where the conversation has them.
func (l *Line) decidedBy(conv channels.Conversation, reply *ledger.Reply, code string, until time.Time, buttons ...decision) {
	act := func(code string, d decision) {
		reply.Actions = append(reply.Actions, ledger.Action{
			Code: ledger.HashCode(code), Kind: ledger.ActionApproval, Text: d.label, Does: d.does, ExpiresAt: until,
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
func (l *Line) Question(ctx context.Context, conv channels.Conversation, wish Wish) ledger.Question {
	code := NewCode()
	what, file := visible(pretty(wish.Shown)), channels.File{}
	if len(what) > shownWhole && l.features(conv).Files {
		kept, err := l.keepText(ctx, ledger.SessionKey(conv), nameOf(wish.Tool), wish.Taint, what)
		if err == nil {
			file, what = kept, strings.ToValidUTF8(what[:shownBegin], "")+"\n…"
		} else {
			l.lines.Log.WarnContext(ctx, "what is asked for is shown in parts; it cannot be kept as a file", "channel", l.Name, "error", err)
		}
	}
	reply := l.reply(conv, l.questionText(conv, wish, what, code, file.Size))
	reply.Notice, reply.Taint = true, wish.Taint
	l.decidedBy(conv, &reply, code, time.Now().Add(wish.Within), wish.decisions()...)
	if file.Size > 0 {
		reply.Parts = append(reply.Parts, channels.Body{Files: []channels.File{file}})
	}
	return ledger.Question{Conversation: conv, Reply: reply, Code: code}
}

func (l *Line) questionText(conv channels.Conversation, wish Wish, what, code string, file int64) string {
	var b strings.Builder
	subject := "May I "
	if wish.Person != "" {
		subject = "**" + render.Escape(wish.Person) + "** would have me "
	}
	b.WriteString(subject)
	if wish.Tool == tools.ExecName {
		b.WriteString("run this command")
	} else {
		b.WriteString("use `" + wish.Tool + "` with these arguments")
	}
	if wish.Person == "" {
		b.WriteString("?")
	} else {
		b.WriteString(". May I?")
	}
	fmt.Fprintf(&b, "\n\n%s\n\n", words.Fenced("", what))
	if file > 0 {
		fmt.Fprintf(&b, "That is its beginning; the whole, %d bytes, is in the file below.\n\n", file)
	}
	if wish.Means != "" {
		b.WriteString("**" + render.Escape(visible(wish.Means)) + "**\n\n")
	}
	fmt.Fprintf(&b, "I ask because %s (rule `%s`).", render.Escape(strings.TrimSuffix(wish.Reason, ".")), wish.Rule)
	if wish.Taint != tools.Clean {
		fmt.Fprintf(&b, " What led to it holds text from elsewhere (%s), so it can be allowed once only.", render.Escape(wish.Taint.Words()))
	}
	command := l.Command(conv)
	fmt.Fprintf(&b, "\n\n"+Waiting+"%s, then it counts as denied. To type it: `%sapprove %s`", waits(wish.Within), command, code)
	if wish.Taint == tools.Clean {
		b.WriteString(", with `session` or `always` behind it for more than once,")
	}
	fmt.Fprintf(&b, " or `%sdeny %s` and why.", command, code)
	return b.String()
}

// Waiting begins the end of every question: what follows is no use once it is decided.
const Waiting = "I wait "

// decidedPart is the part of a question that had the buttons, as it is shown once that is
// decided.
func (l *Line) decidedPart(q *ledger.Decided) channels.Body {
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
func decided(q *ledger.Decided) string {
	by := " by " + render.Escape(q.By)
	switch {
	case q.State == ledger.ActionExpired:
		return "**Nobody decided in time.**"
	case q.State == ledger.ActionRejected && q.Why != "":
		return "**Denied" + by + "**: " + render.Escape(q.Why)
	case q.State == ledger.ActionRejected:
		return "**Denied" + by + ".**"
	case q.State != ledger.ActionAccepted:
		return "**Nobody needs to decide that any more.**"
	case q.Kind == ledger.ApprovalPairing:
		return "**Let in" + by + ".**"
	case q.Scope == ledger.DoesSession:
		return "**Allowed in this session" + by + ".**"
	case q.Scope == ledger.DoesAlways:
		return "**Always allowed" + by + ".**"
	case q.Scope == ledger.DoesOnce:
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
func (l *Line) Asking(conv channels.Conversation, wish Wish) ledger.Question {
	what := "use `" + wish.Tool + "`"
	if wish.Tool == tools.ExecName {
		what = "run a command"
	}
	reply := l.reply(conv, fmt.Sprintf(
		"To go on I have to %s, which needs an admin's permission. I have asked; without an answer within %s I stop. You can write to me meanwhile.", what, waits(wish.Within)))
	reply.Notice, reply.Person = true, wish.Person
	return ledger.Question{Conversation: conv, Reply: reply}
}

func nameOf(tool string) string {
	if tool == tools.ExecName {
		return "command.sh"
	}
	return "arguments.json"
}

// pretty indents what is JSON, and leaves everything else as it is.
func pretty(text string) string {
	var b bytes.Buffer
	if !strings.HasPrefix(text, "{") || json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// wideSpace is the width from which white space within a line is written out: it would push
// what follows out of sight.
const wideSpace = 24

// spaces are runs of white space within a line.
var spaces = words.Pattern("[ \t]{3,}")

// visible writes out what a reader would not see, or see in another order.
func visible(text string) string {
	var b strings.Builder
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
