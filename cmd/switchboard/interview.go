package main

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
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
)

// An interview asks a person on the terminal what a first start needs. Each answer is tried
// at once, in the settings that it would make.
type interview struct {
	app     *app
	path    string // of the settings file that will be, or is
	only    string // what is asked alone: askedModel or a kind; empty: all that is not set
	answers configs.Answers
	planner string // agent.planner before any answer
	// fakes are the keys of tables [channels.KIND] that reach fake platforms, by kind; they
	// are what Enter takes. Nil: the real ones are asked for.
	fakes map[string]map[string]string
	tty   *term.Terminal
}

// askedModel is what init calls the model.
const askedModel = "model"

// errLeft is returned when the person leaves in the middle of the questions.
var errLeft = errors.New("left; nothing was written")

// run asks for all that is not set, or for one thing alone.
func (q *interview) run() error {
	settings, err := q.settings(q.answers)
	if err != nil {
		return err // the environment, or the file that is there, says something that is wrong
	}
	q.tty = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{q.app.in, q.app.err}, "")
	q.planner = settings.Agent.Planner
	q.say("Press Enter to accept the value in [brackets]. Ctrl-C leaves, and nothing is written.\nInstead of a key or token, env:NAME names a variable and file:PATH a file that holds it.")
	if q.only == askedModel || q.only == "" && (q.answers.Existing == nil || q.planner == llm.Offline) {
		if err := q.model(); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		set := len(k.Asks) == 0
		for _, ch := range settings.Channels {
			set = set || ch.Kind == k.Name
		}
		if q.only == k.Name || q.only == "" && !set {
			if err := q.channel(k); err != nil {
				return err
			}
		}
	}
	switch {
	case q.answers.Existing != nil:
		return nil
	case q.only != "":
		q.answers.TimeZone = localZone(q.app.env)
		return nil
	}
	return q.zone()
}

// say writes lines that may hold what others wrote.
func (q *interview) say(format string, args ...any) {
	fmt.Fprintln(q.app.err, console.Printable(fmt.Sprintf(format, args...)))
}

// ask asks one question; what is typed to a hidden one is not shown. The terminal echoes
// nothing by itself from before the question stands there.
func (q *interview) ask(prompt string, hidden bool) (string, error) {
	fd := int(q.app.in.(*os.File).Fd())
	former, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	defer func() { _ = term.Restore(fd, former) }()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = q.tty.SetSize(width, height)
	}
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // a signal ends the wait; the read ends with the program
		var a answer
		if hidden {
			a.text, a.err = q.tty.ReadPassword(prompt)
		} else {
			q.tty.SetPrompt(prompt)
			a.text, a.err = q.tty.ReadLine()
		}
		answered <- a
	}()
	select {
	case a := <-answered:
		if a.err != nil {
			fmt.Fprint(q.app.err, "\r\n")
			return "", errLeft
		}
		return strings.TrimSpace(a.text), nil
	case <-q.app.ctx.Done():
		fmt.Fprint(q.app.err, "\r\n")
		return "", errLeft
	}
}

// settings are what a start would read with those answers.
func (q *interview) settings(a configs.Answers) (*configs.Settings, error) {
	settings, _, err := configs.Parse(configs.Options{
		File: q.path, Env: q.app.env, DataDir: q.app.Data, LogLevel: q.app.LogLevel, Kinds: kinds,
	}, a.Text())
	if err != nil {
		return nil, usageError{err}
	}
	return settings, nil
}

// channel asks for the credentials of one platform. Without one of them it is left out.
func (q *interview) channel(k channels.Kind) error {
	q.say("\n%s", k.Title)
	fake := q.fakes[k.Name]
	if q.fakes == nil {
		q.say("  %s", strings.Join(k.Steps, "\n  "))
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
			q.say("  %s is left out; \"switchboard init %s\" adds it later.", k.Title, k.Name)
			return nil
		}
		ch.Keys[a.Key] = value
	}
	q.answers.Channels = append(q.answers.Channels, ch)
	return nil
}

const (
	keepWord = "keep"
	noneYet  = "none yet"
)

// credential asks for one until it is good, kept all the same or left out, which is the empty
// one. Try says whether one is good, and if not whether the settings can hold it.
func (q *interview) credential(a channels.Ask, enter string, try func(value string) (good, possible bool)) (string, error) {
	kept := ""
	for {
		takes := noneYet
		if enter != "" {
			takes = "that of the fake platform"
		}
		given, err := q.ask(fmt.Sprintf("  %s (not shown) [%s]: ", a.Title, takes), true)
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
		if q.app.ctx.Err() != nil {
			return "", errLeft
		}
		if good {
			return value, nil
		}
		kept = ""
		more := "Give another one, or press Enter to go on without."
		if possible {
			kept, more = value, fmt.Sprintf("Give another one, write %q to take this one all the same, or press Enter to go on without.", keepWord)
		}
		q.say("  %s", more)
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
func (q *interview) try(ch configs.AnsweredChannel, said map[string]bool) (good, possible bool) {
	answers := q.answers
	answers.Channels = append(slices.Clone(answers.Channels), ch)
	settings, err := q.settings(answers)
	if err != nil {
		q.sayFault(ch, err)
		return false, false
	}
	k, _ := kinds.Find(ch.Kind)
	examiner, ok := k.New(k.Name, settings.Channels[k.Name].Adapter, slog.New(slog.DiscardHandler)).(channels.Examiner)
	if !ok {
		return true, true
	}
	ctx, cancel := context.WithTimeout(q.app.ctx, platformTimeout)
	defer cancel()
	found := examiner.Examine(ctx)
	if q.app.ctx.Err() != nil {
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
		q.sayFinding(finding{OK: f.OK, Warn: f.Warn, Text: f.Text, Mend: f.Mend})
	}
	if good {
		maps.Copy(said, fresh)
	}
	return good, true
}

func (q *interview) sayFinding(f finding) {
	q.say("  %s  %s", f.mark(), f.Text)
	if f.Mend != "" && (!f.OK || f.Warn) {
		q.say("        fix: %s", f.Mend)
	}
}

// sayFault says why a credential cannot be one, and what it looks like instead.
func (q *interview) sayFault(ch configs.AnsweredChannel, err error) {
	faults, _ := errors.AsType[configs.Faults](err)
	about := ""
	for key, value := range ch.Keys {
		for _, f := range faults {
			if f.Key == "channels."+ch.Kind+"."+key {
				about = value
				q.say("  FAIL  %s", f.Text)
			}
		}
	}
	if about == "" {
		q.say("  FAIL  %s", faultTexts(err))
		return
	}
	for _, k := range kinds {
		judge, ok := k.Config().(interface {
			CheckCredential(key string, s secrets.Secret) error
		})
		for _, a := range k.Asks {
			if ok && judge.CheckCredential(a.Key, secrets.Secret(about)) == nil {
				q.say("        It looks like another one: %s, %s.", k.Title, a.Title)
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
func (q *interview) zone() error {
	own := localZone(q.app.env)
	q.say("")
	for {
		given, err := q.ask(fmt.Sprintf("Your time zone, such as Europe/Rome [%s]: ", own), false)
		if err != nil {
			return err
		}
		if given = pasted(given); given == "" {
			given = own
		}
		if q.answers.TimeZone, err = words.Zone(given); err == nil {
			return nil
		}
		q.say("  %v", err)
	}
}

// localZone is the IANA name of the machine's time zone; UTC where it has none.
func localZone(env []string) string {
	names := []string{strings.TrimPrefix(variable(env, "TZ"), ":")}
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
