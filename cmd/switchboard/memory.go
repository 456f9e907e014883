package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	agentmemory "switchboard/agent/memory"
	web "switchboard/channels/api"
	"switchboard/channels/console"
	"switchboard/cmd/switchboard/interview"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/memory"
)

// memoryCmd shows and changes what the bot remembers.
type memoryCmd struct {
	List   memoryListCmd   `cmd:"" help:"What the bot remembers."`
	Add    memoryAddCmd    `cmd:"" help:"Have the bot remember something."`
	Forget memoryForgetCmd `cmd:"" help:"Have the bot forget something."`
	Export memoryExportCmd `cmd:"" help:"Write what the bot remembers as JSON or Markdown."`
	Import memoryImportCmd `cmd:"" help:"Read what \"memory export\" wrote as JSON, or copy another bot's memory."`
	Follow memoryFollowCmd `cmd:"" help:"What becomes of memories, one JSON object a line, for a copy of them."`
	Own    memoryOwnCmd    `cmd:"" help:"Have a memory that is a copy be this bot's own again."`
	Erase  memoryEraseCmd  `cmd:"" help:"Erase all that somebody said, and what is remembered of them."`
}

type memoryListCmd struct {
	Person string `help:"Whose; yours if nobody is named, \"global\" for what holds for everybody." placeholder:"NAME"`
	All    bool   `help:"Everybody's, and those of groups."`
	Before int64  `help:"Only those with a lower number." placeholder:"NUMBER"`
	Limit  count  `default:"50" help:"Show at most this many."`
	JSON   bool   `name:"json" help:"As JSON."`
}

// Run implements the command.
func (c *memoryListCmd) Run(a *app) error {
	how := url.Values{"person": {c.Person}, "all": {strconv.FormatBool(c.All)}, "before": {fmt.Sprint(c.Before)}, "limit": {c.Limit.asked()}}
	var got web.MemoryList
	if err := a.ask("/v1/memory?"+how.Encode(), &got); err != nil {
		return err
	}
	return printList(a, c.Limit, c.JSON, "\"switchboard memory add TEXT\" has the bot remember something", "ID\tKIND\tWHERE\tWHO\tHOW\tWHEN\tTEXT", got.Memories, func(e agentmemory.Entry) []any {
		return []any{e.ID, e.Kind, e.Scope, e.Person, e.Source, words.At(e.CreatedAt), oneLine(e.Named(), 80)}
	})
}

type memoryAddCmd struct {
	Text     string `arg:"" help:"What is remembered, written so that it can be read alone."`
	Person   string `help:"Whose it is; yours if nobody is named, \"global\" for everybody." placeholder:"NAME"`
	Kind     string `help:"fact, preference or rule." enum:"fact,preference,rule" default:"fact"`
	Category string `help:"Of a preference any word; of a rule general, style, channel, scheduling or tools." placeholder:"WORD"`
	Key      string `help:"What a preference is called; a newer one of that name takes its place." placeholder:"WORD"`
	Always   bool   `help:"A rule for everybody that stands in every prompt."`
	jsonFlag
}

// Run implements the command.
func (c *memoryAddCmd) Run(a *app) error {
	if strings.TrimSpace(c.Text) == "" {
		return configs.Usage(errors.New("memory add: there is nothing to remember"))
	}
	return a.changeMemory("/v1/memory", web.NewMemory{Person: c.Person, Kind: c.Kind, Category: c.Category, Key: c.Key, Text: c.Text, Always: c.Always}, "memory add", c.JSON)
}

type memoryForgetCmd struct {
	ID number `arg:"" help:"The memory's number."`
	jsonFlag
}

// Run implements the command.
func (c *memoryForgetCmd) Run(a *app) error {
	return a.changeMemory(fmt.Sprintf("/v1/memory/%d/forget", c.ID), nil, "memory forget", c.JSON)
}

func (a *app) changeMemory(path string, body any, what string, asJSON bool) error {
	var got web.MemorySaid
	return a.order(api.Call{Method: http.MethodPost, Path: path, Body: body}, what, &got, func() error {
		if asJSON {
			return printJSON(a.out, got.Memories)
		}
		_, err := fmt.Fprintln(a.out, console.Printable(got.Said))
		return err
	})
}

