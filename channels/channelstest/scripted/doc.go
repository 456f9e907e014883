// Package scripted is the adapter (kind "scripted") of the platform that
// channelstest.Platform plays: the smallest honest adapter there is, and the
// example for others. It talks over a Link, which is the platform itself in
// process or a socket to it in another process; cmd wires it only under the build
// tag "scripted", so that tests can drive the real program.
package scripted
