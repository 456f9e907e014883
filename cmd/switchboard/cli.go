package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/internal/words"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or configuration
)

// globals are the flags of every command.
type globals struct {
	Config   string `help:"Settings file." placeholder:"FILE"`
	Data     string `help:"Data folder." placeholder:"DIR"`
	Server   string `help:"Talk to the bot on another machine, with the token in SWITCHBOARD_TOKEN." placeholder:"URL"`
	Insecure bool   `help:"Let --server be http:// on another machine, where others can read the token on its way."`
	LogLevel string `help:"debug, info, warn or error." placeholder:"LEVEL"`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// cli is the command line.
type cli struct {
	globals

	Serve    serveCmd    `cmd:"" default:"withargs" help:"Run everything that is configured (the default)." group:"run"`
	Chat     chatCmd     `cmd:"" help:"Talk in the terminal, or in a pipe: one line, one message." group:"run"`
	Init     initCmd     `cmd:"" help:"Write a commented switchboard.toml, or add to it." group:"run"`
	Doctor   doctorCmd   `cmd:"" help:"Check settings, database, model and sandbox, and say how to fix what fails." group:"run"`
	Settings settingsCmd `cmd:"" name:"config" help:"Check or show the settings." group:"set"`
	Turn     turnCmd     `cmd:"" help:"What was asked and how it was answered." group:"see"`
	Explain  explainCmd  `cmd:"" help:"Why it was answered so." group:"see"`
	Delivery deliveryCmd `cmd:"" help:"What was sent, and what was not." group:"see"`
	Channel  channelCmd  `cmd:"" help:"The state of each channel." group:"see"`
	Job      jobCmd      `cmd:"" help:"Reminders and scheduled jobs." group:"set"`
	Person   personCmd   `cmd:"" help:"Who may write." group:"set"`
	Memory   memoryCmd   `cmd:"" help:"What the bot remembers." group:"set"`
	Secret   secretCmd   `cmd:"" help:"Passwords, tokens and keys, stored encrypted." group:"set"`
	SignIn   signInCmd   `cmd:"" name:"signin" help:"Print a link that opens the page in a browser: good once, for ten minutes." group:"run"`
	Token    tokenCmd    `cmd:"" help:"API tokens, by which programs talk to the bot over HTTP." group:"set"`
	Prompt   promptCmd   `cmd:"" help:"The prompts of the models' roles." group:"set"`
	Audit    auditCmd    `cmd:"" help:"Who did and decided what, in a log that shows if somebody changed it." group:"see"`
	Usage    usageCmd    `cmd:"" help:"How much the models were used, and what it cost." group:"see"`
	Migrate  migrateCmd  `cmd:"" help:"The database's schema." group:"keep"`
	Backup   backupCmd   `cmd:"" help:"Back up the database and its files into one file, also while the bot runs." group:"keep"`
	Restore  restoreCmd  `cmd:"" help:"Fill an empty database from such a file, SQLite or PostgreSQL, whichever it came from." group:"keep"`
	Dev      devCmd      `cmd:"" help:"A fake platform on this machine with a page to chat on, to try a channel with no account." group:"run"`
	Version  versionCmd  `cmd:"" help:"Print the version." group:"about"`

	Completion completionCmd `cmd:"" help:"Print the completion script for bash or zsh." group:"about"`

	Help struct {
		Of []string `arg:"" optional:""`
	} `cmd:"" hidden:""` // as --help

	// What later versions bring answers with a clear sentence.
	Skill later `cmd:"" hidden:""`
}

// helpGroups are the titles under which --help shows the commands.
var helpGroups = kong.ExplicitGroups([]kong.Group{
	{Key: "run", Title: "Set up and run"},
	{Key: "see", Title: "See what it does, and why"},
	{Key: "set", Title: "People, settings and jobs"},
	{Key: "keep", Title: "The data"},
	{Key: "about", Title: "This program"},
})

// streams are where a command reads and writes: results on out, everything else
// on err.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// app is what every command gets.
type app struct {
	globals
	streams
	env []string
	// mask knows all secrets that were seen.
	mask *secrets.Masker
	// ctx ends at the first SIGINT or SIGTERM; the second ends the process.
	ctx context.Context
}

// errNotAvailable is what commands of later versions answer.
var errNotAvailable = errors.New("not available in this build")

// later is a command that this build does not have.
type later struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

func (later) Run(k *kong.Context) error {
	return fmt.Errorf("switchboard %s: %w", strings.TrimSuffix(k.Command(), " <args>"), errNotAvailable)
}

// run executes a command line and returns the exit code.
func run(args []string, std streams, env []string) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("switchboard"),
		kong.Description("One assistant, reachable where people already talk."),
		kong.Writers(std.out, std.err), kong.Exit(func(code int) { exited = code }),
		kong.Vars{"fakes": strings.Join(fakeKinds(), ","), "askable": either(askable()), "manifests": either(manifests()), "agents": either(agents())},
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), helpGroups)
	if err != nil {
		fmt.Fprintln(std.err, "switchboard:", err)
		return exitFailed
	}
	subcommands(parser.Model)
	command, err := parser.Parse(args)
	if err == nil && strings.HasPrefix(command.Command(), "help") {
		command, err = parser.Parse(slices.Concat(c.Help.Of, []string{"--help"}))
	}
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		if which := whichOf(err, args); len(args) > 0 && strings.HasSuffix(which, " "+args[len(args)-1]) { // a command alone
			_, _ = parser.Parse(append(slices.Clone(args), "--help"))
			return exitUsage
		}
		fmt.Fprintln(std.err, "switchboard:", meant(err, parser.Model))
		fmt.Fprintf(std.err, "Run \"%s --help\" for what there is.\n", whichOf(err, args))
		return exitUsage
	}
	ctx, stop := withSignals(context.Background(), std.err)
	defer stop()
	a := &app{globals: c.globals, streams: std, env: env, mask: secrets.NewMasker(), ctx: ctx}
	_ = command.BindToProvider(a.settings)
	if err := command.Run(a, command); err != nil {
		return a.report(err)
	}
	return exitDone
}

