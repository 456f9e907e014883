package settings

import (
	"context"
	"fmt"

	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// faultsShown is how many faults one answer lists.
const faultsShown = 10

// ReloadCommand is the row of /reload. Reload reads the settings file again and goes by it; it returns
// what is otherwise, or the faults for which everything stays as it was.
func ReloadCommand(reload func(ctx context.Context) (diff []Difference, faults []string, err error)) commands.Command {
	return commands.Command{
		Name: "reload", Admin: true, About: commands.Text{
			EN: "read the settings file again", DE: "die Datei der Einstellungen neu lesen", ES: "volver a leer el archivo de configuración",
			FR: "relire le fichier des réglages", IT: "rileggere il file delle impostazioni",
		},
		Run: func(context.Context, *commands.Call) (commands.Answer, error) {
			return commands.Answer{Text: "Checking the settings file; I'll report here in a minute.", Background: func(ctx context.Context) commands.Answer {
				return reloaded(reload(ctx))
			}}, nil
		},
	}
}

func reloaded(diff []Difference, faults []string, err error) commands.Answer {
	switch {
	case err != nil:
		return commands.Says("I could not read the settings just now: %s", render.Escape(words.OneLine(err.Error(), 300)))
	case len(faults) > 0:
		text := "The settings have faults, so I go on with the former ones:\n" + bullets(faults[:min(len(faults), faultsShown)])
		if more := len(faults) - faultsShown; more > 0 {
			text += fmt.Sprintf("\nand %d more: \"switchboard config check\", on the machine that I run on, lists them.", more)
		}
		return commands.Answer{Text: text}
	case len(diff) > 0:
		return commands.Answer{Text: "I now use the changed file:\n" + diffLines(diff)}
	}
	return commands.Says("I read the settings file again. Nothing has changed.")
}
