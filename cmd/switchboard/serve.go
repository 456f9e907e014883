package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"switchboard/agent/llm"
	"switchboard/channels/console"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/engine"
	"switchboard/cmd/switchboard/logs"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/retry"
	routerpeople "switchboard/router/people"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// serveCmd runs everything that is configured.
type serveCmd struct{}

// Run implements the command. On a terminal it also chats, unless it is a job in the
// background.
func (serveCmd) Run(a *app) error {
	staysUnstopped()
	began := time.Now()
	settings, warnings, err := a.load()
	if err != nil {
		return err
	}
	terminal := a.onTerminal()
	log := logs.New(a.err, isTerminal(a.err), settings)
	var file *logs.File
	if terminal {
		if file, err = logs.Open(settings); err != nil {
			return err
		}
		defer file.Close(a.err)
		log = file.Log
	}
	for _, w := range warnings {
		log.Warn("settings", "warning", w.String())
	}
	e, err := a.waitForEngine(settings, log)
	if err != nil {
		return err
	}
	if err := settings.NoteFolder(); err != nil {
		log.Debug("data_dir could not be noted", "error", err)
	}
	settings = e.Settings().Now() // with what was changed at run time
	people := e.People()
	access.Closed(settings, people, func(channel, fix string) {
		log.Warn("nobody may write on this channel yet", "channel", channel, "mend", fix)
	})
	claim, err := e.FirstClaim(a.ctx)
	if err != nil {
		log.Warn("no claim code could be made", "error", err)
	}
	switch {
	case claim == "":
	case terminal: // the log is a file, which is no place for a code
		a.note(claim + ".")
	default:
		log.Warn("no admin can write on a platform yet", "mend", claim)
	}
	log.Info("ready", "data_dir", settings.DataDir, "database", e.DB().Kind(), "planner", settings.Agent.Planner,
		"channels", len(settings.Channels), "http", cmp.Or(e.Address(), "off"), "people", strings.Join(access.Names(people), "; "), "duration", time.Since(began).String())
	if off := e.JobsOff(); off != "" {
		log.Warn("jobs are switched off: none is run but maintenance", "setting", "scheduler.enabled")
		if terminal {
			a.note(off)
		}
	}
	if !terminal {
		if isFed(a.in) {
			log.Warn("standard input is not read; lines are answered by \"switchboard chat\"")
		}
		hangups, stop := context.WithCancel(a.ctx)
		var reloading sync.WaitGroup
		reloading.Go(func() { e.Settings().ReloadOnHangup(hangups) })
		err := e.Run(a.ctx)
		stop()
		reloading.Wait()
		return err
	}
	a.note(a.greeting(settings))
	if link, err := e.SignInLink(a.ctx, access.Owner, routerpeople.LocalActor(access.Owner)); err != nil {
		log.Warn("no link to the page could be made", "error", err)
	} else if link != "" {
		a.note("In a browser, good once, for ten minutes (\"switchboard signin\" prints another):")
		fmt.Fprintln(a.err, link) // in one line, to be copied
	}
	if e.Address() == "" && settings.Server.Listen != "" {
		a.note("The HTTP API is off: another program has " + settings.Server.Listen + ". Set server.listen to another port, and start again.")
	}
	if settings.File == "" && len(e.Settings().Now().Changes()) == 0 {
		a.note("There are no settings yet: \"switchboard init\" asks for a language model and for bots on chat platforms, and so does the page.")
	}
	a.note("The log is in " + file.Path + ".")
	return a.serveTerminal(settings, log, e)
}

// serveTerminal runs e and talks to it until the person leaves.
func (a *app) serveTerminal(settings *configs.Settings, log *slog.Logger, e *engine.Engine) error {
	if names := e.Platforms(); len(names) > 0 {
		a.note(strings.Join(names, ", ") + ": connecting.")
	}
	access.Closed(settings, e.People(), func(channel, fix string) { a.note(channel + ": nobody may write yet; " + fix + ".") })
	l := &link{app: a, settings: settings, log: log, mode: engine.Serving}
	l.start(e)
	ctx, cancel := context.WithCancel(a.ctx)
	notes := make(chan string)
	var watching sync.WaitGroup
	watching.Go(func() { e.TellStart(ctx, notes) })
	err := a.chat(a.ctx, l.client(), settings, &chatCmd{Session: "default", As: access.Owner}, notes)
	cancel()
	watching.Wait()
	return errors.Join(err, l.close())
}

// passingPatience is how long serve waits for a command that is the engine just now.
const passingPatience = time.Minute

// waitForEngine opens the engine with all its channels. A database that is held by
// nobody who answers is waited for a little, since a killed engine's lock may
// outlive it for a moment; one that a command holds is waited for until it ends, and a server
// that is not there until it is.
func (a *app) waitForEngine(settings *configs.Settings, log *slog.Logger) (*engine.Engine, error) {
	began, said := time.Now(), ""
	for {
		e, err := engine.Open(a.ctx, engine.Serving, settings, log)
		if database.NotYet(err) { // as where it starts beside this program
			if text := "the database is not there yet, and is waited for: " + err.Error(); said != text {
				log.Warn(text)
				a.note(text)
				said = text
			}
			if !retry.Sleep(a.ctx, databasePoll) {
				return nil, a.ctx.Err()
			}
			continue
		}
		other, held := errors.AsType[*engines.RunningError](err)
		if !held {
			return e, err
		}
		patience := enginePatience
		if other.Passing {
			patience = passingPatience
		} else if conn, err := api.Dial(a.ctx, settings.DataDir); err == nil {
			conn.Close()
			patience = 0
		}
		if time.Since(began) >= patience {
			return nil, fmt.Errorf("%w; \"switchboard chat\" talks to it", err)
		}
		if !retry.Sleep(a.ctx, enginePoll) {
			return nil, a.ctx.Err()
		}
	}
}

// greeting says what runs, before the prompt.
func (a *app) greeting(settings *configs.Settings) string {
	model := "model " + settings.Agent.Planner
	if settings.Agent.Planner == llm.Offline {
		model = "built-in model"
	}
	return fmt.Sprintf("Switchboard on %s, %s. Write to it; /help shows the commands, Ctrl-D leaves.",
		settings.DataDir, model)
}

// note writes a paragraph on the person's terminal, broken between words.
func (a *app) note(text string) { fmt.Fprintln(a.err, console.Fit(a.out, text)) }

// signInCmd prints a link to the page.
type signInCmd struct {
	As string `help:"Who it signs in; none: whoever runs the program." placeholder:"PERSON"`
}

// Run implements the command.
func (c *signInCmd) Run(a *app) error {
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	var made socket.SignIn
	call := api.Call{Method: http.MethodPost, Path: "/v1/signin?" + url.Values{"person": {c.As}}.Encode()}
	return a.change(settings, call, "signin", &made, func() error {
		fmt.Fprintf(a.err, "It signs %s in, once, for ten minutes. Give it to %[1]s alone.\n", made.Person)
		_, err := fmt.Fprintln(a.out, made.Link)
		return err
	})
}
