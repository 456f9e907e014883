package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"switchboard/agent/memory"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

// Commands are the rows of /memory, /remember, /learn, /rules, /forget and /private.
func (s *Service) Commands() []commands.Command {
	return []commands.Command{
		{Name: "memory", Args: "[NUMBER|forget WHAT|summaries|settings]", About: commands.Text{
			EN: "what I remember here, and what I may", DE: "was ich mir hier merke, und was ich darf", ES: "lo que recuerdo aquí, y lo que puedo",
			FR: "ce dont je me souviens ici, et ce que je peux", IT: "che cosa ricordo qui, e che cosa posso",
		}, ToAdmins: commands.Text{
			EN: "what I remember; global shows everybody's, of NAME somebody's", DE: "was ich mir merke; global zeigt, was für alle gilt, of NAME jemandes",
			ES: "lo que recuerdo; global muestra lo de todos, of NAME lo de alguien", FR: "ce dont je me souviens ; global montre ce qui vaut pour tous, of NAME pour quelqu'un",
			IT: "che cosa ricordo; global mostra ciò che vale per tutti, of NAME per qualcuno",
		}, Run: s.list},
		{Name: "remember", Typed: true, Args: "WHAT", About: commands.Text{
			EN: "remember something, for example: the deploy key rotates on Fridays", DE: "sich etwas merken, wie: der Schlüssel wechselt freitags",
			ES: "recordar algo, como: la clave cambia los viernes", FR: "retenir quelque chose, comme : la clé change le vendredi", IT: "ricordare qualcosa, come: la chiave cambia il venerdì",
		}, Run: s.remember},
		{Name: "learn", Typed: true, Args: "RULE", About: commands.Text{
			EN: "a rule for my answers, for example: style: keep it short", DE: "eine Regel für meine Antworten, wie: style: fasse dich kurz",
			ES: "una regla para mis respuestas, como: style: sé breve", FR: "une règle pour mes réponses, comme : style: sois bref", IT: "una regola per le mie risposte, come: style: sii breve",
		}, Run: s.learn},
		{Name: "rules", About: commands.Text{
			EN: "the rules that I follow here", DE: "die Regeln, die hier für mich gelten", ES: "las reglas que sigo aquí", FR: "les règles que je suis ici", IT: "le regole che seguo qui",
		}, Run: s.rules},
		{Name: "forget", Typed: true, Args: "NUMBER|WORDS|KIND", About: commands.Text{
			EN: "forget something that I remember", DE: "etwas vergessen, was ich mir gemerkt habe", ES: "olvidar algo que recuerdo", FR: "oublier quelque chose dont je me souviens",
			IT: "dimenticare qualcosa che ricordo",
		}, Run: s.forget},
		{Name: "private", Args: "[on|off]", About: commands.Text{
			EN: "remember nothing of this chat", DE: "mir von diesem Chat nichts merken", ES: "no recordar nada de este chat", FR: "ne rien retenir de cette discussion", IT: "non ricordare nulla di questa chat",
		}, Run: s.private},
	}
}

// writer is who gave a command, and where.
func (s *Service) writer(ctx context.Context, c *commands.Call) (*Writer, error) {
	return s.at(ctx, c.Conversation(), c.Person.Name, c.IsAdmin())
}

func (s *Service) remember(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	return s.written(ctx, c, memory.Fact, "Write what I am to remember behind it: \"%sremember the deploy key rotates on Fridays\".")
}

func (s *Service) learn(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	return s.written(ctx, c, memory.Rule, "Write the rule behind it: \"%slearn answer in two sentences\". In front of it can stand "+strings.Join(memory.RuleCategories, ", ")+" and a colon.")
}

// toAll finds the word before what is to be everybody's, or to stand in every prompt.
var toAll = regexp.MustCompile(`(?is)^(always|global)(\s*:|\s|$)\s*(.*)`)

const notForAll = "Only admins can have that for everybody, and only in a direct chat."

