// Package files is where attachments are: at their platform until somebody wants them,
// then here, after they passed the checks, until the janitor forgets them.
package files
