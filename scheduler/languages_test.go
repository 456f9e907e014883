package scheduler

import (
	"strings"
	"testing"
)

// What people say in four other languages for what English has words of its own.
func TestReadInOtherLanguages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rappelle-moi demain à 21 h 30 d'appeler Luc":         "once, Tuesday 24 November 2026 at 21:30 (Europe/Rome) | appeler Luc",
		"demain à 9 h d'appeler Luc":                          "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | d'appeler Luc",
		"tutti i giorni feriali alle 8 di aprire il negozio":  "every weekday at 08:00 (Europe/Rome) | di aprire il negozio",
		"recuérdame todos los días laborables a las 8 abrir":  "every weekday at 08:00 (Europe/Rome) | abrir",
		"chaque jour ouvrable à 8h ouvrir le magasin":         "every weekday at 08:00 (Europe/Rome) | ouvrir le magasin",
		"cada dos lunes a las 9 sacar la basura":              "every other Monday at 09:00 (Europe/Rome) | sacar la basura",
		"ogni due lunedì alle 9 buttare la carta":             "every other Monday at 09:00 (Europe/Rome) | buttare la carta",
		"tous les deux lundis à 9h sortir la poubelle":        "every other Monday at 09:00 (Europe/Rome) | sortir la poubelle",
		"un lundi sur deux à 9h sortir la poubelle":           "every other Monday at 09:00 (Europe/Rome) | sortir la poubelle",
		"ricordami l'ultimo giorno del mese alle 18 le ore":   "once, Monday 30 November 2026 at 18:00 (Europe/Rome) | le ore",
		"ricordami tra un quarto d'ora il tè":                 "once, Monday 23 November 2026 at 10:15 (Europe/Rome) | il tè",
		"recuérdame en un cuarto de hora el té":               "once, Monday 23 November 2026 at 10:15 (Europe/Rome) | el té",
		"jeden Werktag um 8 Post holen":                       "every weekday at 08:00 (Europe/Rome) | Post holen",
		"erinnere mich in anderthalb Stunden daran, zu gehen": "once, Monday 23 November 2026 at 11:30 (Europe/Rome) | gehen",
	} {
		got, err := Read(text, at(t, spoken), "Europe/Rome")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if said := got.Spec.String() + " | " + got.Rest; said != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, said, want)
		}
	}
	for text, want := range map[string]string{
		"remind me tommorow at 9 to buy milk":             "Did you mean “tomorrow at 9”?",
		"remind me on wensday at 10:00 to call":           "Did you mean “on wednesday at 10:00”?",
		"erinnere mich morgn um 9 an die Milch":           "Did you mean “morgen um 9”?",
		"remind me every 5 months on the 1st at 9 to pay": "an interval of months",
	} {
		if _, err := Read(text, at(t, spoken), "Europe/Rome"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