type memoryExportCmd struct {
	Person string `help:"Whose; everybody's if nobody is named." placeholder:"NAME"`
	Format string `help:"json or markdown." enum:"json,markdown" default:"json"`
}

// Run implements the command.
func (c *memoryExportCmd) Run(a *app) error {
	how := url.Values{"person": {c.Person}, "all": {strconv.FormatBool(c.Person == "")}}
	var got memory.Archive
	if err := a.ask("/v1/memory/export?"+how.Encode(), &got); err != nil {
		return err
	}
	if c.Format == "json" {
		return printJSON(a.out, got)
	}
	_, err := fmt.Fprint(a.out, console.Printable(got.Markdown()))
	return err
}

type memoryImportCmd struct {
	File    string `arg:"" help:"What \"memory export\" wrote; - is the input."`
	Records bool   `help:"The file is what \"memory follow\" of another bot writes: what this one remembers becomes a copy of it."`
	jsonFlag
}

// Run implements the command.
func (c *memoryImportCmd) Run(a *app) error {
	file := a.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("memory import: %w", err)
		}
		defer f.Close()
		file = f
	}
	if c.Records {
		return c.take(a, bufio.NewReader(file))
	}
	data, err := io.ReadAll(file)
	var archive memory.Archive
	if err == nil && json.Unmarshal(data, &archive) != nil {
		err = errors.New("that is no export: write one with \"switchboard memory export\"")
	}
	if err != nil {
		return fmt.Errorf("memory import: %w", err)
	}
	var got memory.Imported
	return a.order(api.Call{Method: http.MethodPost, Path: "/v1/memory/import", Body: archive}, "memory import", &got, func() error {
		if c.JSON {
			return printJSON(a.out, got)
		}
		for _, why := range got.Refused {
			fmt.Fprintln(a.err, console.Printable(why))
		}
		_, err := fmt.Fprintf(a.out, "%d imported, %d known already, %d refused\n", got.Added, got.Known, len(got.Refused))
		return err
	})
}

// recordsAtOnce bounds how many records one call takes.
const recordsAtOnce = 500

// take hands on records as they come.
func (c *memoryImportCmd) take(a *app, in *bufio.Reader) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return fmt.Errorf("memory import: %w", err)
	}
	var got memory.Taken
	var list []memory.Record
	give := func() (err error) {
		if len(list) > 0 {
			_, err = a.send(settings, api.Call{Method: http.MethodPost, Path: "/v1/memory/records", Body: list}, &got)
			list = nil
		}
		return err
	}
	for n, more := 1, true; more; n++ {
		line, end := in.ReadBytes('\n')
		more = end == nil
		if !more && !errors.Is(end, io.EOF) {
			err = end
		}
		if line = bytes.TrimSpace(line); err == nil && len(line) > 0 {
			var r memory.Record
			if r, err = memory.ReadRecord(line); err == nil {
				list = append(list, r)
			} else {
				err = fmt.Errorf("line %d: %w", n, err)
			}
		}
		if !more || err != nil || in.Buffered() == 0 || len(list) == recordsAtOnce {
			err = errors.Join(give(), err)
		}
		if err != nil {
			return fmt.Errorf("memory import: %w", err)
		}
	}
	if c.JSON {
		return printJSON(a.out, got)
	}
	said := fmt.Sprintf("copied up to record %d", got.N)
	switch {
	case got == memory.Taken{}:
		said = "no record came"
	case !got.Whole:
		said = "not all memories have come yet: follow again, with --from 0"
	}
	_, err = fmt.Fprintln(a.out, said)
	return err
}

type memoryOwnCmd struct{}

// Run implements the command.
func (*memoryOwnCmd) Run(a *app) error {
	return a.order(api.Call{Method: http.MethodPost, Path: "/v1/memory/own"}, "memory own", nil, func() error {
		_, err := fmt.Fprintln(a.out, "this bot's memory is its own now, and takes no more records")
		return err
	})
}

type memoryFollowCmd struct {
	From int64 `help:"The number of the first record wanted, which is one more than that of the last one taken. Without it all memories come first." placeholder:"NUMBER"`
}

// Run implements the command. It becomes no engine: it would be in the way of the bot's.
func (c *memoryFollowCmd) Run(a *app) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return err
	}
	if settings == nil {
		return a.withServer(func(ctx context.Context, client *api.Client) error { return c.follow(ctx, a, client) })
	}
	client := api.NewClient(func(ctx context.Context) (net.Conn, error) { return api.Dial(ctx, settings.DataDir) })
	defer client.Close()
	return c.follow(a.ctx, a, client)
}

