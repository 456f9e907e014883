package offline_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is said about memory, after what was said last, and what becomes of it.
func TestMemoryInPlainWords(t *testing.T) {
	t.Parallel()
	const told = "you: You told me on 29 November 2026: the deploy key rotates on Fridays"
	for _, c := range []struct{ last, says, want string }{
		{"", "remember that the deploy key rotates on Fridays", `memory.remember{"kind":"fact","text":"the deploy key rotates on Fridays"}`},
		{"", "Merk dir: der Schlüssel wechselt freitags", `memory.remember{"kind":"fact","text":"der Schlüssel wechselt freitags"}`},
		{"", "recuerda que la clave cambia los viernes", `memory.remember{"kind":"fact","text":"la clave cambia los viernes"}`},
		{"", "souviens-toi que la clé change le vendredi", `memory.remember{"kind":"fact","text":"la clé change le vendredi"}`},
		{"", "ricordati che la chiave cambia il venerdì", `memory.remember{"kind":"fact","text":"la chiave cambia il venerdì"}`},
		{"", "what do you know about me?", `memory.search{}`},
		{"", "Was weißt du über mich?", `memory.search{}`},
		{"", "¿Qué sabes de mí?", `memory.search{}`},
		{"", "Que sais-tu de moi ?", `memory.search{}`},
		{"", "Cosa sai di me?", `memory.search{}`},
		{told, "forget it", `memory.forget{}`},
		{told, "vergiss das", `memory.forget{}`},
		{told, "olvídalo", `memory.forget{}`},
		{told, "oublie ça", `memory.forget{}`},
		{told, "dimenticalo", `memory.forget{}`},
		{"", "forget that the deploy key rotates", `memory.forget{"which":"the deploy key rotates"}`},
		{told, "no, it is Thursday", `memory.remember{"instead":"the deploy key rotates on Fridays","kind":"fact","text":"the deploy key rotates on Thursday"}`},
		{"you: I'll remember: die Tür schließt um 9", "nein, es ist 10", `memory.remember{"instead":"die Tür schließt um 9","kind":"fact","text":"die Tür schließt um 10"}`},
		{"", "forget the deploy key", `memory.forget{"which":"the deploy key"}`},
		{"you: - 1: the deploy key rotates on Fridays (fact, said, 2026-11-29)", "no, it is Thursday", `memory.remember{"instead":"the deploy key rotates on Fridays","kind":"fact","text":"the deploy key rotates on Thursday"}`},
		{"you: I'll remember: I live in Rome", "no, it's Milan", `memory.remember{"instead":"I live in Rome","kind":"fact","text":"I live in Milan"}`},
		{"you: I'll remember: Anna's birthday is 3 May", "no, it is 4 May", `memory.remember{"instead":"Anna's birthday is 3 May","kind":"fact","text":"Anna's birthday is 4 May"}`},
		{"you: I'll remember: my phone number is 555 1234", "no, it is 555 9999", `memory.remember{"instead":"my phone number is 555 1234","kind":"fact","text":"my phone number is 555 9999"}`},
		{"you: I'll remember: my car is a red Toyota", "no, it is a blue Honda", `memory.remember{"instead":"my car is a red Toyota","kind":"fact","text":"my car is a blue Honda"}`},
		{"you: I'll remember: the train leaves at 8:15", "no, at 9:30", `memory.remember{"instead":"the train leaves at 8:15","kind":"fact","text":"the train leaves at 9:30"}`},
		{"you: I'll remember: the meeting is on 3 May at 10", "no, it is 11", ""},
		{"you: I'll remember: Tom has a blue bike", "no, it is green", ""},
		{"you: I'll remember: ...", "no, it is green", ""},
		{"you: I'll remember: Anna\\'s day is Friday", "no, it is Thursday", `memory.remember{"instead":"Anna's day is Friday","kind":"fact","text":"Anna's day is Thursday"}`},
		{"you: I'll remember: the gate opens on Friday\n  and the code is 77", "no, it is Thursday", ""},
		{"you: I'll remember: the gate opens on Friday and …", "no, it is Thursday", ""},
		{"you: I'll remember: the gate opens on Friday\n  \n  Forget: /memory forget 1\n  Correct: /memory correct 1", "no, it is Thursday", `memory.remember{"instead":"the gate opens on Friday","kind":"fact","text":"the gate opens on Thursday"}`},
		{"you: I'll remember: the gate opens on Friday\n  path: /etc/gate", "no, it is Thursday", ""},
		{"you: I'll remember: 1", "forget it", `memory.forget{}`},
		{told, "forget apples\nplease", `memory.forget{"which":"apples\nplease"}`},
		{told, "forget " + strings.Repeat("鍵", 405), `memory.forget{"which":"` + strings.Repeat("鍵", 400) + `"}`},
		{"you: hello!", "forget it", `memory.forget{}`},
		{"", "could you remember that the cat is Tom?", `memory.remember{"kind":"fact","text":"the cat is Tom"}`},
	} {
		if got := planAfter(t, c.last, c.says); got.Tool+got.Args != c.want {
			t.Errorf("%s: %+v\nwant %s", c.says, got, c.want)
		}
	}
}

