package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"
	"unicode"

	"switchboard/channels/console"
	"switchboard/router"
	"switchboard/store/database"
	"switchboard/words"
)

// turnCmd shows and stops turns.
type turnCmd struct {
	List   turnListCmd   `cmd:"" help:"The newest turns."`
	Show   turnShowCmd   `cmd:"" help:"One turn whole: plans, tasks, verdicts, costs."`
	Cancel turnCancelCmd `cmd:"" help:"Ask a turn to stop."`
}

type turnListCmd struct {
	State string `help:"Only turns in this state: queued, running, waiting, done, failed, cancelled or merged." enum:",queued,running,waiting,done,failed,cancelled,merged" default:""`
	Limit count  `default:"50" help:"At most so many."`
	JSON  bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *turnListCmd) Run(a *app) error {
	return list(a, "/turns?"+query(c.State, c.Limit), c.JSON, "ID\tSTATE\tOUTCOME\tPERSON\tSESSION\tASKED\tTEXT", func(t router.TurnView) []any {
		return []any{t.ID, t.State, t.Outcome, t.Person, t.Session, at(t.CreatedAt), oneLine(t.Text, 50)}
	})
}

type turnShowCmd struct {
	ID      int64 `arg:"" help:"The turn's number."`
	Prompts bool  `help:"Also the exact requests and answers of its model calls."`
	JSON    bool  `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *turnShowCmd) Run(a *app) error {
	path := ""
	if c.Prompts {
		path = "?prompts=1"
	}
	return a.showTurn(c.ID, path, c.JSON, func(t *router.TurnView) shown { return t })
}

// shown is a turn as JSON, and as text.
type shown interface {
	Show(currency string, zone *time.Location) string
}

func (a *app) showTurn(id int64, query string, asJSON bool, render func(*router.TurnView) shown) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	var turn router.TurnView
	if err := a.ask(fmt.Sprintf("/turns/%d%s", id, query), &turn); err != nil {
		return fmt.Errorf("turn %d: %w", id, err)
	}
	as := render(&turn)
	if asJSON {
		return printJSON(a.out, as)
	}
	_, err = io.WriteString(a.out, console.Printable(as.Show(settings.Budget.Currency, time.Local))) // models and outputs may hold anything
	return err
}

type turnCancelCmd struct {
	ID int64 `arg:"" help:"The turn's number."`
}

// Run implements the command.
func (c *turnCancelCmd) Run(a *app) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	if err := hasLedger(settings); err != nil {
		return err
	}
	return a.withEngine(settings, openPassing, func(ctx context.Context, engine *client) error {
		if err := engine.do(ctx, "POST", fmt.Sprintf("/turns/%d/cancel", c.ID), nil); err != nil && err.Error() == notFound {
			return fmt.Errorf("turn %d: %w", c.ID, err)
		} else if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "turn %d was asked to stop\n", c.ID)
		return nil
	})
}

// list reads rows from the engine and prints them, as a table or as JSON.
func list[T any](a *app, path string, asJSON bool, head string, cells func(T) []any) error {
	var rows []T
	if err := a.ask(path, &rows); err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.out, rows)
	}
	return table(a.out, head, rows, cells)
}

// A count is how many rows are wanted.
type count int

// Validate is asked by the command line's parser.
func (c count) Validate() error {
	if c < 1 {
		return fmt.Errorf("%d is none; at least 1 is needed", c)
	}
	return nil
}

// query asks for the newest rows in one state.
func query(state string, limit count) string {
	return url.Values{"state": {state}, "limit": {strconv.Itoa(int(limit))}}.Encode()
}

// ask reads something from the engine.
func (a *app) ask(path string, result any) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	if err := hasLedger(settings); err != nil {
		return err
	}
	answered := false
	err = a.withEngine(settings, openPassing, func(ctx context.Context, engine *client) error {
		err := engine.do(ctx, "GET", path, result)
		answered = err == nil
		return err
	})
	switch {
	case !database.Unwritable(err):
		return err
	case answered: // and the engine that this was for a moment could not note its end
		return nil
	}
	return a.askFiles(settings, path, result, err)
}

// printJSON writes value with all in escapes that could command a terminal or turn the
// direction of its text: it says the same to programs.
func printJSON(w io.Writer, value any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	var safe bytes.Buffer
	for _, r := range out.String() {
		if r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	_, err := w.Write(safe.Bytes())
	return err
}

// table prints rows in columns.
func table[T any](w io.Writer, head string, rows []T, cells func(T) []any) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, head)
	for _, row := range rows {
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			fmt.Fprint(tw, cell)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// oneLine puts text on one line of at most n runes.
func oneLine(text string, n int) string {
	return words.OneLine(console.Printable(text), n)
}