// written answers a command that writes a memory. An admin in a direct chat may write "global" before it, and "always" before a rule.
// Elsewhere that is refused; but from who is no admin, what may begin a sentence is text.
func (s *Service) written(ctx context.Context, c *commands.Call, kind memory.Kind, usage string) (commands.Answer, error) {
	e := memory.Entry{Kind: kind, Text: c.Args, Session: core.SessionKey(c.Conversation())}
	for range 2 {
		m := toAll.FindStringSubmatch(e.Text)
		if m == nil {
			break
		}
		switch word := strings.ToLower(m[1]); {
		case word == "always" && kind != memory.Rule:
		case m[3] == "":
			e.Text = ""
		case c.IsAdmin() && c.Direct():
			e.Always, e.Scope, e.Text = e.Always || word == "always", memory.Global, m[3]
		case c.IsAdmin() || strings.HasSuffix(m[2], ":") || word == "global" && kind == memory.Rule:
			return commands.Says(notForAll), nil
		}
	}
	if kind == memory.Rule {
		e.Category, e.Text = categoryOf(e.Text)
	}
	if e.Text == "" {
		return commands.Says(usage, c.Slash), nil
	}
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	change, err := s.Ask(ctx, w, e)
	if err != nil {
		return commands.Answer{}, err
	}
	return s.done(c, change), nil
}

// done makes a change, and answers with what it came to, and which it left because they are everybody's.
func (s *Service) done(c *commands.Call, change *Change, left ...memory.Entry) commands.Answer {
	return commands.Answer{Change: change, Say: func() commands.Answer {
		told := change.told()
		answer := commands.Answer{Text: said(change, func(e *memory.Entry) string { return shown(e, 200) }) + everybodys(c, "forget", left), Taint: taintOf(c.Person.Name, append(left, told...)...)}
		if len(told) == 1 && change.Kind != Forget {
			answer.Buttons = s.entryButtons(&told[0])
		}
		return answer
	}}
}

func (s *Service) forget(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args == "" {
		return commands.Says("Write what I am to forget behind it: its number, words that stand in it, or facts, preferences, rules or summaries. \"%smemory\" lists what I remember.", c.Slash), nil
	}
	if strings.EqualFold(c.Args, summariesWord) {
		return s.forgetSummaries(ctx, c)
	}
	w, list, all, err := s.meant(ctx, c, c.Args)
	if err != nil || len(list) == 0 {
		return nothing(c, "forget", c.Args, all...), err
	}
	answer := s.done(c, s.change(w, Forget, idsOf(list)...), all...)
	if say := answer.Say; len(list)+len(all) == foundMost {
		answer.Say = func() commands.Answer {
			said := say()
			said.Text += "\nThere are more: write it again."
			return said
		}
	}
	return answer, nil
}

// meant is what a command speaks of, of what the one who gave it may change; all are what it leaves: what is everybody's goes by its
// number alone.
func (s *Service) meant(ctx context.Context, c *commands.Call, which string) (w *Writer, list, all []memory.Entry, err error) {
	if w, err = s.writer(ctx, c); err != nil {
		return nil, nil, nil, err
	}
	found, err := s.find(ctx, w, which)
	for _, e := range found {
		if _, number := numberOf(which); e.Scope == memory.Global && !number {
			all = append(all, e)
		} else {
			list = append(list, e)
		}
	}
	return w, list, all, err
}

// everybodys says how a command is given of what it left, a line each.
func everybodys(c *commands.Call, does string, left []memory.Entry) (text string) {
	for _, e := range left[:min(len(left), 10)] {
		text += fmt.Sprintf("\n%s is everybody's: `%s%s %d`", shown(&e, 200), c.Slash, does, e.ID)
	}
	return text
}

