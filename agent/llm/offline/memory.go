package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/internal/words"
	"switchboard/scheduler"
)

// memoryPhrases are those by which something is remembered, corrected, shown or forgotten, in five languages.
var memoryPhrases = []phrase{
	{keepThis, planner.remember},
	{say(`remember (?P<text>.+)`), planner.remember},
	{say(`(?:what|which things?) (?:do|did) (?:you|i) (?:know|remember|tell you|have you remembered)(?: about me| of me)?|what have you remembered(?: about me)?|` +
		`was weißt du (?:über|von) mi(?:ch|r)|was hast du dir gemerkt|(?:¿)?qué sabes (?:de|sobre) mí|(?:¿)?qué recuerdas(?: de mí)?|` +
		`que sais-tu (?:de|sur) moi|qu['’]est-ce que tu sais (?:de|sur) moi|(?:che )?cosa sai (?:di|su) me|che cosa ricordi(?: di me)?`), planner.knows},
	{say(`(?:forget|erase) (?:it|that|this)(?: again)?|vergiss (?:es|das)(?: wieder)?|olvídalo|olvida eso|oublie(?:-le| ça| cela)|dimentica(?:lo| questo|telo)`), planner.forgetIt},
	{say(`(?:forget|erase) (?:that|what you know about|about) (?P<text>.+)|vergiss,? (?:dass|was du über) (?P<de>.+)|olvida que (?P<es>.+)|oublie que (?P<fr>.+)|dimentica che (?P<it>.+)`), planner.forgetIt},
	{say(`(?:forget|erase|vergiss|olvida|oublie|dimentica) (?P<text>.+)`), planner.forgetIt},
	{say(`(?:no|nein|non)(?P<mark>[,.:!;]?)\s+(?:actually,? |sondern )?(?P<text>.+)`), planner.correct},
	{all, planner.answered},
}

var keepThis = say(`(?:(?P<polite>can you |could you )?(?:remember|keep in mind|don['’]t forget|note)(?: that|:|,)|merke? (?:es )?dir(?:,? dass|:|,)|denk(?:e)? daran,? dass|vergiss nicht,? dass|` +
	`(?:recuerda|ten en cuenta|no olvides|anota) (?:que|:)|(?:souviens-toi|rappelle-toi|retiens|note|n['’]oublie pas) (?:que|:)|souvenez-vous que|` +
	`(?:ricorda|ricordati|tieni a mente|non dimenticare|segna) (?:che|:))\s*(?P<text>.+)`)

// remembers is how we say one thing that we remember, before it.
const remembers = `I'll remember: |I know that already: |You told me on [^:]+: |I have known since [^:]+: `

var (
	// rememberedLead is how we say what we remember, or ask about it, with the text.
	rememberedLead = words.Pattern(`^- [^:]+:\d\d you: (?:(?:` + remembers + `)(?P<text>.+)|What shall I remember instead of "(?P<asked>.+)"\?[^"]*|- \d+: (?P<listed>.+) \(\w+, [\w ]+, \d{4}-\d\d-\d\d(?: in [^()]+)?\))$`)
	// aboutMemory is whatever we say of it, also of several, and in a fence.
	aboutMemory = words.Pattern(`^(?:- )?[^:]+:\d\d you: (?:` + remembers + `|I'll remember, for everybody: |What shall I remember|- \d+: .+ \(\w+, [\w ]+, \d{4}-\d\d-\d\d|\*\*(?:Rules|Preferences|Facts|What I would like to know)\*\*|Learned rule |Kept: |Forgotten: )`)
	aboutJobs   = words.Pattern(`(?i)^(?:the |my |every )?(?:reminders?|jobs?|alarms?|erinnerung(?:en)?|recordatorios?|rappels?|promemoria)\b`)
	doNot       = words.Pattern(`(?i)^(?:not|to|nicht|no|pas|non)\b`)
	everything  = words.Pattern(`(?i)^(?:everything|all|alles|todo|tout|tutto)\b`)
	beginning   = words.Pattern(`(?s)^.{0,400}(?:\s|$)|^.{400}`)           // what has room where a memory is named
	asButtons   = words.Pattern(`(?:\n *(?:[A-Z]\w+: /memory [^\n]*)?)+$`) // of a chat without any, behind a message
	escaped     = words.Pattern("\\\\([[:punct:]])")
	bareWord    = words.Pattern(`(?i)^(?:that|this|it|nothing|das|es|nichts|eso|nada|ça|rien|questo|niente)[.!]?$`)
)

