package sessions

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"switchboard/agent/llm"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// Defaults are what counts in a session that has nothing else of its own.
type Defaults struct {
	Mode, Model string
	// Models are those that a session may have in place of Model.
	Models []string
	// TimeZone is that of whoever named none, an IANA name.
	TimeZone string
}

// Zone is the time zone that somebody reads times in: the session's, else their own, else that of the settings.
func (d Defaults) Zone(session, person string) string {
	return cmp.Or(session, person, d.TimeZone, "UTC")
}

// Commands are /mode, /model, /timezone and /lang, which show and set what a session has of its own.
type Commands struct {
	Now func() Defaults
	// Assumes says that somebody has jobs whose time zone nobody said.
	Assumes func(ctx context.Context, person string) (bool, error)
}

// Rows are the rows of the table.
func (r *Commands) Rows() []commands.Command {
	return []commands.Command{
		{Name: "mode", Args: "[ask|act]", About: commands.Text{
			EN: "whether I may change things here, or only look things up", DE: "ob ich hier etwas ändern oder nur nachsehen darf",
			ES: "si aquí puedo cambiar cosas o solo consultarlas", FR: "si je peux changer des choses ici, ou seulement les consulter",
			IT: "se qui posso cambiare le cose o solo consultarle",
		}, Run: r.mode},
		{Name: "model", Args: "[NAME|default]", About: commands.Text{
			EN: "the language model that plans here", DE: "das Sprachmodell, das hier plant", ES: "el modelo de lenguaje que planifica aquí",
			FR: "le modèle de langage qui planifie ici", IT: "il modello linguistico che pianifica qui",
		}, Run: r.model},
		{Name: "timezone", Args: "[ZONE|default]", About: commands.Text{
			EN: "the time zone by which I tell times here", DE: "die Zeitzone, in der ich hier Zeiten nenne", ES: "la zona horaria en que doy las horas aquí",
			FR: "le fuseau horaire dans lequel je donne les heures ici", IT: "il fuso orario in cui dico le ore qui",
		}, Run: r.timeZone},
		{Name: "lang", Args: "[CODE|default]", About: commands.Text{
			EN: "the language in which I answer here", DE: "die Sprache, in der ich hier antworte", ES: "el idioma en que respondo aquí",
			FR: "la langue dans laquelle je réponds ici", IT: "la lingua in cui rispondo qui",
		}, Run: r.language},
	}
}

// asSettings is what people write to have a session go by the settings again.
const asSettings = "default"

// set answers a command that sets something of its session; said is what is true then. Where
// others take part it is theirs as well, so that only an admin may.
func set(c *commands.Call, of Setting, to, said string) (commands.Answer, error) {
	if !c.MayDecide() {
		return commands.Says("Others talk with me here too, so only an admin can set that here."), nil
	}
	return commands.Answer{Change: &Change{Conversation: c.Conversation(), Of: of, To: to}, Text: said}, nil
}

// pick lists what a command sets, for whoever may: a page of what there is after a name, without
// what is set now.
func pick(c *commands.Call, now, after string, of ...string) (buttons []commands.Button) {
	if !c.MayDecide() {
		return nil
	}
	page, last := commands.Page(of, after)
	for _, name := range page {
		if name != now {
			buttons = append(buttons, commands.Button{Label: name, Command: c.Name + " " + name})
		}
	}
	if last != "" {
		buttons = append(buttons, commands.Button{Label: "More", Command: c.Name + " after " + last})
	}
	return buttons
}

func (r *Commands) mode(_ context.Context, c *commands.Call) (a commands.Answer, err error) {
	means := map[string]string{
		ModeAsk: "Mode: ask. I answer and look things up here, and change nothing.",
		ModeAct: "Mode: act. I may change things for you here.",
	}
	to, now := strings.ToLower(c.Args), r.ModeOf(c.Session)
	switch {
	case to == "":
		return commands.Answer{Text: means[now], Buttons: pick(c, now, "", ModeAsk, ModeAct)}, nil
	case to == asSettings:
		now = r.Now().Mode
		a, err = set(c, Mode, "", means[now])
	case means[to] == "":
		return commands.Answer{Text: "There are two modes: in ask I change nothing, in act I may.", Buttons: pick(c, "", "", ModeAsk, ModeAct)}, nil
	default:
		now = to
		a, err = set(c, Mode, to, means[to])
	}
	a.Buttons = pick(c, now, "", ModeAsk, ModeAct)
	return a, err
}

