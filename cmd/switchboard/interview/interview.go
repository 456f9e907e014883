// Package interview has the questions of init.
package interview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/channels/console"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/doctor"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
)

// An Interview asks a person on the terminal what a first start needs. Each answer is tried
// at once, in the settings that it would make.
type Interview struct {
	In      *os.File
	Err     io.Writer
	Options configs.Options // what a start would read the answers with; File will be, or is, the settings file
	Only    string          // what is asked alone: Model or a kind; empty: all that is not set
	Answers configs.Answers
	// Fakes are the keys of tables [channels.KIND] that reach fake platforms, by kind; they
	// are what Enter takes. Nil: the real ones are asked for.
	Fakes map[string]map[string]string

	ctx     context.Context // of Run
	planner string          // agent.planner before any answer
	tty     *term.Terminal
}

// Model is what init calls the model.
const Model = "model"

// ErrLeft is returned when the person leaves in the middle of the questions.
var ErrLeft = errors.New("left; nothing was written")

// Run asks for all that is not set, or for one thing alone.
func (q *Interview) Run(ctx context.Context) error {
	q.ctx = ctx
	settings, err := q.Settings(q.Answers)
	if err != nil {
		return err // the environment, or the file that is there, says something that is wrong
	}
	q.tty = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{q.In, q.Err}, "")
	q.planner = settings.Agent.Planner
	q.Say("Press Enter to accept the value in [brackets]. Ctrl-C leaves, and nothing is written.\nInstead of a key or token, env:NAME names a variable and file:PATH a file that holds it.")
	if q.Only == Model || q.Only == "" && (q.Answers.Existing == nil || q.planner == llm.Offline) {
		if err := q.model(); err != nil {
			return err
		}
	}
	for _, k := range q.Options.Kinds {
		set := len(k.Asks) == 0
		for _, ch := range settings.Channels {
			set = set || ch.Kind == k.Name
		}
		if q.Only == k.Name || q.Only == "" && !set {
			if err := q.channel(k); err != nil {
				return err
			}
		}
	}
	switch {
	case q.Answers.Existing != nil:
		return nil
	case q.Only != "":
		q.Answers.TimeZone = localZone(q.Options.Env)
		return nil
	}
	return q.zone()
}

// Say writes lines that may hold what others wrote.
func (q *Interview) Say(format string, args ...any) {
	fmt.Fprintln(q.Err, console.Printable(fmt.Sprintf(format, args...)))
}

// ask asks one question; what is typed to a hidden one is not shown. The terminal echoes
// nothing by itself from before the question stands there.
func (q *Interview) ask(hidden bool, format string, args ...any) (string, error) {
	prompt := fmt.Sprintf(format, args...)
	fd := int(q.In.Fd())
	former, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	defer func() { _ = term.Restore(fd, former) }()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = q.tty.SetSize(width, height)
	}
	text, err := Typed(q.ctx, func() (string, error) {
		if hidden {
			return q.tty.ReadPassword(prompt)
		}
		q.tty.SetPrompt(prompt)
		return q.tty.ReadLine()
	})
	if err != nil {
		fmt.Fprint(q.Err, "\r\n")
		return "", ErrLeft
	}
	return text, nil
}

// Typed is what a person types. ErrLeft: they left. A signal ends the wait; the read ends with the program.
func Typed(ctx context.Context, read func() (string, error)) (string, error) {
	typed, left := make(chan string, 1), make(chan struct{})
	go func() {
		text, err := read()
		if err != nil {
			close(left)
			return
		}
		typed <- strings.TrimSpace(text)
	}()
	select {
	case text := <-typed:
		return text, nil
	case <-left:
		return "", ErrLeft
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Settings are what a start would read with those answers.
func (q *Interview) Settings(a configs.Answers) (*configs.Settings, error) {
	settings, _, err := configs.Parse(q.Options, a.Text())
	if err != nil {
		return nil, configs.Usage(err)
	}
	return settings, nil
}

// channel asks for the credentials of one platform. Without one of them it is left out.
func (q *Interview) channel(k channels.Kind) error {
	q.Say("\n%s", k.Title)
	fake := q.Fakes[k.Name]
	if q.Fakes == nil {
		q.Say("  %s", strings.Join(k.Steps, "\n  "))
	}
	ch := configs.AnsweredChannel{Kind: k.Name, Keys: map[string]string{}}
	for key, value := range fake {
		if !slices.ContainsFunc(k.Asks, func(a channels.Ask) bool { return a.Key == key }) {
			ch.Keys[key] = value
		}
	}
	said := map[string]bool{}
	for _, a := range k.Asks {
		value, err := q.credential(a, fake[a.Key], func(value string) (bool, bool) {
			ch.Keys[a.Key] = value
			tried := configs.AnsweredChannel{Kind: k.Name, Keys: maps.Clone(ch.Keys)}
			maps.Copy(tried.Keys, a.Alone)
			return q.try(tried, said)
		})
		if err != nil {
			return err
		}
		if value == "" {
			q.Say("  %s is left out; \"switchboard init %s\" adds it later.", k.Title, k.Name)
			return nil
		}
		ch.Keys[a.Key] = value
	}
	q.Answers.Channels = append(q.Answers.Channels, ch)
	return nil
}

const (
	keepWord = "keep"
	noneYet  = "none yet"
)

// credential asks for one until it is good, kept all the same or left out, which is the empty
// one. Try says whether one is good, and if not whether the settings can hold it.
func (q *Interview) credential(a channels.Ask, enter string, try func(value string) (good, possible bool)) (string, error) {
	kept := ""
	for {
		takes := noneYet
		if enter != "" {
			takes = "that of the fake platform"
		}
		given, err := q.ask(true, "  %s (not shown) [%s]: ", a.Title, takes)
		if err != nil {
			return "", err
		}
		value := pasted(given)
		switch {
		case value == "" && enter == "":
			return "", nil
		case value == "":
			value, enter = enter, "" // once
		case value == keepWord && kept != "":
			return kept, nil
		}
		good, possible := try(value)
		if q.ctx.Err() != nil {
			return "", ErrLeft
		}
		if good {
			return value, nil
		}
		kept = ""
		more := "Give another one, or press Enter to go on without."
		if possible {
			kept, more = value, fmt.Sprintf("Give another one, write %q to take this one all the same, or press Enter to go on without.", keepWord)
		}
		q.Say("  %s", more)
	}
}

// pasted is a key or token without what comes along when it is copied.
func pasted(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // such as a zero-width space
			return -1
		}
		return r
	}, text)
	for {
		cut := strings.Trim(strings.TrimSpace(text), "\"'`“”‘’,;")
		for _, scheme := range []string{"authorization:", "bearer ", "bot "} {
			if len(cut) > len(scheme) && strings.EqualFold(cut[:len(scheme)], scheme) {
				cut = cut[len(scheme):]
			}
		}
		if cut == text {
			return text
		}
		text = cut
	}
}

