package jobs

import (
	"cmp"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// caller is who wants something of jobs, and where.
type caller struct {
	person *core.Person
	conv   channels.Conversation
	zone   string // in which they read times there; empty: that of the job
	known  bool   // somebody said that zone
	slash  string
	taint  tools.Taint
	tool   bool // by a tool
	// machine: by the operator on the machine, for that person.
	machine bool
	message channels.MessageID // of theirs that asks; empty: it is a button's
}

// sees says that everybody's jobs may be listed: by admins, in direct chats.
func (a *caller) sees() bool {
	return a.person.Role == core.RoleAdmin && a.conv.Kind == channels.Direct
}

// admin says that they may do what is for admins. A tool may not, for whomever it is used: of that an admin types
// the command.
func (a *caller) admin() bool {
	return (a.person.Role == core.RoleAdmin || a.machine) && !a.tool
}

// byMachine stands where an admin's name does, for the operator on the machine; nobody is called so.
const byMachine = "machine:"

// typedBy is the admin who typed it; empty: none did.
func (a *caller) typedBy() string {
	switch {
	case a.machine:
		return byMachine
	case a.admin():
		return a.person.Name
	}
	return ""
}

// mayChange refuses to change what goes to others, or to run it at another time: it was allowed as it is.
func (a *caller) mayChange(job *scheduler.Job) error {
	if job.Payload != scheduler.PayloadSend || a.admin() {
		return nil
	}
	return faulty("refused", "Job %d writes to others, and may do so only exactly as it was allowed. To change it, cancel it and ask me again. You can pause, resume and skip it.", job.ID)
}

// whose is whose jobs are meant; empty: everybody's. What a tool changes is the person's own: of others'
// jobs an admin types the command.
func (a *caller) whose() string {
	if a.sees() && !a.tool {
		return ""
	}
	return a.person.Name
}

// here says that a job may be spoken of: in a group only one that speaks there.
func (a *caller) here(job *scheduler.Job) bool {
	return a.conv.Kind == channels.Direct || job.Target == target(&a.conv)
}

// owners says that it is to be said whose a job is.
func (a *caller) owners(job *scheduler.Job) bool {
	return a.machine || job.Owner != a.person.Name || a.conv.Kind != channels.Direct
}

func target(c *channels.Conversation) scheduler.Target {
	return scheduler.Target{Channel: c.Channel, Conversation: string(c.ID)}
}

// calling is who gave a command, and where.
func calling(c *commands.Call) *caller {
	a := &caller{person: c.Person, conv: c.Conversation(), zone: c.TimeZone, known: cmp.Or(c.Session.TimeZone, c.Person.TimeZone) != "", slash: c.Slash}
	if c.Event.Kind == channels.EventMessage {
		a.message = c.Event.Message.ID
	}
	return a
}