// ModeOf is the mode that holds in a session.
func (r *Commands) ModeOf(own core.Session) string {
	return cmp.Or(own.Mode, r.Now().Mode)
}

// ModelHere says which model plans in a session.
func (r *Commands) ModelHere(name string) string {
	switch {
	case name != llm.Offline:
		return fmt.Sprintf("The model here is %s.", render.Escape(name))
	case len(r.Now().Models) == 0:
		return "No language model is set up, so I use the built-in one."
	}
	return "I use the built-in model here."
}

// modelLater is ModelHere after a change, which counts from the next message on.
func (r *Commands) modelLater(name string) string {
	if name == llm.Offline {
		return "From your next message on I use the built-in model here."
	}
	return fmt.Sprintf("The model here is %s from your next message on.", render.Escape(name))
}

func (r *Commands) model(_ context.Context, c *commands.Call) (commands.Answer, error) {
	now, models := cmp.Or(c.Session.Model, r.Now().Model), r.Now().Models
	choices := func(said, after string) commands.Answer {
		switch {
		case len(models) == 0 && now != llm.Offline:
			said += " No other is set up."
		case c.Session.Model != "":
			models = append(slices.Clone(models), asSettings)
		}
		return commands.Answer{Text: said, Buttons: pick(c, now, after, models...)}
	}
	after, more := strings.CutPrefix(c.Args, "after ")
	switch {
	case c.Args == "" || more:
		return choices(r.ModelHere(now), after), nil
	case c.Args == asSettings:
		return set(c, Model, "", r.modelLater(r.Now().Model))
	case !slices.Contains(models, c.Args):
		return choices(fmt.Sprintf("I have no model named %s.", render.Escape(words.OneLine(c.Args, 60))), ""), nil
	}
	return set(c, Model, c.Args, r.modelLater(c.Args))
}

// languages have their names here.
var languages = map[string]string{"en": "English", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian"}

var languageShape = regexp.MustCompile(`^[a-z]{2,3}$`)

func (r *Commands) language(_ context.Context, c *commands.Call) (commands.Answer, error) {
	to := strings.ToLower(c.Args)
	switch {
	case to == "":
		own := c.Session.Language
		if own == "" {
			return commands.Says("I answer here in the language that you write in. /lang and two letters, such as de, sets another."), nil
		}
		return commands.Says("I answer here in %s. /lang and two letters, such as en, sets another; /lang default lets me go by what you write.", cmp.Or(languages[own], own)), nil
	case to == asSettings:
		return set(c, Language, "", "I'll answer in the language you write in.")
	case !languageShape.MatchString(to):
		return commands.Says("Write the two letters of a language, such as /lang de or /lang it."), nil
	}
	said := commands.Text{
		EN: "From your next message on I answer here in the language " + to + ". Commands and confirmations of reminders stay in English.",
		DE: "Ab jetzt antworte ich hier auf Deutsch. Antworten auf Befehle und Bestätigungen von Erinnerungen bleiben englisch.",
		ES: "Desde ahora respondo aquí en español. Las respuestas a las órdenes y las confirmaciones de los recordatorios siguen en inglés.",
		FR: "Désormais je réponds ici en français. Les réponses aux commandes et les confirmations des rappels restent en anglais.",
		IT: "D'ora in poi rispondo qui in italiano. Le risposte ai comandi e le conferme dei promemoria restano in inglese.",
	}
	if to == "en" {
		said.EN = "From your next message on I answer here in English."
	}
	return set(c, Language, to, said.In(to))
}
