package jobs

import (
	"context"
	"slices"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// asking is who wants something of jobs, and where.
type asking struct {
	person *core.Person
	conv   channels.Conversation
	zone   string // in which they read times there; empty: that of the job
	known  bool   // somebody said that zone
	slash  string
	taint  tools.Taint
	tool   bool // by a tool
	// machine: by whoever runs the program, for that person.
	machine bool
	message channels.MessageID // of theirs that asks; empty: it is a button's
}

// sees says that everybody's jobs may be listed: by admins, in direct chats.
func (a *asking) sees() bool {
	return a.person.Role == core.RoleAdmin && a.conv.Kind == channels.Direct
}

// admin says that they may do what is for admins. A tool may not, whoever it is used for: of that an admin types
// the command.
func (a *asking) admin() bool {
	return (a.person.Role == core.RoleAdmin || a.machine) && !a.tool
}

// byMachine stands where an admin's name does, for whoever runs the program; nobody is called so.
const byMachine = "machine:"

// typedBy is the admin who typed it; empty: none did.
func (a *asking) typedBy() string {
	switch {
	case a.machine:
		return byMachine
	case a.admin():
		return a.person.Name
	}
	return ""
}

// mayChange refuses to change what goes to others, or to run it at another time: it was allowed as it is.
func (a *asking) mayChange(job *scheduler.Job) error {
	if job.Payload != scheduler.PayloadSend || a.admin() {
		return nil
	}
	return faulty("refused", "Job %d writes to others, and may do so only exactly as it was allowed. To change it, cancel it and ask me again. You can pause, resume and skip it.", job.ID)
}

// whose is whose jobs are meant; empty: everybody's. What a tool changes is the person's own: of others'
// jobs an admin types the command.
func (a *asking) whose() string {
	if a.sees() && !a.tool {
		return ""
	}
	return a.person.Name
}

// here says that a job may be spoken of: in a group only one that speaks there.
func (a *asking) here(job *scheduler.Job) bool {
	return a.conv.Kind == channels.Direct || job.Target == target(&a.conv)
}

// owners says that it is to be said whose a job is.
func (a *asking) owners(job *scheduler.Job) bool {
	return job.Owner != a.person.Name || a.conv.Kind != channels.Direct
}

func target(c *channels.Conversation) scheduler.Target {
	return scheduler.Target{Channel: c.Channel, Conversation: string(c.ID)}
}

// some are jobs by number from after on, at most limit and one that says there are more; of one person,
// or of everybody.
func (d *Service) some(ctx context.Context, a *asking, of string, after int64, limit int) (list []scheduler.Job, more bool, err error) {
	read := limit + 1
	if a.conv.Kind != channels.Direct {
		read = mostRead
	}
	list, err = d.Ledger.Jobs(ctx, of, after, read)
	list = slices.DeleteFunc(list, func(job scheduler.Job) bool { return !a.here(&job) })
	return list[:min(len(list), limit)], len(list) > limit, err
}
