package approvals

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/outbox"
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

// A Request is what a question asks for.
type Request struct {
	agent.Ask
	Person string        // whose request it is; empty: of whoever reads the question
	Within time.Duration // for how long it waits
}

// A decision is a button under a question.
type decision struct {
	label string
	does  outbox.Does
}

// once says that it can be allowed once only.
func (ask *Request) once() bool { return ask.Taint != tools.Clean || ask.Loads != nil }

// words are what is to be done, in a line, and what is shown below it; without a line that alone.
func (ask *Request) words() (does, below string) {
	if ask.Tool == tools.ExecName {
		return "", ask.Shown
	}
	if !strings.HasPrefix(ask.Shown, "{") {
		does, below, _ = strings.Cut(ask.Shown, "\n")
		return does, below
	}
	if does, below = tools.ScheduleWords(ask.Tool, ask.Shown); does != "" {
		return does, below
	}
	return "", tools.Written(ask.Tool, ask.Shown)
}

// decisions are the buttons of a question.
func (ask *Request) decisions() []decision {
	if ask.once() {
		return []decision{{"Allow once", outbox.DoesOnce}, {"Deny", outbox.DoesDeny}}
	}
	return []decision{
		{"Allow once", outbox.DoesOnce}, {"Allow in this session", outbox.DoesSession}, {"Always allow", outbox.DoesAlways}, {"Deny", outbox.DoesDeny},
	}
}

// decidedBy has a question decided by a code that is typed, unless that is empty, and by
// buttons under its last part where the conversation has them.
func decidedBy(c *outbox.Composer, conv channels.Conversation, reply *outbox.Reply, code string, until time.Time, buttons ...decision) {
	if code != "" {
		reply.Actions = append(reply.Actions, outbox.Action{Code: outbox.HashCode(code), Kind: outbox.ActionApproval, ExpiresAt: until})
	}
	if !c.Channel().Features(conv).Buttons {
		return
	}
	for _, d := range buttons {
		reply.Act(outbox.Action{Kind: outbox.ActionApproval, Text: d.label, Does: d.does, ExpiresAt: until}, &channels.Button{Label: d.label})
	}
}

// NewCode is a code as it is typed: two groups of four letters and digits.
func NewCode() string {
	code := rand.Text()[:codeLetters]
	return code[:codeLetters/2] + "-" + code[codeLetters/2:]
}

// Question renders the question whether something may be done, with the buttons and the
// code that decide.
func Question(ctx context.Context, c *outbox.Composer, conv channels.Conversation, ask Request) outbox.Question {
	code := NewCode()
	does, what := ask.words()
	what, file := visible(what), channels.File{}
	if len(what) <= shownWhole || !c.Channel().Features(conv).Files {
		what = folded(what)
	} else {
		name := "arguments.txt"
		if ask.Tool == tools.ExecName {
			name = "command.txt" // a script would be held back as dangerous
		}
		kept, err := c.KeepText(ctx, core.SessionKey(conv), name, ask.Taint, what)
		if err == nil {
			file, what = kept, folded(strings.ToValidUTF8(what[:shownBegin], ""))+"\n…"
		} else {
			c.Log.WarnContext(ctx, "what is asked for is shown in parts; it cannot be kept as a file", "error", err)
		}
	}
	reply := c.Alert(conv, ask.text(c.Command(conv), conv.Kind, does, what, code, file.Size), ask.Taint)
	if ask.Loads != nil {
		for _, file := range ask.Loads.Files {
			reply.Taint = reply.Taint.Join(file.Taint)
		}
	}
	decidedBy(c, conv, &reply, code, time.Now().Add(ask.Within), ask.decisions()...)
	if file.Size > 0 {
		reply.Parts = append(reply.Parts, channels.Body{Files: []channels.File{file}})
	}
	return outbox.Question{Conversation: conv, Reply: reply, Code: code}
}

