// Package llmtest is a model server for tests: it speaks the wire format of
// chat completions over HTTP on this machine, and a script decides what it
// answers, faults included. For tests only.
//
// It is stricter than any real server. Each request is checked: the shape, the
// rules of strict schemas, and the slices, that is which parts of the context
// the asking role may see: worker and reviewer by the headings of the agent's
// prompts, and what a test adds (Forbid, Require, Fenced, Inspect). What is wrong is answered
// in the provider's error format and kept in Faults.
//
// It imports nothing of this module, so that it cannot repeat its mistakes.
package llmtest