// subcommands have a heading of their own in --help, and not that of their command. An argument that is called
// ENUM is shown as the words that it may be.
func subcommands(commands *kong.Application) {
	for _, command := range commands.Children {
		for _, p := range command.Positional {
			p.Name = strings.ReplaceAll(p.Name, "ENUM", strings.ReplaceAll(p.Enum, ",", "|"))
		}
		for _, sub := range command.Children {
			sub.Group = &kong.Group{Key: "commands", Title: "Commands:"}
		}
	}
}

// whichOf is the command that an error of the parser is about, as it is typed.
func whichOf(err error, args []string) string {
	fault, ok := errors.AsType[*kong.ParseError](err)
	if !ok || fault.Context == nil || fault.Context.Selected() == nil || !slices.Contains(args, fault.Context.Selected().Name) { // it is the default
		return "switchboard"
	}
	return fault.Context.Selected().FullPath()
}

// meant adds the nearest command to the error about one that there is not. The parser
// does so for subcommands alone.
func meant(err error, commands *kong.Application) error {
	word, unexpected := strings.CutPrefix(err.Error(), "unexpected argument ")
	if !unexpected {
		return err
	}
	var names []string
	for _, c := range commands.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if nearest := words.Nearest(word, names); nearest != "" {
		return fmt.Errorf("%w, did you mean %q?", err, nearest)
	}
	return err
}

// report prints an error for a person and returns the exit code it stands for.
func (a *app) report(err error) int {
	if errors.Is(err, context.Canceled) && a.ctx.Err() != nil {
		return exitDone // asked to stop, and stopped
	}
	fmt.Fprintln(a.err, "switchboard:", console.Printable(err.Error()))
	if answer, ok := errors.AsType[*api.Error](err); ok && a.Server != "" && answer.Hint != "" {
		fmt.Fprintln(a.err, "switchboard:", console.Printable(answer.Hint))
	}
	if _, ok := errors.AsType[configs.UsageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// withSignals returns a context that ends at the first SIGINT or SIGTERM; the
// second ends the process at once.
func withSignals(parent context.Context, log io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-signals:
			cancel()
		}
		select {
		case <-done:
		case <-signals:
			fmt.Fprintln(log, "switchboard: second signal, stopping at once")
			os.Exit(exitFailed)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}

// load reads the settings, with the secrets that they name; their faults are wrong usage.
func (a *app) load() (*configs.Settings, []configs.Warning, error) {
	settings, warnings, err := a.loadWith(nil, nil)
	if err != nil || !settings.UsesSecrets() {
		return settings, warnings, err
	}
	return a.loadWith(live.LookUp(a.ctx, settings), settings.Vault)
}

// settings is load for who says nothing of warnings; a command that takes them is given these.
func (a *app) settings() (*configs.Settings, error) {
	settings, _, err := a.load()
	return settings, err
}

// talked are settings, read by read, for a command that talks to the bot; nil: to that of --server, which has its own.
func (a *app) talked(read func() (*configs.Settings, error)) (*configs.Settings, error) {
	if a.Server != "" {
		return nil, nil
	}
	return read()
}

// stored are settings for who needs a database.
func stored(settings *configs.Settings, err error) (*configs.Settings, error) {
	if err == nil && settings != nil {
		err = settings.Stored()
	}
	return settings, err
}

// unresolved is settings for who needs no secret.
func (a *app) unresolved() (*configs.Settings, error) {
	settings, _, err := a.loadWith(nil, nil)
	return settings, err
}

func (a *app) loadWith(stored func(string) (secrets.Secret, error), has *vault.Vault) (*configs.Settings, []configs.Warning, error) {
	if a.Server != "" {
		return nil, nil, configs.Usage(errors.New("--server: this command works on the machine of the bot alone; run it there"))
	}
	settings, warnings, err := configs.Load(configs.Options{
		File: a.Config, Env: a.env, DataDir: a.Data, LogLevel: a.LogLevel, Kinds: kinds, Secrets: stored, Mask: a.mask, Vault: has,
	})
	if err == nil {
		err = settings.LostFolder()
	}
	if err != nil {
		return nil, warnings, configs.Usage(err)
	}
	return settings, warnings, nil
}