// topic is what our last message says that we remember, and that it asks what to remember instead; empty: nothing, a part, or several.
func (p planner) topic() (text string, asked bool) {
	m := rememberedLead().FindStringSubmatch(p.last)
	if m == nil || p.more || strings.HasSuffix(m[1], "…") || strings.HasPrefix(m[1], "… ") {
		return "", false
	}
	return strings.TrimSpace(escaped().ReplaceAllString(m[1]+m[2]+m[3], "$1")), m[2] != ""
}

func (p planner) remember(m map[string]string) (plan, bool) {
	text, instead := unquote(m["text"]), ""
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	if bareWord().MatchString(text) || text == "" || first == "to" || first == "me" || strings.HasSuffix(text, "?") && m["polite"] == "" {
		return nil, false
	}
	if old, asked := p.topic(); asked && (first == "it" || sameBeginning(old, text)) {
		instead = old
	}
	return p.act("remember it", sayIt, use("memory.remember", "Remember it.", keeping(strings.TrimRight(text, " ?"), instead))), true
}

func keeping(text, instead string) map[string]any {
	known := map[string]any{"kind": "fact", "text": strings.TrimSpace(text)}
	if instead != "" {
		known["instead"] = beginning().FindString(instead)
	}
	return known
}

func (p planner) knows(map[string]string) (plan, bool) {
	return p.act("show what is remembered", sayIt, use("memory.search", "Look up what is remembered.", map[string]any{})), true
}

// forgetIt forgets what words say, or what was spoken of last, which the tool knows.
func (p planner) forgetIt(m map[string]string) (plan, bool) {
	which := cmp.Or(m["text"], m["de"], m["es"], m["fr"], m["it"])
	switch {
	case which == "" && strings.Contains(p.last, "remind"), aboutJobs().MatchString(which), doNot().MatchString(which): // it is a reminder that is spoken of
		return nil, false
	case everything().MatchString(which):
		return ready("ask what is meant", "Which kind? `/forget facts`, `/forget preferences` and `/forget rules` forget all of it here."), true
	}
	return p.act("forget it", sayIt, use("memory.forget", "Forget it.", map[string]any{"which": beginning().FindString(which)})), true
}

