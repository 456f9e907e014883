package main

import (
	"errors"
	"fmt"
	"strings"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/doctor"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/api"
)

// doctorCmd checks what the program needs.
type doctorCmd struct {
	Alive bool `help:"Only say whether an engine is running here: exit 0 or 1."`
	JSON  bool `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *doctorCmd) Run(a *app) error {
	if a.Server != "" {
		return configs.Usage(errors.New("--server: the doctor looks at files and programs of this machine; run \"switchboard doctor\" on the machine of the bot. From here \"curl " + strings.TrimRight(a.Server, "/") + "/readyz\" says whether it is up"))
	}
	settings, warnings, err := a.load()
	if c.Alive {
		if err == nil {
			err = api.Alive(a.ctx, settings.DataDir)
		}
		return err
	}
	if err == nil {
		now, _ := live.Read(a.ctx, settings) // what keeps the database from being read is said below
		settings, warnings = now.Settings, now.Warned(warnings)
	}
	findings := doctor.Settings(settings, warnings, err)
	if err == nil {
		findings = append(findings, doctor.Examine(a.ctx, settings)...)
	}
	failed := 0
	for _, f := range findings {
		if !f.OK {
			failed++
		}
		if c.JSON {
			continue
		}
		fmt.Fprintf(a.out, "%s  %-10s %s\n", f.Mark(), f.Title(), strings.ReplaceAll(console.Printable(f.Text), "\n", "\n                 "))
		if fix := f.ToDo(); fix != "" {
			fmt.Fprintf(a.out, "      %-10s fix: %s\n", "", console.Printable(fix))
		}
	}
	if c.JSON {
		if err := printJSON(a.out, findings); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(findings))
	}
	return nil
}
