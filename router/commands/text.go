package commands

// A Text says the same in each language that we speak.
type Text struct{ EN, DE, ES, FR, IT string }

// Languages are those of Text, the first for whoever has none of them.
var Languages = []string{"", "de", "es", "fr", "it"}

// In is the text in a language, by its two letters; where there is none, in English.
func (t Text) In(language string) string {
	said := map[string]string{"de": t.DE, "es": t.ES, "fr": t.FR, "it": t.IT}[language]
	if said == "" {
		return t.EN
	}
	return said
}

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
