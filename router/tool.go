package router

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/people"
)

// toolCommands are /tools and /tool.
type toolCommands struct {
	*Deps  // Usable, Summary and Typed
	modeOf func(core.Session) string
	queued func(channels.Event) intake.TurnIntent
}

func (t *toolCommands) rows() []commands.Command {
	return []commands.Command{
		{Name: "tools", About: commands.Text{
			EN: "what I may use here for you", DE: "was ich hier für dich benutzen darf", ES: "lo que puedo usar aquí para ti",
			FR: "ce que je peux utiliser ici pour vous", IT: "che cosa posso usare qui per te",
		}, Run: t.tools},
		{Name: toolCommand, Typed: true, Args: "NAME {JSON}", About: commands.Text{
			EN: "run one tool yourself, with no model", DE: "ein Werkzeug selbst ausführen, ohne Modell", ES: "ejecutar tú una herramienta, sin modelo",
			FR: "exécuter vous-même un outil, sans modèle", IT: "eseguire tu uno strumento, senza modello",
		}, Run: t.tool},
	}
}

func (t *toolCommands) tools(_ context.Context, c *commands.Call) (commands.Answer, error) {
	after := strings.TrimPrefix(c.Args, "after ")
	return t.listed(t.usable(c), after, "What I may use here for you, in mode "+t.modeOf(c.Session)+":"), nil
}

// usable lists the tools that who gave a command may use where they gave it.
func (t *toolCommands) usable(c *commands.Call) []string {
	if t.Usable == nil {
		return nil
	}
	return t.Usable(tools.Question{Person: c.Person.Name, Channel: c.Conversation().Channel, Direct: c.Direct(), Mode: t.modeOf(c.Session)})
}

// tool is /tool: a turn that runs one tool, with no model. It takes its place in the queue.
func (t *toolCommands) tool(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if t.Typed == nil {
		return commands.Says("You may use no tools here."), nil
	}
	order, usable := orderIn(c.Args), t.usable(c)
	if order.Tool == "" {
		return t.listed(usable, "", "/tool and one of these names runs it, with its arguments as JSON after it:"), nil
	}
	_, takes, fault := t.Typed(order.Tool, json.RawMessage(order.Args))
	name := render.Escape(words.OneLine(order.Tool, 60))
	switch {
	case t.Summary == nil || t.Summary(order.Tool) == "":
		a := t.listed(usable, "", "You may use here:")
		a.Text = commands.Meant("I have no tool "+name, order.Tool, usable, strings.Clone) + "\n\n" + a.Text
		return a, nil
	case strings.Contains(order.Args, people.Redacted):
		return commands.Says("I did not run %s: I hid a part of what you typed, so the tool would not get what you meant.", name), nil
	case fault != nil && !slices.Contains(usable, order.Tool):
		return commands.Says("I did not run %s; you may not use it here. /tools lists what you may.", name), nil
	case fault != nil:
		text := fmt.Sprintf("I did not run %s; %s.", name, render.Escape(words.OneLine(fault.Error(), 300)))
		if strings.ContainsAny(order.Args, "“”„«»") {
			text += " JSON needs straight quotes (\")."
		}
		if takes == "" {
			return commands.Says("%s", text+" It takes no arguments."), nil
		}
		return commands.Says("%s", text+" It takes:\n"+words.Fenced("", takes)), nil
	}
	turn := t.queued(*c.Event)
	turn.Ordered = true
	return commands.Answer{Intent: &turn}, nil
}

// orderIn reads "NAME {json}"; a phone writes the name with a capital letter, and some platforms
// show the rest as code.
func orderIn(args string) agent.Order {
	name, rest := commands.FirstWord(args)
	return agent.Order{Tool: strings.ToLower(strings.Trim(name, "`")), Args: strings.TrimSpace(strings.Trim(rest, "`"))}
}

// orderOf is what the message of an ordered turn calls for, as it reads now; nil: it calls for no tool any more.
func orderOf(text string) *agent.Order {
	name, args, ok := commands.In(text)
	if !ok || name != toolCommand {
		return nil
	}
	order := orderIn(args)
	return &order
}

const toolCommand = "tool"

// listed are tools with what each does, a page of those behind after.
func (t *toolCommands) listed(names []string, after, lead string) (a commands.Answer) {
	if len(names) == 0 {
		return commands.Says("You may use no tools here.")
	}
	page, last := commands.Page(names, after)
	var b strings.Builder
	b.WriteString(lead)
	for _, name := range page {
		b.WriteString("\n- " + name)
		if t.Summary != nil {
			b.WriteString(" – " + render.Escape(t.Summary(name)))
		}
	}
	if a.Text = b.String(); last != "" {
		a.Buttons = []commands.Button{{Label: "More", Command: "tools after " + last}}
	}
	return a
}
