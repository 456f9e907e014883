// Package turns runs what people asked for: it leases sessions, runs their turns one after the other with the
// agent, and writes each step with what it says. Who is served, and what comes in, is the router's.
package turns
