package jobs

import (
	"fmt"

	"switchboard/agent/tools"
	"switchboard/scheduler"
)

// How people call a job, and what they say to have it changed, in English, German, Italian, Spanish and French.
var (
	callings = []string{
		"reminder", "job", "task", "heartbeat", "number", "erinnerung", "aufgabe", "nummer", "promemoria", "attività", "numero",
		"recordatorio", "tarea", "número", "rappel", "tâche", "numéro",
	}
	sayings = map[ChangeKind][]string{
		RemoveJob: {
			"remove", "delete", "cancel", "drop", "forget", "lösche", "lösch", "entferne", "streiche", "vergiss",
			"cancella", "elimina", "rimuovi", "togli", "borra", "quita", "supprime", "efface", "annule",
		},
		PauseJob:  {"pause", "pausiere", "pausa", "sospendi", "suspende", "suspends"},
		ResumeJob: {"resume", "continue", "unpause", "reaktiviere", "setze", "riprendi", "riattiva", "reanuda", "reprends", "réactive"},
		RunJob:    {"run", "start", "starte", "esegui", "ejecuta", "lance", "exécute"},
		SkipJob:   {"skip", "überspringe", "salta", "saute"},
	}
)

// askedFor is how a person asks for a change of their own job: what to do, which job, by its number or its
// text, and what it is to be. Nil: options, and others' jobs.
func askedFor(person string, job *scheduler.Job, edit *tools.JobEdit) [][]string {
	if job.Owner != person {
		return nil
	}
	which := []string{fmt.Sprintf("#%d", job.ID), job.Text}
	for _, noun := range callings {
		which = append(which, fmt.Sprintf("%s %d", noun, job.ID))
	}
	asked := [][]string{which}
	switch kind := ChangeKind(edit.Action); {
	case sayings[kind] != nil:
		asked = append(asked, sayings[kind])
	case edit.Action != string(EditJob) || edit.When+edit.Text == "":
		return nil
	default:
		for _, now := range []string{edit.When, edit.Text, edit.Zone} {
			if now != "" {
				asked = append(asked, []string{now})
			}
		}
	}
	return asked
}
