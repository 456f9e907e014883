// Package commands has the table of commands: of each its name, who may use it and where, what
// stands behind it, one line of help in each language, and what it runs. Help, the menus of
// platforms, completion in the terminal and the nearest match for a slip all read it.
//
// The router fills it with its own commands, those of the features and those that cmd gives it, and obeys what a command answers; a command itself reads, and changes nothing.
package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
)

// A Command is a row of the table.
type Command struct {
	Name string // without the slash
	// Admin: it is for admins alone, in a direct chat; to everybody else there is no such
	// command, and in a group it does nothing.
	Admin bool
	// Direct: it works in a direct chat alone; elsewhere it is not offered, and says so itself.
	Direct bool
	// Typed: no menu offers it, because something has to follow it.
	Typed bool
	// Hidden: neither menus nor help show it.
	Hidden bool
	// Free: it counts nothing towards the person's rate.
	Free bool
	Args string // as help shows them: "[ask|act]"; empty: none
	// About says in one line what it does, ToAdmins what it does for admins; empty: the same.
	About, ToAdmins Text
	// Run decides what becomes of the command. It reads the database at most, and never waits for a
	// network: what does is a turn (Answer.As), or goes on beside and answers when it is done. An
	// error says that something could not be read.
	Run func(context.Context, *Call) (Answer, error)
}

// A Call is a command that somebody gave.
type Call struct {
	Event  *channels.Event // its message, or the press of its button
	Person *core.Person
	Name   string
	Args   string // trimmed
	Slash  string // what people write before a command's name there
	// Session is what the conversation's session has of its own.
	Session core.Session
	// TimeZone is the one in which whoever gave the command reads times there, an IANA name.
	TimeZone string
	// Secret is what "/secret set" brought; Args have it no more.
	Secret Secret
}

// A Secret is a name with a value. It is neither stored nor shown.
type Secret struct{ Name, Value string }

// Conversation is where the command was given.
func (c *Call) Conversation() channels.Conversation { return c.Event.Conversation }

// IsAdmin says that an admin gave the command.
func (c *Call) IsAdmin() bool { return c.Person.Role == core.RoleAdmin }

// Direct says that it was given in a direct chat.
func (c *Call) Direct() bool { return c.Conversation().Kind == channels.Direct }

// MayDecide says that whoever gave the command may decide what holds in the chat: where others take part it is theirs as well.
func (c *Call) MayDecide() bool { return c.Direct() || c.IsAdmin() }

// Zone is TimeZone.
func (c *Call) Zone() *time.Location {
	if zone, err := time.LoadLocation(c.TimeZone); err == nil {
		return zone
	}
	return time.UTC
}

// An Answer is what becomes of a command.
type Answer struct {
	Text  string      // Markdown; a command of ours in it is shown as people write it there
	Taint tools.Taint // of the words that Text repeats
	// Buttons stand under Text: each gives a command as if whoever gave this one had typed it there.
	// Those for which the platform has no room are lines of text.
	Buttons []Button
	// Change is made in the transaction that accepts the command. One that is refused is answered
	// with why.
	Change core.Change
	// Say, with Change, answers in place of Text once it is known what became of it. It is called in
	// the transaction of the change, perhaps more than once: it reads what Change says, and no database.
	Say func() Answer
	// Beside goes on once the command is committed, with Text as its answer for now, and what it
	// returns is answered too. What an engine that dies has not done is answered by nobody.
	Background func(context.Context) Answer
	// As is what the message is taken as in place of a command with an answer; nil: that.
	Intent core.Intent
}

// Says is an answer of fixed text.
func Says(format string, args ...any) Answer { return Answer{Text: fmt.Sprintf(format, args...)} }

// A Table is the commands that there are, in the order in which help lists them.
type Table struct{ rows []Command }

// New makes a table. Two commands of one name are an error.
func New(rows ...Command) (*Table, error) {
	seen := map[string]bool{}
	for _, c := range rows {
		if seen[c.Name] || c.Run == nil || c.About.EN == "" {
			return nil, fmt.Errorf("the command /%s is there twice, or is not complete", c.Name)
		}
		seen[c.Name] = true
	}
	return &Table{rows}, nil
}

// Find is the command of that name; nil: none.
func (t *Table) Find(name string) *Command {
	if i := slices.IndexFunc(t.rows, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &t.rows[i]
	}
	return nil
}

// Names are the names of all commands.
func (t *Table) Names() []string {
	names := make([]string, len(t.rows))
	for i, c := range t.rows {
		names[i] = c.Name
	}
	return names
}

// An Audience is to whom commands are offered.
type Audience struct {
	Admin    bool
	Direct   bool   // in a direct chat
	Language string // see Text.In
}

// offers lists what an audience may use where it is.
func (t *Table) offers(to Audience) (list []Command) {
	for _, c := range t.rows {
		if (!c.Admin || to.Admin) && (!c.Admin && !c.Direct || to.Direct) {
			list = append(list, c)
		}
	}
	return list
}

// line says what a command does to an audience.
func (c *Command) line(to Audience) string {
	if to.Admin && c.ToAdmins.EN != "" {
		return c.ToAdmins.In(to.Language)
	}
	return c.About.In(to.Language)
}

// Menu is the menu of an audience.
func (t *Table) Menu(to Audience) (menu []channels.Command) {
	for _, c := range t.offers(to) {
		if !c.Typed && !c.Hidden {
			menu = append(menu, channels.Command{Name: c.Name, About: c.line(to)})
		}
	}
	return menu
}

// Completions are the commands that a terminal completes, each with its slash.
func (t *Table) Completions(to Audience) (list []string) {
	for _, c := range t.offers(to) {
		list = append(list, "/"+c.Name)
	}
	return list
}

// Help is what an audience reads of the commands.
func (t *Table) Help(to Audience) string {
	var b strings.Builder
	list := func(lead Text, admin bool) {
		led := false
		for _, c := range t.offers(to) {
			if c.Admin != admin || c.Hidden {
				continue
			}
			if !led {
				b.WriteString(lead.In(to.Language))
				led = true
			}
			b.WriteString("\n/" + c.Name)
			if c.Args != "" {
				b.WriteString(" `" + c.Args + "`")
			}
			b.WriteString(" – " + c.line(to))
		}
	}
	list(helpLead, false)
	list(adminsLead, true)
	return b.String()
}

// Unknown answers a command that the audience does not have, with the one that was probably
// meant.
func (t *Table) Unknown(name string, to Audience) Answer {
	var names []string
	for _, c := range t.offers(to) {
		names = append(names, c.Name)
	}
	return Says("%s /help lists the commands; anything else, write without the slash.",
		Meant("I do not know /"+name, name, names, func(meant string) string { return "/" + meant }))
}