// nothing answers a command that found nothing, or only what it left.
func nothing(c *commands.Call, does, which string, left ...memory.Entry) commands.Answer {
	if len(left) > 0 {
		return commands.Answer{Text: strings.TrimSpace(everybodys(c, does, left)), Taint: taintOf(c.Person.Name, left...)}
	}
	return commands.Says("I remember nothing like %s here that is yours. \"%smemory\" lists what I remember.", commands.Code(60, which), c.Slash)
}

func idsOf(list []memory.Entry) []int64 {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func (s *Service) private(_ context.Context, c *commands.Call) (commands.Answer, error) {
	to, said := "", ""
	switch strings.ToLower(c.Args) {
	case "":
		if !c.Session.Private {
			return commands.Answer{Text: "I remember what is said here. A private chat neither learns nor is recalled.", Buttons: []commands.Button{{Label: "Make it private", Command: "private on"}}}, nil
		}
		return commands.Answer{Text: "This chat is private: I learn nothing here, and recall nothing.", Buttons: []commands.Button{{Label: "Not any more", Command: "private off"}}}, nil
	case "on":
		to, said = "on", "This chat is private from now on: I learn nothing here, and recall nothing. What I remembered before stays; /memory lists it."
	case "off":
		said = "This chat is not private any more."
	default:
		return commands.Says("Write %sprivate on, or %[1]sprivate off.", c.Slash), nil
	}
	if !c.MayDecide() {
		return commands.Says("Others talk with me here too, so only an admin can set that here."), nil
	}
	return commands.Answer{Change: &sessions.Change{Conversation: c.Conversation(), Of: sessions.Private, To: to}, Text: said}, nil
}

func (s *Service) list(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	verb, rest := commands.FirstWord(c.Args)
	id, isNumber := numberOf(verb)
	switch verb = strings.ToLower(verb); {
	case isNumber && rest == "":
		return s.one(ctx, c, id)
	case verb == "" || verb == "before":
		return s.page(ctx, c, "memory", Filter{}, rest)
	case verb == summariesWord && rest == "":
		return s.summaries(ctx, c)
	case verb == "forget":
		c.Args = rest
		return s.forget(ctx, c)
	case verb == "keep" || verb == "correct" || verb == "always" || verb == "undo":
		return s.edit(ctx, c, verb, rest)
	case (verb == "global" || verb == "of" && rest != "") && (!c.IsAdmin() || !c.Direct()):
		return commands.Says("Only admins can see that, and only in a direct chat."), nil
	case verb == "global":
		return s.page(ctx, c, "memory global", Filter{Scopes: []memory.Scope{memory.Global}}, strings.TrimPrefix(rest, "before "))
	case verb == "of" && rest != "":
		name, before, _ := strings.Cut(rest, " before ")
		called, err := s.Called(ctx, strings.TrimSpace(name))
		if err != nil || called == "" {
			return commands.Says("I know nobody called %s.", commands.Code(40, name)), err
		}
		answer, err := s.page(ctx, c, "memory of "+called, Filter{Scopes: []memory.Scope{memory.OfPerson(called)}}, before)
		answer.Change = &Look{called}
		return answer, err
	case verb == "settings" || setters[verb]:
		return s.settings(ctx, c, verb, strings.ToLower(rest))
	}
	return commands.Says("`%[1]smemory` lists what I remember here. I also know `%[1]smemory NUMBER`, `%[1]smemory forget WHAT`, `%[1]smemory keep NUMBER`, `%[1]smemory correct NUMBER TEXT`, `%[1]smemory summaries` and `%[1]smemory settings`.", c.Slash), nil
}

func (s *Service) rules(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if id, is := numberOf(c.Args); is {
		return s.one(ctx, c, id)
	}
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	return s.page(ctx, c, "rules", Filter{Kinds: []memory.Kind{memory.Rule}, Scopes: w.Place.Scopes()}, strings.TrimPrefix(c.Args, "before "))
}

// page lists memories; without scopes what surfaces in the chat alone.
func (s *Service) page(ctx context.Context, c *commands.Call, command string, f Filter, before string) (commands.Answer, error) {
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	if f.Scopes == nil {
		f.Scopes = []memory.Scope{w.Place.Own()}
	}
	f.Before, _ = strconv.ParseInt(before, 10, 64)
	f.Limit = commands.Rows + 1
	list, err := s.Store.Memories(ctx, f)
	if err != nil {
		return commands.Answer{}, err
	}
	shown, more := commands.Shown(list)
	if len(shown) == 0 {
		does := map[string]string{"memory": "remember WHAT", "memory global": "remember global WHAT", "rules": "learn RULE"}[command]
		if does == "" {
			return commands.Says("There is nothing."), nil
		}
		return commands.Says("There is nothing. `%s%s` changes that.", c.Slash, does), nil
	}
	answer := commands.Answer{Text: listed(shown, c), Taint: taintOf(c.Person.Name, shown...)}
	for i, e := range shown {
		if !slices.Contains(w.Place.Scopes(), e.Scope) { // it is another's, who alone changes it
			continue
		}
		answer.Buttons = append(answer.Buttons, commands.Button{Label: strconv.FormatInt(e.ID, 10), Command: fmt.Sprintf("memory %d", e.ID), Beside: i%5 != 0})
	}
	if more {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: "More", Command: fmt.Sprintf("%s before %d", command, shown[len(shown)-1].ID)})
	}
	return answer, nil
}