// try asks the platform about a channel and says what it answers, but not again what is in
// said. Possible: a start would take the settings.
func (q *Interview) try(ch configs.AnsweredChannel, said map[string]bool) (good, possible bool) {
	_, found, err := q.TryChannel(q.ctx, ch)
	switch {
	case err != nil:
		q.sayFault(ch, err)
		return false, false
	case found == nil:
		return true, true
	case q.ctx.Err() != nil:
		return false, false // the person leaves
	}
	good = true
	fresh := map[string]bool{}
	for _, f := range found {
		if said[f.Text] {
			continue
		}
		fresh[f.Text] = true
		good = good && f.OK
		shown := doctor.Finding{OK: f.OK, Warn: f.Warn, Fix: f.Fix}
		q.Say("  %s  %s", shown.Mark(), f.Text)
		if fix := shown.ToDo(); fix != "" {
			q.Say("        fix: %s", fix)
		}
	}
	if good {
		maps.Copy(said, fresh)
	}
	return good, true
}

// TryChannel asks the platform about a channel: what the settings make of it, and what the platform says; nil: nothing.
// An error says why the settings cannot have it.
func (q *Interview) TryChannel(ctx context.Context, ch configs.AnsweredChannel) (configs.Channel, []channels.Finding, error) {
	answers := q.Answers
	answers.Channels = append(slices.Clone(answers.Channels), ch)
	settings, err := q.Settings(answers)
	if err != nil {
		return configs.Channel{}, nil, err
	}
	k, _ := q.Options.Kinds.Find(ch.Kind)
	made := settings.Channels[k.Name]
	found, _ := access.Examine(ctx, k.New(k.Name, made.Adapter, slog.New(slog.DiscardHandler)))
	return made, found, nil
}

// sayFault says why a credential cannot be one, and what it looks like instead.
func (q *Interview) sayFault(ch configs.AnsweredChannel, err error) {
	faults, _ := errors.AsType[configs.Faults](err)
	about := ""
	for key, value := range ch.Keys {
		for _, f := range faults {
			if f.Key == "channels."+ch.Kind+"."+key {
				about = value
				q.Say("  FAIL  %s", f.Text)
			}
		}
	}
	if about == "" {
		q.Say("  FAIL  %s", faultTexts(err))
		return
	}
	for _, k := range q.Options.Kinds {
		judge, ok := k.Config().(interface {
			CheckCredential(key string, s secrets.Secret) error
		})
		for _, a := range k.Asks {
			if ok && judge.CheckCredential(a.Key, secrets.Secret(about)) == nil {
				q.Say("        It looks like another one: %s, %s.", k.Title, a.Title)
			}
		}
	}
}

// faultTexts are what is wrong, without the place in a file that is not there yet.
func faultTexts(err error) string {
	faults, ok := errors.AsType[configs.Faults](err)
	if !ok {
		return err.Error()
	}
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Text
	}
	return strings.Join(texts, "; ")
}

// zone asks for the time zone.
func (q *Interview) zone() error {
	own := localZone(q.Options.Env)
	q.Say("")
	for {
		given, err := q.ask(false, "Your time zone, such as Europe/Rome [%s]: ", own)
		if err != nil {
			return err
		}
		if given = pasted(given); given == "" {
			given = own
		}
		if q.Answers.TimeZone, err = words.Zone(given); err == nil {
			return nil
		}
		q.Say("  %v", err)
	}
}

// localZone is the IANA name of the machine's time zone; UTC where it has none.
func localZone(env []string) string {
	names := []string{strings.TrimPrefix(configs.Variable(env, "TZ"), ":")}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	if path, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(path, "/zoneinfo/")
		names = append(names, name)
	}
	for _, name := range names {
		if words.IsZone(name) {
			return name
		}
	}
	return "UTC"
}
