// Package scheduler puts messages in at the right time: reminders, recurring
// jobs, heartbeats. It is not available in this build.
package scheduler