// text is a question about what is to be done: does, and below it what; empty: the tool with its arguments.
// Command is what people write before a command's name there.
func (ask *Request) text(command string, kind channels.ConversationKind, does, what, code string, file int64) string {
	var b strings.Builder
	switch {
	case does != "":
		command := strings.HasPrefix(does, "/")
		if does = render.Escape(visible(does)); command {
			does = "run **" + does + "**"
		}
		if ask.Taint != tools.Clean {
			does += ", because of " + render.Escape(ask.Taint.Words())
		}
	case ask.Tool == tools.ExecName:
		does = "run this command"
	default:
		does = "do this"
	}
	if ask.Person != "" {
		fmt.Fprintf(&b, "**%s** asks me to %s. Allow it?", render.Escape(ask.Person), does)
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
	if ask.Loads != nil {
		loads(&b, ask.Loads)
	}
	if ask.Means != "" {
		b.WriteString("**" + render.Escape(visible(ask.Means)) + "**\n\n")
	}
	because := "I ask because "
	if ask.Rule == ruleOutside { // it is a whole sentence
		because = ""
	}
	fmt.Fprintf(&b, because+"%s (rule `%s`).", render.Escape(strings.TrimSuffix(ask.Reason, ".")), ask.Rule)
	switch {
	case ask.Rule == ruleOutside:
		b.WriteString(" It can be allowed once only.")
	case ask.Taint != tools.Clean:
		fmt.Fprintf(&b, " Text from elsewhere led to it (%s), so you can allow it only once.", render.Escape(ask.Taint.Words()))
	}
	by := ""
	if ask.Person == "" && kind == channels.Direct && tools.ByWord(ask.Tool) {
		by = " for your yes or no"
	}
	fmt.Fprintf(&b, "\n\n"+outbox.Waiting+"%s%s, then it is denied. To answer by typing: `%sapprove %s`", waits(ask.Within), by, command, code)
	if !ask.once() {
		b.WriteString(", with `session` or `always` after it to allow it more than once,")
	}
	fmt.Fprintf(&b, " or `%sdeny %s` and your reason.", command, code)
	return b.String()
}

// loads says of which files what a command does depends, and shows those that it names.
func loads(b *strings.Builder, l *tools.Loaded) {
	for _, file := range l.Files {
		plain := func(path string) string { return render.Escape(words.OneLine(visible(path), outbox.ShownName)) }
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

// waits says for how long a question is open.
func waits(d time.Duration) string {
	if d < 5*time.Minute && d%time.Minute != 0 {
		return words.Count(int(d.Seconds()), "second")
	}
	return words.Span(d)
}

// Asking says in a conversation that others are asked.
func Asking(c *outbox.Composer, conv channels.Conversation, ask Request) outbox.Question {
	what := "use `" + ask.Tool + "`"
	if ask.Tool == tools.ExecName {
		what = "run a command"
	}
	reply := c.Alert(conv, fmt.Sprintf(
		"To go on I have to %s, which needs an admin's permission. I have asked; without an answer within %s I stop. You can write to me meanwhile.",
		what, waits(ask.Within)), tools.Clean)
	reply.Person = ask.Person
	return outbox.Question{Conversation: conv, Reply: reply}
}

// A Confirm is a question about an account that is answered by yes or no.
type Confirm struct {
	Identity, Channel string // whose it is
	Label             string // what they call themselves, which is outside text
	Asks, Rest        string // what they want, and what else there is to say
	Waits             string // for how long it is open, in words
	Yes, No           string // what the buttons say
	Typed             string // the code that decides as well
	Anywhere          bool   // that is typed in any direct chat of an admin, not only where it is asked
	Until             time.Time
}

// Question renders it with its two buttons. What somebody calls themselves is shown,
// and not kept where a prompt would take it from.
func (about *Confirm) Question(c *outbox.Composer, conv channels.Conversation) outbox.Question {
	who := "**" + render.Escape(words.OneLine(about.Identity, outbox.ShownName)) + "** on " + render.Escape(about.Channel)
	called := ""
	if label := words.OneLine(visible(about.Label), outbox.ShownName); label != "" {
		called = ", who calls themselves “" + render.Escape(label) + "”,"
	}
	command, code := c.Command(conv), about.Typed
	asks := fmt.Sprintf(" %s\n\n%s "+outbox.Waiting+"%s. To answer by typing: `%sapprove %s` or `%sdeny %s`.",
		about.Asks, about.Rest, about.Waits, command, code, command, code)
	reply := c.Alert(conv, who+called+asks, tools.Clean)
	reply.Text = who + asks
	if about.Anywhere {
		code = ""
	}
	decidedBy(c, conv, &reply, code, about.Until, decision{about.Yes, outbox.DoesOnce}, decision{about.No, outbox.DoesDeny})
	return outbox.Question{Conversation: conv, Reply: reply, Code: code}
}
