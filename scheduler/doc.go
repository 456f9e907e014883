// Package scheduler puts work in at the right time: reminders, recurring jobs, heartbeats,
// maintenance. It owns when a job is due (Spec), what becomes of slots that passed while nobody
// looked (Misfire), and the loop that claims runs, has them started and settles them (Scheduler).
//
// It knows no channel, no router and no SQL: a Starter starts runs, a Store keeps jobs and runs.
// cmd/switchboard wires both.
package scheduler
