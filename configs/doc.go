// Package configs reads and checks the settings: it composes the Config structs
// that other packages own, layers default < file < run-time changes < environment,
// resolves secrets, and reports every fault at once with file and line.
package configs
