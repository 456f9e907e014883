package jobs

import (
	"context"
	"fmt"
	"slices"

	"switchboard/router/commands"
	"switchboard/scheduler"
)

// listButton shows a job.
func listButton(job *scheduler.Job) commands.Button {
	return commands.Button{Label: fmt.Sprint("Job ", job.ID), Command: fmt.Sprint("jobs ", job.ID)}
}

// nextWhen has the next message, if it is a time, be that of a job.
func nextWhen(id int64) commands.Button {
	return commands.Button{Command: fmt.Sprintf("jobs %d when", id), Asks: true}
}

// jobButtons are what can be done with a job.
func jobButtons(job *scheduler.Job) []commands.Button {
	do := func(label, verb string, beside bool) commands.Button {
		return commands.Button{Label: label, Command: fmt.Sprintf("jobs %d %s", job.ID, verb), Beside: beside}
	}
	history := do("History", "history", false)
	buttons := []commands.Button{do("Pause", "pause", false), do("Run now", "run", true)}
	switch {
	case job.State == scheduler.JobRemoved, job.State == scheduler.JobDone:
		return []commands.Button{history}
	case job.State != scheduler.JobActive:
		buttons[0] = do("Resume", "resume", false)
	case job.Spec.At == "":
		buttons = append(buttons, do("Skip next", "skip", true))
	}
	if buttons = append(buttons, history); job.Owner == "" { // the program's own stays
		return buttons
	}
	return append(buttons, do("Delete", "delete", true))
}

// madeButtons are those under the words that a job was made; of one whose zone is not known also cities that say it.
func madeButtons(job *scheduler.Job, language string) []commands.Button {
	list := []commands.Button{
		{Label: "Change", Command: fmt.Sprintf("jobs %d when", job.ID), Beside: true}, {Label: "Cancel", Command: fmt.Sprintf("jobs %d delete", job.ID), Ends: true},
	}
	if job.Spec.At != "" { // then it is over
		list[0].Until, list[1].Until = job.Due, job.Due
	}
	if !job.Spec.Assumed {
		return list
	}
	cities, ok := likely[language]
	if !ok {
		cities = likely[""]
	}
	for i, city := range append(slices.Clone(cities), "UTC") {
		list = append(list, commands.Button{Label: city, Command: "timezone " + city, Beside: i%3 != 0})
	}
	return list
}

// likely are cities where somebody may be who speaks a language, one of each zone.
var likely = map[string][]string{
	"de": {"Berlin", "London"}, "it": {"Rome", "London"}, "es": {"Madrid", "Mexico City", "Bogota", "Buenos Aires"}, "fr": {"Paris", "Montreal"},
	"": {"London", "Berlin", "New York", "Chicago", "Los Angeles", "Kolkata"},
}

// Made are the buttons under an answer of the agent that says what a person's turn made: those of a job, where it made one.
func (d *Service) Made(ctx context.Context, made []string, person, language string) []commands.Button {
	var id int64
	if _, err := fmt.Sscanf(made[0], madeCode, &id); err != nil || len(made) > 1 {
		return nil
	}
	job, err := d.Store.Job(ctx, id, person)
	if err != nil || job.State != scheduler.JobActive {
		return nil
	}
	return madeButtons(job, language)
}
