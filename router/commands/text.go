package commands

import (
	"strings"

	"switchboard/channels/render"
	"switchboard/internal/words"
)

// A Text says the same in each of the Languages.
type Text = words.Text

// Languages are those of Text, the first for whoever has none of them.
var Languages = []string{"", "de", "es", "fr", "it"}

var (
	helpLead = Text{
		EN: "I plan what you ask, do it step by step, check each step and answer.\n\nJust write to me. These commands work at any time:",
		DE: "Ich plane, worum du mich bittest, tue es Schritt für Schritt, prüfe jeden Schritt und antworte.\n\nSchreib mir einfach. Diese Befehle gehen jederzeit:",
		ES: "Planifico lo que me pides, lo hago paso a paso, compruebo cada paso y respondo.\n\nEscríbeme sin más. Estas órdenes funcionan en todo momento:",
		FR: "Je planifie ce que vous demandez, je le fais pas à pas, je vérifie chaque pas et je réponds.\n\nÉcrivez-moi simplement. Ces commandes marchent à tout moment :",
		IT: "Pianifico ciò che chiedi, lo faccio passo per passo, controllo ogni passo e rispondo.\n\nScrivimi e basta. Questi comandi funzionano in ogni momento:",
	}
	adminsLead = Text{
		EN: "\n\nFor admins:", DE: "\n\nFür Admins:", ES: "\n\nPara administradores:", FR: "\n\nPour les administrateurs :", IT: "\n\nPer gli amministratori:",
	}
)

// Code is a text as it is typed, in one line of at most so many runes.
func Code(most int, text string) string {
	text = words.OneLine(text, most)
	if strings.Contains(text, "`") {
		return render.Escape(text)
	}
	return "`" + text + "`"
}

// Meant ends a sentence that there is nothing of that name: by which of names was probably meant, as it is shown.
func Meant(sentence, name string, names []string, shown func(string) string) string {
	if meant := words.Nearest(name, names); meant != "" {
		return sentence + "; did you mean " + shown(meant) + "?"
	}
	return sentence + "."
}

// FirstWord is the first word of a text, and what follows it.
func FirstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}