// followAgain is how long a stream that ended is left alone.
const followAgain = time.Second

// follow writes records until ctx ends, whatever becomes of the bot meanwhile.
func (c *memoryFollowCmd) follow(ctx context.Context, a *app, client *api.Client) error {
	for said := ""; ; {
		err := c.read(ctx, a.out, client)
		refused, ok := errors.AsType[*api.Error](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOutput), ok && refused.Status < http.StatusInternalServerError:
			return fmt.Errorf("memory follow: %w", err)
		case err != nil && err.Error() != said:
			said = err.Error()
			fmt.Fprintf(a.err, "switchboard: the bot does not answer now, and is asked again: %s\n", console.Printable(said))
		}
		if !retry.Sleep(ctx, followAgain) {
			return nil
		}
	}
}

var errOutput = errors.New("the records cannot be written")

// read writes the records of one stream, and notes which one is wanted next.
func (c *memoryFollowCmd) read(ctx context.Context, out io.Writer, client *api.Client) error {
	answer, err := client.Open(ctx, api.Call{Method: http.MethodGet, Path: fmt.Sprintf("/v1/memory/events?from=%d", c.From)})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for in := bufio.NewReader(answer.Body); ; {
		line, err := in.ReadBytes('\n')
		if err != nil { // what came of a line is not the whole of it
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := memory.ReadRecord(line)
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("%w: %w", errOutput, err)
		}
		if c.From = r.N + 1; r.Op == memory.OpSnapshot || r.Op == memory.OpRow {
			c.From = 0 // a part of one is of no use
		}
	}
}

type memoryEraseCmd struct {
	Person     string `arg:"" help:"Who is erased."`
	Yes        bool   `help:"Do not ask."`
	KeepOthers bool   `help:"Leave memories that others gave and that name the person."`
	jsonFlag
}

// Run implements the command.
func (c *memoryEraseCmd) Run(a *app) error {
	path := "/v1/memory/erasure?" + url.Values{"person": {c.Person}}.Encode()
	if err := c.confirm(a, path); err != nil {
		return fmt.Errorf("memory erase: %w", err)
	}
	var done memory.Erased
	return a.order(api.Call{Method: http.MethodPost, Path: path + fmt.Sprintf("&keep_others=%t", c.KeepOthers)}, "memory erase", &done, func() (err error) {
		if c.JSON {
			err = printJSON(a.out, done)
		} else {
			fmt.Fprintf(a.out, "Erased of %s: %s\n", console.Printable(done.Person), done.Words())
			for _, line := range done.Stays() {
				fmt.Fprintln(a.out, console.Printable(line))
			}
		}
		if done.Unfinished > 0 {
			return fmt.Errorf("memory erase: %s of others did not end meanwhile, and had read what %s said: run it again when the bot is done there", words.Count(int(done.Unfinished), "turn"), done.Person)
		}
		return err
	})
}

// confirm has the person type the name again, who is shown what there is.
func (c *memoryEraseCmd) confirm(a *app, path string) error {
	if c.Yes {
		return nil
	}
	if !a.onTerminal() {
		return configs.Usage(errors.New("it cannot be undone: --yes says that you are sure"))
	}
	var there memory.Erased
	if err := a.ask(path, &there); err != nil {
		return err
	}
	there.OthersStay = c.KeepOthers
	fmt.Fprintf(a.err, "To be erased of %s, and of anybody who was called so before: %s. This cannot be undone.\n", console.Printable(there.Person), there.Words())
	if there.Others > 0 && !c.KeepOthers {
		fmt.Fprintln(a.err, "Memories of others that name them go too, unless you say --keep-others:")
		for _, text := range there.Texts {
			fmt.Fprintf(a.err, "  %.200s\n", console.Printable(text))
		}
	}
	for _, line := range there.Stays() {
		fmt.Fprintln(a.err, console.Printable(line))
	}
	fmt.Fprintf(a.err, "Type %s to go on: ", console.Printable(there.Person))
	typed, err := interview.Typed(a.ctx, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	if err == nil && typed != there.Person {
		err = errors.New("nothing is erased")
	}
	return err
}
