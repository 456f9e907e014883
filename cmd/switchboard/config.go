package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/live"
	"switchboard/cmd/switchboard/models"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/settings"
)

// settingsCmd looks at the settings.
type settingsCmd struct {
	Check configCheckCmd `cmd:"" help:"Say everything that is wrong with the settings, with file and line."`
	Show  configShowCmd  `cmd:"" help:"The settings in use, secrets hidden, and where each comes from. The file that \"switchboard init\" writes explains each one."`

	Get      configGetCmd      `cmd:"" help:"What the running engine uses: one setting, or a table."`
	Set      configSetCmd      `cmd:"" help:"Change a setting while the engine runs: it overrides the file, and the environment overrides it."`
	Unset    configUnsetCmd    `cmd:"" help:"Use the file's value again for one setting."`
	Diff     configDiffCmd     `cmd:"" help:"What was changed at run time, beside what the file says."`
	Versions configVersionsCmd `cmd:"" help:"All changes, the newest first."`
	Undo     configUndoCmd     `cmd:"" help:"Take a change back, the last one or one by its number."`
	Confirm  configChangeCmd   `cmd:"" help:"Confirm a change. Only the person who made it can, in the same place."`
	Save     configChangeCmd   `cmd:"" help:"Write what was changed at run time into the file, its comments kept."`
}

type configCheckCmd struct{ jsonFlag }

// A checkView is what a check of the settings found.
type checkView struct {
	OK       bool              `json:"ok"`
	File     string            `json:"file"` // empty: there is none, or it was not found
	Faults   []configs.Fault   `json:"faults"`
	Warnings []configs.Warning `json:"warnings"`
}

// Run implements the command.
func (c *configCheckCmd) Run(a *app) error {
	settings, warnings, err := a.load()
	if err == nil {
		err = models.Faults(settings)
	}
	if err == nil {
		now, _ := live.Read(a.ctx, settings) // that the database cannot be read is the doctor's to say
		warnings = now.Warned(warnings)
		if faults, is := errors.AsType[configs.Faults](now.People); is {
			err = configs.Usage(faults)
		}
	}
	if c.JSON {
		return a.checked(settings, warnings, err)
	}
	for _, w := range warnings {
		fmt.Fprintln(a.err, "warning:", w)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "the settings are fine (%s)\n", cmp.Or(settings.File, "no file, defaults and environment only"))
	return nil
}

// checked prints what a check found as JSON, which has the faults whole.
func (a *app) checked(settings *configs.Settings, warnings []configs.Warning, err error) error {
	v := checkView{OK: err == nil, Faults: []configs.Fault{}, Warnings: append([]configs.Warning{}, warnings...)}
	if settings != nil {
		v.File = settings.File
	}
	if faults, ok := errors.AsType[configs.Faults](err); ok {
		v.Faults = faults
	} else if err != nil {
		v.Faults = []configs.Fault{{Text: err.Error()}}
	}
	if err := printJSON(a.out, v); err != nil {
		return err
	}
	if err != nil {
		return configs.Usage(errors.New("the settings have faults"))
	}
	return nil
}

type configShowCmd struct{ jsonFlag }

// Run implements the command.
func (c *configShowCmd) Run(a *app, settings *configs.Settings) error {
	now, err := live.Read(a.ctx, settings)
	if err != nil {
		fmt.Fprintln(a.err, "warning: changes made at run time are not shown:", console.Printable(err.Error()))
	} else if skipped := now.Skipped(); skipped != "" {
		fmt.Fprintln(a.err, "warning:", console.Printable(skipped))
	}
	return printRows(a.out, c.JSON, "KEY\tVALUE\tFROM", now.Settings.Show(), func(s configs.Shown) []any {
		return []any{s.Key, s.Value, s.Source}
	})
}

type configGetCmd struct {
	Key string `arg:"" optional:"" help:"A key, or a table with all in it; none: everything."`
	jsonFlag
}

// Run implements the command.
func (c *configGetCmd) Run(a *app) error {
	var engine socket.Running
	if err := a.ask("/v1/config", &engine); err != nil {
		return err
	}
	var found []configs.Shown
	var keys []string
	for _, s := range engine.Settings {
		if keys = append(keys, s.Key); c.Key == "" || configs.In(s.Key, c.Key) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		text := "there is no setting " + c.Key
		if meant := words.Nearest(c.Key, keys); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		return configs.Usage(errors.New(text))
	}
	return printRows(a.out, c.JSON, "KEY\tVALUE\tFROM", found, func(s configs.Shown) []any { return []any{s.Key, s.Value, s.Source} })
}

type configSetCmd struct {
	Key   string   `arg:"" help:"As in the file, with dots: router.workers."`
	Value string   `arg:"" help:"A list has commas between, or is in brackets."`
	More  []string `arg:"" optional:"" name:"key value" help:"More that belong together: all are changed, or none."`
	jsonFlag
}

