package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/internal/words"
	"switchboard/router/settings"
)

type configGetCmd struct {
	Key string `arg:"" optional:"" help:"A key, or a table with all in it; none: everything."`
	jsonFlag
}

// Run implements the command.
func (c *configGetCmd) Run(a *app) error {
	var engine running
	if err := a.ask("/v1/config", &engine); err != nil {
		return err
	}
	var found []configs.Shown
	var keys []string
	for _, s := range engine.Settings {
		if keys = append(keys, s.Key); c.Key == "" || s.Key == c.Key || strings.HasPrefix(s.Key, c.Key+".") || strings.HasPrefix(s.Key, c.Key+"[") {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		text := "there is no setting " + c.Key
		if meant := words.Nearest(c.Key, keys); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		return usageError{errors.New(text)}
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
		return usageError{fmt.Errorf("%s has no value", c.More[len(c.More)-1])}
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

type configConfirmCmd struct{ jsonFlag }

// Run implements the command.
func (c *configConfirmCmd) Run(a *app) error { return a.changeSettings("confirm", nil, c.JSON) }

type configSaveCmd struct{ jsonFlag }

// Run implements the command.
func (c *configSaveCmd) Run(a *app) error { return a.changeSettings("save", nil, c.JSON) }

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
			state = "to be confirmed by " + at(v.ConfirmBy)
		case v.Undoes != 0:
			state = fmt.Sprintf("undoes %d", v.Undoes)
		}
		return []any{v.ID, at(v.At), v.Person, oneLine(v.Keys(), 80), state}
	})
}

func whenItCounts(live bool) string {
	if live {
		return "at once"
	}
	return "from the next start"
}

// changeSettings has the engine change the settings, and says what is now.
func (a *app) changeSettings(how string, with url.Values, asJSON bool) error {
	settings, err := a.loadUnresolved()
	if err == nil && how != "set" {
		err = hasLedger(settings)
	}
	if err != nil {
		return err
	}
	var answer settingsAnswer
	answered, err := a.send(settings, http.MethodPost, "/v1/config/"+how+"?"+with.Encode(), &answer)
	if !answered {
		return fmt.Errorf("config %s: %w", how, err)
	}
	if asJSON {
		err = errors.Join(err, printJSON(a.out, answer))
	} else {
		a.printChange(how, &answer)
	}
	if answer.Plan != nil && len(answer.Faults) > 0 {
		return errors.Join(usageError{errors.New("nothing was changed:\n" + strings.Join(answer.Faults, "\n"))}, err)
	}
	return err
}

func (a *app) printChange(how string, c *settingsAnswer) {
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
		fmt.Fprintf(a.err, "Taken back.\n")
	default:
		fmt.Fprintf(a.err, "Version %d; \"switchboard config undo\" takes it back.\n", c.Version.ID)
	}
}