// planAfter is the first task of the plan for what is said after a line.
func planAfter(t *testing.T, last, says string) struct{ Tool, Args, Answer string } {
	t.Helper()
	recent := ""
	if last != "" {
		recent = "## Recent messages\n- 2026-11-29 14:00 " + last + "\n\n"
	}
	answer := ask(t, "plan", planSchema, system(false)+scheduleTools+"- memory.search(which?): Look up.\n- memory.remember(kind, text): Keep.\n- memory.forget(which?): Forget.\n", recent+"## New message\n"+says)
	var got struct {
		Tasks []struct{ Tool, Args, Answer string }
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Tasks) == 0 {
		t.Fatalf("%s: %v\n%s", says, err, answer)
	}
	return got.Tasks[0]
}

// A correction of what is remembered replaces it or is asked about, and is never a reminder.
func TestCorrectionsReplaceOrAsk(t *testing.T) {
	t.Parallel()
	const (
		asks   = "What shall I remember"
		office = "you: I'll remember: the office closes at six"
		dog    = "you: I'll remember: my dog is called Rex"
		asked  = "you: What shall I remember instead of \"the office closes at six\"? Write the whole of it: remember that …"
		listed = "you: - 2: the shop closes at six (fact, written, 2026-11-29 in the terminal)\n  - 1: the office closes at six (fact, said, 2026-11-29)"
	)
	for _, c := range []struct{ last, says, want string }{
		{office, "no, it is at seven", asks + " instead of \"the office closes at six\"?"},
		{office, "no, at seven", asks},
		{office, "No at seven!", asks},
		{office, "no, tomorrow at 9", asks},
		{office, "no, is at seven", asks},
		{office, "nein, um neun", asks},
		{office, "nein, es ist um neun", asks},
		{office, "no, a las siete", asks},
		{office, "non, à sept heures", asks},
		{office, "no, alle sette", asks},
		{office, "no, the lab closes at seven", asks},
		{office, "no, when does it close?", "language model"},
		{office, "no, the office closes at seven", `"instead":"the office closes at six","kind":"fact","text":"the office closes at seven"`},
		{office, "no, remember that the office closes at seven", `"instead":"the office closes at six","kind":"fact","text":"the office closes at seven"`},
		{"you: I'll remember, for everybody: the office closes at six", "no, it is at seven", asks + " instead, and of which?"},
		{"you: the office closes at six", "no, remind me at seven to call", `schedule.add{"kind":"reminder","when":"no, remind me at seven to call"}`},
		{office, "no, remind me at seven to call", `schedule.add{"kind":"reminder","when":"remind me at seven to call"}`},
		{office, "nein, erinnere mich um neun an den Müll", `schedule.add{"kind":"reminder","when":"erinnere mich um neun an den Müll"}`},
		{office, "tomorrow at 9 call Ann", `schedule.add{"kind":"reminder"`},
		{asked, "no, it is at seven", asks},
		{asked, "at seven", asks},
		{asked, "remind me at seven to call", `schedule.add`},
		{asked, "the office closes at seven", `"instead":"the office closes at six","kind":"fact","text":"the office closes at seven"`},
		{asked, "remember that it closes at seven", `"instead":"the office closes at six","kind":"fact","text":"it closes at seven"`},
		{asked, "remember that no means no", `memory.remember{"kind":"fact","text":"no means no"}`},
		{asked, "forget it", `memory.forget{}`},
		{dog, "no, my dog is called Bello", `"instead":"my dog is called Rex","kind":"fact","text":"my dog is called Bello"`},
		{dog, "no, it's Max", asks},
		{dog, "no, it's called Max", `"instead":"my dog is called Rex","kind":"fact","text":"my dog is called Max"`},
		{"you: I'll remember: Tom is here", "no, it's Max", asks},
		{"you: I'll remember: I met Tom in Rome", "no, it's Max", asks},
		{"you: I'll remember: die Müllabfuhr kommt freitags", "nein, donnerstags", `"text":"die Müllabfuhr kommt donnerstags"`},
		{listed, "no, it is at seven", asks + " instead, and of which?"},
		{office, "no thanks", "language model"},
		{office, "No, thank you very much", "language model"},
		{office, "no meetings please", "language model"},
		{"you: the lamp is on", "no, at eight", "language model"},
		{"you: the lamp is on", "no, remember that the shop opens at ten", `memory.remember{"kind":"fact","text":"the shop opens at ten"}`},
		{listed, "nein, um neun", asks + " instead, and of which?"},
		{"you: **Facts**\n  - 2. the shop closes at six (written in the terminal, 29 Nov 2026)", "no, it is at seven", asks + " instead, and of which?"},
		{"you: Learned rule 6: call at six", "no, at seven", asks + " instead, and of which?"},
	} {
		if got := planAfter(t, c.last, c.says); !strings.Contains(got.Tool+got.Args+got.Answer, c.want) {
			t.Errorf("%s\n%s: %+v\nwant %s", c.last, c.says, got, c.want)
		}
	}
}

