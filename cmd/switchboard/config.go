package main

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"switchboard/configs"
)

// settingsCmd looks at the settings.
type settingsCmd struct {
	Check configCheckCmd `cmd:"" help:"Say everything that is wrong with the settings, with file and line."`
	Show  configShowCmd  `cmd:"" help:"The settings in force, secrets masked, and where each came from. What each may be stands in the file that \"switchboard init\" writes."`
	Save  later          `cmd:"" hidden:""`
}

type configCheckCmd struct{}

// Run implements the command.
func (configCheckCmd) Run(a *app) error {
	settings, warnings, err := a.load()
	for _, w := range warnings {
		fmt.Fprintln(a.err, "warning:", w)
	}
	if err != nil {
		return err
	}
	if _, err := newModels(settings, slog.New(slog.DiscardHandler)); err != nil {
		return usageError{err}
	}
	file := settings.File
	if file == "" {
		file = "no file, defaults and environment only"
	}
	fmt.Fprintf(a.out, "the settings are fine (%s)\n", file)
	return nil
}

type configShowCmd struct {
	JSON bool `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *configShowCmd) Run(a *app) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a.out, settings.Show())
	}
	return table(a.out, "KEY\tVALUE\tFROM", settings.Show(), func(s configs.Shown) []any {
		return []any{s.Key, s.Value, s.Source}
	})
}

// versionCmd prints the version.
type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.out, version())
	return nil
}

// versionFlag is --version.
type versionFlag bool

// BeforeReset prints the version and ends the command line.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintln(k.Stdout, version())
	k.Exit(exitDone)
	return nil
}

func version() string {
	version, revision := "development", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
		version += revision + " " + info.GoVersion
	}
	return "switchboard " + version
}
