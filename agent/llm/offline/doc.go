// Package offline is a model without a model: deterministic, in English but for a few sentences, good enough to try
// everything with no key and no network. It stands behind the same client as a real model, as its
// transport, and sees only what one would see. As planner it knows a few phrases (help.md) and says
// of all else that it cannot do that without a language model; as reviewer it believes the word with which a task ended;
// as worker it restates the last task's output; for memory it takes what people say of themselves as facts, and sums up by leaving
// out. It imports nothing of this module; a test keeps it to 1,250 lines.
package offline
