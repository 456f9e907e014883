package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/api"
)

var update = flag.Bool("update", false, "rewrite the channel matrix in docs/channels.md")

const (
	matrixBegin = "<!-- channel matrix: made by go test ./cmd/switchboard -run TestChannelMatrixIsUpToDate -update -->\n"
	matrixEnd   = "<!-- end of channel matrix -->\n"
)

// TestChannelMatrixIsUpToDate holds the table of docs/channels.md to what the channels say of
// themselves.
func TestChannelMatrixIsUpToDate(t *testing.T) {
	t.Parallel()
	const page = "../../docs/channels.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), matrixBegin)
	old, after, ends := strings.Cut(rest, matrixEnd)
	if !begins || !ends {
		t.Fatalf("docs/channels.md does not hold the lines %q and %q", matrixBegin, matrixEnd)
	}
	table := matrix(t)
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("the channel matrix in docs/channels.md is out of date; run this test with -update. It should be:\n%s", table)
	}
	if err := os.WriteFile(page, []byte(before+matrixBegin+table+matrixEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A column of the matrix is one kind of channel, in a direct chat and in a group.
type column struct {
	name          string
	channel       channels.Channel
	direct, group channels.Features
}

func columns(t *testing.T) (list []column) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	made := []channels.Channel{api.NewChannel("terminal", "console", channels.Features{Markdown: true}, log)}
	for _, k := range kinds {
		made = append(made, k.New(k.Name, k.Config(), log))
	}
	for _, ch := range made {
		c := column{name: ch.Name(), channel: ch}
		c.name = strings.ToUpper(c.name[:1]) + c.name[1:]
		c.direct = ch.Features(channels.Conversation{Channel: ch.Name(), ID: "1", Kind: channels.Direct})
		c.group = ch.Features(channels.Conversation{Channel: ch.Name(), ID: "-1", Kind: channels.Group})
		list = append(list, c)
	}
	return list
}

// rows are the lines of the matrix; each says one thing of a channel.
var rows = []struct {
	what string
	say  func(column) string
}{
	{"longest part of an answer", func(c column) string {
		if c.direct.MaxText == 0 {
			return "any length"
		}
		return strconv.Itoa(c.direct.MaxText) + " characters"
	}},
	{"formatting", func(c column) string { return yes(c.direct.Markdown) }},
	{"files out", func(c column) string {
		if !c.direct.Files {
			return "by name"
		}
		return fmt.Sprintf("to %d MB, %d in one message", c.direct.MaxFile>>20, max(1, c.direct.FilesPerPart))
	}},
	{"files in", func(c column) string { return able[channels.Fetcher](c) }},
	{"choices", func(c column) string {
		if c.direct.Buttons {
			return "buttons, or the number typed"
		}
		return "the number typed"
	}},
	{"progress while it works", func(c column) string {
		if _, reads := c.channel.(channels.Reader); reads {
			return "live"
		}
		if c.direct.DraftEvery == 0 {
			return "no"
		}
		if c.direct.DraftEvery == c.group.DraftEvery {
			return fmt.Sprintf("edited every %s", c.direct.DraftEvery)
		}
		return fmt.Sprintf("edited every %s, %s in groups", c.direct.DraftEvery, c.group.DraftEvery)
	}},
	{"shown at work", func(c column) string {
		switch {
		case able[channels.Typer](c) == "yes":
			return "typing"
		case able[channels.TurnShower](c) == "yes":
			return "a status or a reaction"
		}
		return "no"
	}},
	{"menu of commands", func(c column) string { return able[channels.Commander](c) }},
	{"sending limits", func(c column) string {
		d, g := c.direct.Rates, c.group.Rates
		if d == (channels.Rates{}) {
			return "none"
		}
		limits := fmt.Sprintf("%g/s in all, %g/s in a chat", d.PerSecond, d.PerConversationSecond)
		if g.PerConversationMinute > 0 {
			limits += fmt.Sprintf(", %g/min in a group", g.PerConversationMinute)
		}
		return limits
	}},
	{"a send whose answer was lost", func(c column) string {
		if _, reads := c.channel.(channels.Reader); reads {
			return "cannot be: clients read the ledger"
		}
		_, finder := c.channel.(channels.Finder)
		if d, ok := c.channel.(channels.Deduper); ok {
			said := fmt.Sprintf("sent again, dropped by the platform within %g min", d.Window().Minutes())
			if finder {
				said += "; later looked up first"
			}
			return said
		}
		if finder {
			return "looked up, sent again if absent"
		}
		return `sent once more, marked "(repeated)"`
	}},
}

func able[A any](c column) string {
	_, ok := c.channel.(A)
	return yes(ok)
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// matrix is the table in Markdown.
func matrix(t *testing.T) string {
	t.Helper()
	list := columns(t)
	var b strings.Builder
	line := func(first string, say func(column) string) {
		b.WriteString("| " + first + " |")
		for _, c := range list {
			b.WriteString(" " + say(c) + " |")
		}
		b.WriteByte('\n')
	}
	line("", func(c column) string { return c.name })
	line("---", func(column) string { return "---" })
	for _, row := range rows {
		line(row.what, row.say)
	}
	return b.String()
}
