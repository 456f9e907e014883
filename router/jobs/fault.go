package jobs

import (
	"errors"
	"fmt"

	"switchboard/channels/render"
	"switchboard/router/commands"
)

// A fault says why nothing was done.
type fault struct {
	code    string // for tools
	text    string
	choices []choice
}

// Refused is an error that says to whoever asked why nothing was done. Its code is a word for programs, such as "not_found".
type Refused interface {
	error
	Code() string
}

func (f *fault) Code() string { return f.code }

// A choice is what may have been meant: its label, and the time with all that belongs to it.
type choice struct{ label, when string }

func (f *fault) Error() string {
	text := f.text
	for _, c := range f.choices {
		text += "\n- " + c.when
	}
	return text
}

func faulty(code, format string, args ...any) *fault {
	return &fault{code: code, text: fmt.Sprintf(format, args...)}
}

func tooLong() *fault {
	return faulty("too_long", "The text is too long; a job takes %d bytes.", mostText)
}

func deleted(id int64) *fault { return faulty("refused", "Job %d is deleted.", id) }

// Unknown says to the operator that no job has that number.
func Unknown(id int64) error {
	return faulty("not_found", "there is no job %d; \"switchboard job list --all\" lists them", id)
}

// UnknownPerson says to the operator that nobody is called so.
func UnknownPerson(name string) error {
	return faulty("not_found", "there is no person %q; \"switchboard person list\" names them", name)
}

// says answers a command with why nothing was done; what is no fault of anybody's stays an error.
func says(err error, retry string) (commands.Answer, error) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return commands.Answer{}, err
	}
	answer := commands.Says("%s", render.Escape(f.text))
	for _, c := range f.choices {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: c.label, Command: retry + " " + c.when, Either: true})
	}
	return answer, nil
}
