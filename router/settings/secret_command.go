package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/secrets"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox/delivery"
)

// Secrets are the secrets of the encrypted store, as the program has them.
type Secrets interface {
	// Seal encrypts a value; the error is for people.
	Seal(value secrets.Secret) ([]byte, error)
	// UsedBy are the settings that name a secret.
	UsedBy(name string) []string
	// Changed reads the secrets again, and has what uses one go on with it.
	Changed(ctx context.Context) error
}

// SecretList has the secrets of the encrypted store, sealed.
type SecretList interface {
	Secrets(ctx context.Context) ([]Secret, error)
}

// A SecretCommand is /secret.
type SecretCommand struct {
	Secrets     Secrets // nil: there is no store of them
	List        SecretList
	Connections *delivery.Connections
}

// Row is the row of the table.
func (r *SecretCommand) Row() commands.Command {
	return commands.Command{Name: "secret", Admin: true, Typed: true, Args: "list|set NAME VALUE|remove NAME", About: commands.Text{
		EN: "passwords and keys, kept encrypted", DE: "der verschlüsselte Speicher", ES: "el almacén cifrado", FR: "le coffre chiffré", IT: "l'archivio cifrato",
	}, Run: r.run}
}

const secretHelp = "/secret list shows the names, /secret set NAME VALUE sets one, /secret remove NAME takes one away. No value is ever shown. " +
	"\"switchboard secret set NAME\", on the machine that I run on, is the safer way to set one."

func (r *SecretCommand) run(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	verb, rest := commands.FirstWord(c.Args)
	name, _ := commands.FirstWord(rest)
	switch {
	case r.Secrets == nil:
		return commands.Says("There is no encrypted store here."), nil
	case verb == "list":
		return r.listSecrets(ctx, strings.TrimPrefix(rest, "after "))
	case verb == "set" && c.Secret.Value != "":
		conv := c.Conversation()
		return r.setSecret(c.Secret, conv, r.Connections.Connection(conv.Channel).Removes(conv)), nil
	case verb == "remove" && name != "":
		change, err := SecretRemoval(name, r.Secrets.UsedBy(name))
		if err != nil {
			return commands.Says("%s.", render.Escape(err.Error())), nil
		}
		return commands.Answer{Change: change, Text: fmt.Sprintf("The secret %s is taken away.", render.Escape(name))}, nil
	}
	return commands.Says("%s", secretHelp), nil
}

// setSecret is the change that a command wants in a chat, and what is said of it. What that very channel connects
// with has to be confirmed there: a wrong value would lock out whoever sets it.
func (r *SecretCommand) setSecret(typed commands.Secret, at channels.Conversation, removes bool) commands.Answer {
	left := "Please delete your message, if this chat shows it: I cannot do that here. \"switchboard secret set NAME\", on the machine that I run on, is the safer way."
	if removes {
		left = "I'm deleting your message; if it is still here in a minute, please delete it yourself."
	}
	if !secrets.ValidName(typed.Name) {
		return commands.Answer{Text: "The name of a secret has 1 to 64 letters, digits, '.', '\\_' and '-'; nothing was set. " + left}
	}
	sealed, err := r.Secrets.Seal(secrets.Secret(typed.Value))
	if err != nil {
		return commands.Answer{Text: "Nothing was set: " + render.Escape(err.Error()) + ". " + left}
	}
	text := fmt.Sprintf("The secret %s is set. ", render.Escape(typed.Name))
	by := r.Secrets.UsedBy(typed.Name)
	if len(by) > 0 {
		text = fmt.Sprintf("The secret %s is set, for %s. ", render.Escape(typed.Name), render.Escape(strings.Join(by, ", ")))
	}
	change := &SecretChange{Kind: SetSecret, Name: typed.Name, Ciphertext: sealed}
	if !slices.ContainsFunc(by, func(key string) bool { return strings.HasPrefix(key, "channels."+at.Channel+".") }) {
		return commands.Answer{Change: change, Text: text + left}
	}
	change.Within, change.Conversation = ConfirmWithin, core.SessionKey(at)
	return commands.Answer{Change: change, Say: func() commands.Answer {
		v := change.Version
		return commands.Answer{
			Text:    fmt.Sprintf("%sI'm connecting to this chat with it now. Confirm it here within %.0f s with /config confirm, else the former value is used again. %s", text, v.Left.Seconds(), left),
			Buttons: confirmButtons(v),
		}
	}}
}

// listSecrets lists names behind after, and who uses and set them.
func (r *SecretCommand) listSecrets(ctx context.Context, after string) (a commands.Answer, err error) {
	list, err := r.List.Secrets(ctx)
	if err != nil {
		return a, fmt.Errorf("list secrets: %w", err)
	}
	if len(list) == 0 {
		return commands.Says("No secret is set. %s", secretHelp), nil
	}
	list = list[slices.IndexFunc(list, func(one Secret) bool { return one.Name == after })+1:]
	if len(list) > commands.Rows {
		list = list[:commands.Rows]
		a.Buttons = []commands.Button{{Label: "More secrets", Command: "secret list after " + list[commands.Rows-1].Name}}
	}
	var b strings.Builder
	b.WriteString("The secrets:")
	for _, one := range list {
		fmt.Fprintf(&b, "\n- %s, set by %s on %s", render.Escape(one.Name), render.Escape(one.Person), one.At.UTC().Format(time.DateOnly))
		if by := r.Secrets.UsedBy(one.Name); len(by) > 0 {
			b.WriteString(", used by " + render.Escape(strings.Join(by, ", ")))
		}
		if len(one.Tools) > 0 {
			b.WriteString(", for the tools " + render.Escape(strings.Join(one.Tools, ", ")))
		}
	}
	a.Text = b.String()
	return a, nil
}
