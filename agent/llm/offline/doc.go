// Package offline is a model without a model: deterministic, in English, good
// enough to try everything with no key and no network. It stands behind the same
// client as a real model, as its transport, and sees nothing but the request
// that a real model would see.
//
// As planner it knows help, the date and time in a city, "run COMMAND", and the
// files of the workspace; as reviewer it believes the word with which a task
// ended; as worker it restates the last task's output. Asked for anything else
// it says that this needs a language model, and how to set one.
//
// It imports nothing of this module, and a test keeps it below 600 lines.
package offline