// Run implements the command.
func (c *configSetCmd) Run(a *app) error {
	with := url.Values{"key": {c.Key}, "value": {c.Value}}
	if len(c.More)%2 != 0 {
		return configs.Usage(fmt.Errorf("%s has no value", c.More[len(c.More)-1]))
	}
	for i := 0; i < len(c.More); i += 2 {
		with.Add("key", c.More[i])
		with.Add("value", c.More[i+1])
	}
	return a.changeSettings("set", with, c.JSON)
}

type configUnsetCmd struct {
	Key string `arg:"" help:"What was changed; the file and the defaults decide again."`
	jsonFlag
}

// Run implements the command.
func (c *configUnsetCmd) Run(a *app) error {
	return a.changeSettings("unset", url.Values{"key": {c.Key}}, c.JSON)
}

type configUndoCmd struct {
	Version int64 `arg:"" optional:"" help:"Its number; none: the last change."`
	jsonFlag
}

// Run implements the command.
func (c *configUndoCmd) Run(a *app) error {
	return a.changeSettings("undo", url.Values{"version": {strconv.FormatInt(c.Version, 10)}}, c.JSON)
}

// configChangeCmd is each command that changes the settings and needs to be told nothing.
type configChangeCmd struct{ jsonFlag }

// Run implements the command, under the name that it has in the command line.
func (c *configChangeCmd) Run(a *app, k *kong.Context) error {
	return a.changeSettings(k.Selected().Name, nil, c.JSON)
}

type configDiffCmd struct{ jsonFlag }

// Run implements the command.
func (c *configDiffCmd) Run(a *app) error {
	return list(a, "/v1/config/diff", 0, c.JSON, "\"switchboard config set KEY VALUE\" changes a setting while the bot runs", "KEY\tVALUE\tIN THE FILE\tUSED", func(d settings.Difference) []any {
		return []any{d.Key, d.Is, d.Was, whenItCounts(d.Live)}
	})
}

type configVersionsCmd struct {
	Limit count `default:"20" help:"Show at most this many."`
	JSON  bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *configVersionsCmd) Run(a *app) error {
	return list(a, "/v1/config/versions?"+query("", c.Limit), c.Limit, c.JSON, "\"switchboard config set KEY VALUE\" changes a setting while the bot runs", "VERSION\tWHEN\tWHO\tCHANGED\tSTATE", func(v settings.Version) []any {
		state := ""
		switch {
		case v.Lapsed:
			state = "not confirmed, not used"
		case !v.ConfirmBy.IsZero() && !v.Confirmed:
			state = "to be confirmed by " + words.At(v.ConfirmBy)
		case v.Undoes != 0:
			state = fmt.Sprintf("undoes %d", v.Undoes)
		}
		return []any{v.ID, words.At(v.At), v.Person, oneLine(v.Keys(), 80), state}
	})
}

func whenItCounts(live bool) string {
	return map[bool]string{true: "at once", false: "from the next start"}[live]
}

// changeSettings has the engine change the settings, and says what is now.
func (a *app) changeSettings(how string, with url.Values, asJSON bool) error {
	settings, err := a.talked(a.unresolved)
	if how != "set" {
		settings, err = stored(settings, err)
	}
	if err != nil {
		return err
	}
	var answer socket.SettingsAnswer
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/config/" + how + "?" + with.Encode()}, "config "+how, &answer, func() (err error) {
		if asJSON {
			err = printJSON(a.out, answer)
		} else {
			a.printChange(how, &answer)
		}
		if answer.Plan != nil && len(answer.Faults) > 0 {
			return errors.Join(configs.Usage(errors.New("nothing was changed:\n"+strings.Join(answer.Faults, "\n"))), err)
		}
		return err
	})
}

func (a *app) printChange(how string, c *socket.SettingsAnswer) {
	for _, w := range c.Warnings {
		fmt.Fprintln(a.err, "warning:", console.Printable(w))
	}
	for _, d := range c.Diff {
		fmt.Fprintf(a.out, "%s is %s, was %s; it is used %s\n", d.Key, cmp.Or(console.Printable(d.Is), "nothing"), cmp.Or(console.Printable(d.Was), "nothing"), whenItCounts(d.Live))
	}
	if s := c.Saved; s != nil {
		fmt.Fprintf(a.out, "in the file: %s\n", cmp.Or(strings.Join(s.Keys, ", "), "nothing new"))
		if s.Paste != "" {
			fmt.Fprintf(a.err, "Paste this into the file, and \"switchboard config unset\" each of them:\n%s", s.Paste)
		}
		return
	}
	if c.Version == nil {
		return
	}
	switch how {
	case "confirm":
		fmt.Fprintf(a.err, "Version %d stays.\n", c.Version.ID)
	case "undo":
		fmt.Fprintln(a.err, "Taken back.")
	default:
		fmt.Fprintf(a.err, "Version %d; \"switchboard config undo\" takes it back.\n", c.Version.ID)
	}
}