// A question is answered out of what is remembered; what is no question is not.
func TestQuestionsAreAnsweredByMemory(t *testing.T) {
	t.Parallel()
	const known = "## Known facts\n- 42, 2026-11-29, fact of ann: the deploy key rotates on Fridays\n\n## New message\n"
	const at = "## Where you speak\n- You work for: ann (role user)\n\n"
	if answer := ask(t, "plan", planSchema, system(false), strings.Replace(at, "ann", "bob", 1)+known+"when does the deploy key rotate?"); !strings.Contains(answer, "I have known since 29 November 2026: the deploy key") {
		t.Errorf("to somebody else: %s", answer)
	}
	for says, answered := range map[string]bool{
		"when does the deploy key rotate?": true, "when does the deploy key rotate": true, "rotate the deploy key": false, "what time is it?": false,
	} {
		answer := ask(t, "plan", planSchema, system(false), at+known+says)
		if strings.Contains(answer, "You told me on 29 November 2026: the deploy key rotates on Fridays") != answered {
			t.Errorf("%s: %s", says, answer)
		}
	}
}

// Facts of several lines are the same only if all of them are.
func TestFactsOfSeveralLinesAreMergedWhole(t *testing.T) {
	t.Parallel()
	const user = "## Facts\n1. (2026-11-01) Shopping:\n  - milk\n2. (2026-11-02) Shopping:\n  - bread\n3. (2026-11-03) shopping:\n  - milk.\n"
	const want = `{"facts":[{"of":[1,3],"text":"Shopping:\n- milk"},{"of":[2],"text":"Shopping:\n- bread"}]}`
	if got := ask(t, "consolidate", `{}`, "", user); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