// alike are words of one kind, of which one is put in place of another.
var alike = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b|` +
		`\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b|\b(?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica)`),
	regexp.MustCompile(`(?i)\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b`),
	regexp.MustCompile(`\b\d{1,2}(?::\d\d)?(?: ?[ap]m)?\b`),
	regexp.MustCompile(`\b\d+(?:[.,]\d+)?\b`),
}

var (
	// isSo is between what something is said of and what is said of it.
	isSo   = words.Pattern(`(?i) (?:is|are|was|ist|sind|es|son|est|sont|è|sono) `)
	itIs   = words.Pattern(`(?i)^(?:it(?: i|['’])s|that(?: i|['’])s|es ist|das ist|es|son|c['’]est|ce sont|è|sono) `)
	thanks = words.Pattern(`(?i)^(?:thanks?|problem|worries|need|way|danke|gracias|merci|grazie)\b`)
	before = words.Pattern(`(?i)^(?:on|at|am|um|el|le|il|la) `)
)

// correct puts what the person says in place of what was spoken of last, and asks where it is not clear what that makes of it.
func (p planner) correct(m map[string]string) (plan, bool) {
	again := matched(keepThis, m["text"])
	switch text := m["text"]; {
	case !aboutMemory().MatchString(p.last) && again != nil:
		return p.remember(again)
	case !aboutMemory().MatchString(p.last), aQuestion().MatchString(text) && !p.when.Timed, thanks().MatchString(text),
		m["mark"] == "" && !itIs().MatchString(text) && !before().MatchString(text):
		return nil, false
	}
	if when, _ := scheduler.Find(m["text"], time.Now(), "UTC"); when.Spoken {
		p.when = when
		return scheduled(func(scheduler.Request) bool { return true })(p, m)
	}
	old, asked := p.topic()
	if again != nil && asked {
		return p.remember(again)
	}
	is := bare(unquote(cmp.Or(again["text"], m["text"])))
	text := is
	if !sameBeginning(old, is) {
		text = replaced(old, is)
	}
	switch {
	case old == "":
		return ready("ask what is right", "What shall I remember instead, and of which? Write \"/memory correct NUMBER\" and what is right; /memory shows the numbers."), true
	case text == "":
		return ready("ask what is right", "What shall I remember instead of \""+old+"\"? Write the whole of it: remember that …"), true
	}
	return p.act("correct it", sayIt, use("memory.remember", "Remember it so.", keeping(text, old))), true
}

// answered takes the whole of what is right where we asked for it; a time alone is not.
func (p planner) answered(m map[string]string) (plan, bool) {
	if old, asked := p.topic(); !asked || !sameBeginning(old, m["text"]) && (!p.when.Timed || p.when.Rest != "") {
		return nil, false
	}
	return p.correct(map[string]string{"text": m["text"], "mark": ","})
}

// sameBeginning says that a sentence begins as half of another does, and goes on, or says what the same is.
func sameBeginning(old, is string) bool {
	if a, b := isSo().FindStringIndex(old), isSo().FindStringIndex(is); a != nil && b != nil && strings.EqualFold(old[:a[0]], is[:b[0]]) {
		return true
	}
	a, b, n := strings.Fields(strings.ToLower(old)), strings.Fields(strings.ToLower(is)), 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= 2 && 2*n >= len(a) && n < len(b)
}

// replaced puts a part in place of its like in a sentence; empty: it is not clear which part that is.
func replaced(old, said string) string {
	is := itIs().ReplaceAllString(said, "")
	part := before().ReplaceAllString(is, "")
	for _, kind := range alike {
		if at := kind.FindAllStringIndex(old, 2); len(at) == 1 && kind.FindString(part) == part {
			return old[:at[0][0]] + part + old[at[0][1]:]
		}
	}
	list, name := strings.Fields(strings.TrimRight(old, ".")), func(word string) bool { return word != "I" && word != strings.ToLower(word) }
	if is == said || len(list) == 0 || name(list[len(list)-1]) != name(is) { // a name stands for a name
		return ""
	}
	at := isSo().FindAllStringIndex(old, 2)
	switch {
	case len(at) == 1 && len(strings.Fields(old[at[0][1]:])) == len(strings.Fields(is)):
		return old[:at[0][1]] + is
	case len(at) == 0 && slices.IndexFunc(list, name) == len(list)-1 && !strings.Contains(is, " "):
		return strings.Join(append(list[:len(list)-1], is), " ")
	}
	return ""
}

var (
	aQuestion = words.Pattern(`(?i)\?\s*$|^(?:¿|when|what|where|who|which|how|why|is|are|does|do|did|wann|was|wo|wer|wie|welche[rsn]?|cuándo|qué|dónde|quién|cómo|cuál|quand|que|où|qui|comment|quel(?:le)?|quando|che|dove|chi|come|quale)\b`)
	knownLine = words.Pattern(`^- \d+, (\d{4}-\d\d-\d\d), \w+(?: of ([^:]+))?: (.+)$`)
)

// recalled answers a question by what is remembered.
func (p planner) recalled(m map[string]string) (plan, bool) {
	if !aQuestion().MatchString(m["text"]) {
		return nil, false
	}
	for _, line := range p.facts {
		if known := knownLine().FindStringSubmatch(line); known != nil {
			at, _ := time.Parse(time.DateOnly, known[1]) // we wrote it
			how := "I have known since "                 // it is everybody's
			if strings.HasPrefix(p.place.field("You work for"), known[2]+" (role ") {
				how = "You told me on "
			}
			return ready("answer from what is remembered", how+at.Format("2 January 2006")+": "+known[3]), true
		}
	}
	return nil, false
}
