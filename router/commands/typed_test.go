package commands_test

import (
	"context"
	"testing"

	"switchboard/router/commands"
)

// which is a command that asks for a time, or has somebody choose.
func which() commands.Command {
	return commands.Command{Name: "which", About: commands.Text{EN: "a", DE: "a", ES: "a", FR: "a", IT: "a"}, Run: func(_ context.Context, c *commands.Call) (commands.Answer, error) {
		if c.Args != "" {
			return commands.Says("It is %s.", c.Args), nil
		}
		answer := commands.Says("Which?")
		for _, city := range []string{"Rome", "New York", "Paris"} {
			answer.Buttons = append(answer.Buttons, commands.Button{Label: city, Command: "which " + city, Either: true})
		}
		answer.Buttons = append(answer.Buttons, commands.Button{Command: "which", Asks: true})
		return answer, nil
	}}
}

// What a command offers to choose from has numbers where there are no buttons, and its number gives it, right after it was
// offered.
func TestACommandsChoicesAreNumbersWhereThereAreNoButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{which()}
		r.Start()
		r.Platform.Say("c1", "ada", "/which")
		if sent := r.Await(1); sent[0].Text != "Which?\n\n1. Rome\n2. New York\n3. Paris" || len(sent[0].Buttons) != 0 {
			t.Fatalf("sent %+v", sent)
		}
		r.Platform.Say("c1", "ada", "2")
		r.Shows(2, "It is New York.")
		r.Platform.Say("c1", "ada", "1") // it was chosen
		r.Shows(3, "re: 1")
		r.Platform.Say("c1", "ada", "/which")
		r.Await(4)
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(5, "re: hello")
		r.Platform.Say("c1", "ada", "3") // something else was said since
		r.Shows(6, "re: 3")
	})
}

// A time that is written right after a command asked for one is its answer; anything else is a message.
func TestATimeAnswersTheCommandThatAskedForIt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{which()}
		r.Script.Buttons = true
		r.Start()
		n := 0
		for _, c := range []struct{ says, want string }{
			{"tomorrow at 10", "It is tomorrow at 10."},
			{"every day at 9 tea", "It is every day at 9 tea."},
			{"hello", "re: hello"},
			{"remind me tomorrow at 10 to go", "re: remind me tomorrow at 10 to go"},
		} {
			r.Platform.Say("c1", "ada", "/which")
			n++
			if sent := r.Await(n); len(sent[n-1].Buttons) != 3 {
				t.Fatalf("sent %+v", sent[n-1])
			}
			r.Platform.Say("c1", "ada", c.says)
			n++
			r.Shows(n, c.want)
		}
		r.Platform.Say("c1", "ada", "tomorrow at 11") // something else was said since
		r.Shows(n+1, "re: tomorrow at 11")
	})
}