// one shows a memory with what can be done with it.
func (s *Service) one(ctx context.Context, c *commands.Call, id int64) (commands.Answer, error) {
	w, err := s.writer(ctx, c)
	if err != nil {
		return commands.Answer{}, err
	}
	list, err := s.Store.Memories(ctx, Filter{IDs: []int64{id}, Scopes: w.Place.Scopes(), All: true})
	if list = w.without(list); err != nil || len(list) == 0 {
		return nothing(c, "", strconv.FormatInt(id, 10)), err
	}
	return commands.Answer{Text: listed(list, c), Taint: taintOf(c.Person.Name, list...), Buttons: s.entryButtons(&list[0])}, nil
}

func (s *Service) entryButtons(e *memory.Entry) (buttons []commands.Button) {
	for _, does := range []string{"forget", "correct", "keep", "undo"} {
		if does == "forget" || e.Kind != memory.Learning && (does != "keep" || !e.Kept) && (does != "undo" || s.undoable(e)) {
			buttons = append(buttons, commands.Button{Label: strings.ToUpper(does[:1]) + does[1:], Command: fmt.Sprintf("memory %s %d", does, e.ID), Beside: true})
		}
	}
	return buttons
}

// undoable says that a memory can be taken apart again.
func (s *Service) undoable(e *memory.Entry) bool {
	return e.Source == Merge && s.Now().Sub(e.CreatedAt) < UndoFor
}

// edit confirms a memory, corrects it, takes it apart, or has a rule stand in every prompt.
func (s *Service) edit(ctx context.Context, c *commands.Call, verb, rest string) (commands.Answer, error) {
	number, text := commands.FirstWord(rest)
	if number == "" {
		return commands.Says("Write its number behind it: \"%smemory %s NUMBER\". \"%[1]smemory\" lists what I remember.", c.Slash, verb), nil
	}
	if verb == "always" && c.IsAdmin() && !c.Direct() {
		return commands.Says(notForAll), nil
	}
	w, list, all, err := s.meant(ctx, c, number)
	switch {
	case err != nil:
		return commands.Answer{}, err
	case len(list) != 1:
		return nothing(c, "memory "+verb, number, all...), nil
	case verb == "correct" && text == "":
		return commands.Says("What is right? Write it behind: `%smemory correct %d …`", c.Slash, list[0].ID), nil
	}
	change, err := s.edited(ctx, w, ChangeKind(verb), list[0], text, core.SessionKey(c.Conversation()))
	if err != nil {
		return commands.Answer{}, err
	}
	return s.done(c, change), nil
}
