package offline

import (
	"fmt"
	"slices"
	"strings"

	"switchboard/internal/words"
)

var (
	hello = words.Text{
		EN: "Hello! `help` shows what I can do.", DE: "Hallo! `help` zeigt, was ich kann.",
		ES: "¡Hola! `help` muestra lo que sé hacer.", FR: "Bonjour ! `help` montre ce que je sais faire.", IT: "Ciao! `help` mostra che cosa so fare.",
	}
	didYouMean = words.Text{EN: "Did you mean `%s`?", DE: "Meinst du `%s`?", ES: "¿Quieres decir `%s`?", FR: "Vouliez-vous dire `%s` ?", IT: "Intendi `%s`?"}
	cannot     = words.Text{
		EN: "I can't do that without a language model. `help` shows what I can do.", DE: "Das kann ich ohne Sprachmodell nicht. `help` zeigt, was ich kann.",
		ES: "No puedo hacerlo sin un modelo de lenguaje. `help` muestra lo que sé hacer.", FR: "Je ne peux pas le faire sans modèle de langage. `help` montre ce que je sais faire.", IT: "Non posso farlo senza un modello linguistico. `help` mostra che cosa so fare.",
	}
	addModel = words.Text{
		EN: " `switchboard init model`, on my machine, adds a model.", DE: " `switchboard init model` auf meinem Rechner fügt eines hinzu.",
		ES: " `switchboard init model`, en mi máquina, añade uno.", FR: " `switchboard init model`, sur ma machine, en ajoute un.", IT: " `switchboard init model`, sulla mia macchina, ne aggiunge uno.",
	}
)

// greetings are what people begin with, by language; who they are and how I am may follow.
var greetings = map[string]string{
	"en": `(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day|night)|how are you(?: doing)?)`,
	"de": `(?:hallo|moin|servus|grüezi|guten (?:morgen|tag|abend)|gute nacht|grüß (?:dich|gott)|wie geht(?:['’]s| es dir))`,
	"es": `(?:hola|buenos días|buenas(?: tardes| noches)?|qué tal|cómo estás)`,
	"fr": `(?:bonjour|bonsoir|salut|coucou|(?:comment )?ça va)`,
	"it": `(?:ciao|buongiorno|buonasera|salve|come (?:stai|va))`,
}

const greeted = `(?:[ ,.!]+(?:there|bot|switchboard|all|everybody|everyone))?` +
	`(?:[ ,.!]+(?:i am|i'm|i’m|this is|my name is|ich bin|ich heiße|soy|me llamo|je suis|je m['’]appelle|sono|mi chiamo) \S+(?: \S+)?)?` +
	`(?:[ ,.!]+(?:how are you(?: doing)?|how is it going|wie geht(?:['’]s| es(?: dir)?)?|qué tal|cómo estás|ça va|comment ça va|come stai|come va))?`

// greet answers greetings, in their language.
func greet() (list []phrase) {
	for language, words := range greetings {
		list = append(list, phrase{say(words + greeted), func(p planner, _ map[string]string) (plan, bool) {
			return ready("greet", hello.In(p.speaks(language))), true
		}})
	}
	return list
}

// told are words that tell a language from the four others.
var told = map[string]string{
	"en": "the is my what you how please can with for",
	"de": "der das ist und ich du nicht bitte mir wie kannst ein eine uhrzeit erinnerungen",
	"es": "el qué por favor cómo puedes hoy mañana los para está hora recordatorios",
	"fr": "le les des est je vous peux quoi pour une aujourd'hui demain heure rappels",
	"it": "il che di puoi oggi domani sono è per gli questo ora promemoria",
}

// languageOf guesses a text's; what is not told is English.
func languageOf(text string) string {
	best, most := "en", 0
	for _, language := range []string{"en", "de", "es", "fr", "it"} {
		known, n := strings.Fields(told[language]), 0
		for _, word := range strings.Fields(strings.ToLower(text)) {
			if slices.Contains(known, strings.Trim(word, ",.?!¿¡")) {
				n++
			}
		}
		if n > most {
			best, most = language, n
		}
	}
	return best
}

// speaks is the language that is set here; without one, the one that was guessed.
func (p planner) speaks(guessed string) string {
	if set := p.place.field("Language"); set != "" {
		return set
	}
	return guessed
}

// abilities are what can be said, by words that somebody may use for it.
var abilities = map[string]string{
	"help": "help commands menu options", "list files": "list file files folder ls dateien archivos fichiers",
	"list my reminders": "reminder reminders job jobs erinnerungen recordatorios rappels promemoria",
	"what time is it":   "time date clock uhrzeit hora heure ora", "remind me tomorrow at 9 to call Ann": "remind erinnere recuérdame rappelle ricordami",
}

// fillers are words that may stand with one of those and mean no more.
const fillers = "a all are any bitte es est et il is la le list los me mes mi miei mis my meine our please que quelle qué see show tell the there what which zeig"

// nearest is what I can do that somebody probably meant; empty: nothing.
func nearest(text string) string {
	said := strings.Fields(strings.ToLower(bare(text)))
	if len(said) == 0 || len(said) > 4 {
		return ""
	}
	for ability := range abilities {
		if words.Nearest(strings.Join(said, " "), []string{ability}) != "" {
			return ability
		}
	}
	var found []string
	said = slices.DeleteFunc(said, func(word string) bool {
		return len(said) > 1 && slices.Contains(strings.Fields(fillers), strings.Trim(word, "¿¡,"))
	})
	for ability, names := range abilities {
		known := strings.Fields(names)
		if len(said) == 1 && (slices.Contains(known, said[0]) || len(said[0]) > 5 && words.Nearest(said[0], known) != "") {
			found = append(found, ability)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// lost is what is said to what nobody knows.
func (p planner) lost(text string) plan {
	language := p.speaks(languageOf(text))
	if strings.Contains(p.last, "Where are you? A city is enough.") {
		return ready("ask for the time there", "I do not know that place. What time is it there now? Write only the time, as in 14:30.")
	}
	if ability := nearest(text); ability != "" {
		return ready("ask what was meant", fmt.Sprintf(didYouMean.In(language), ability))
	}
	if strings.HasSuffix(p.place.field("You work for"), "(role admin)") {
		return ready("say what I can do", cannot.In(language)+addModel.In(language))
	}
	return ready("say what I can do", cannot.In(language))
}
